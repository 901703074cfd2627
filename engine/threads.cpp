// The threads of engine/threads.h. They live as long as the program and take pieces of one loop after another.
//
// `ticket_` holds the number of the loop and its next piece. A thread takes a piece by incrementing it in one atomic
// step, which fails when the loop is over; a thread that comes late therefore takes nothing. The ticket is closed
// before the fields of a new loop are written: otherwise a thread that holds the previous loop's ticket, but already
// reads the new count of pieces, could take a piece for it. tests/threads/threads.pml is a model of this protocol; a
// test checks it in every order of its steps.
#include "engine/threads.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/check.h"

namespace sink {
namespace {

using Piece = void (*)(void* loop, std::int64_t i);

// How long a waiting thread looks for work before it sleeps. Longer than the gaps between the loops of a training step,
// so that an idle machine need not wake threads; far shorter than a time slice, so that a busy machine loses little.
// Measured (tools/bench/busy_machine.py): at 100 an idle machine is 1 % slower, at 1000 two trainings at once 20 %.
constexpr std::chrono::microseconds kSpin{300};
// A ticket with which no thread takes a piece: its next piece is beyond the last of any loop.
constexpr std::uint64_t kClosed = 0xffffffff;
// kNext is added to the number of a loop for the next one; kEnd is the bit that tells threads to exit. Both are in one
// word, because a thread that read two words one after the other could miss an exit between the reads and sleep
// forever.
constexpr std::uint32_t kNext = 2, kEnd = 1;

thread_local int this_thread = 0;
thread_local bool in_piece = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <class Done>
bool spin_until(Done done) {
  auto give_up = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 8; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < give_up);
  return false;
}

class Threads {
 public:
  explicit Threads(int count) : count_(count) {}
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  ~Threads() {
    number_.fetch_or(kEnd);
    number_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int count() const { return count_; }

  // Returns the count of threads, including this one.
  int start() {
    started_ = true;
    try {
      threads_.reserve(static_cast<std::size_t>(count_));
      while (static_cast<int>(threads_.size()) + 1 < count_)
        threads_.emplace_back(&Threads::serve, this, static_cast<int>(threads_.size()) + 1);
    } catch (const std::system_error&) {  // that many, then
    } catch (const std::bad_alloc&) {}
    // A fork() while a thread is still starting could copy a lock that it holds, and no thread of the child would
    // release it.
    for (std::uint32_t there; (there = arrived_.load()) != threads_.size();) arrived_.wait(there);
    return static_cast<int>(threads_.size()) + 1;
  }

  bool run(std::int64_t count, Piece piece, void* loop) {
    std::unique_lock only_loop(running_, std::try_to_lock);
    if (!only_loop) return false;
    if (!started_) start();
    if (threads_.empty()) return false;
    SINK_CHECK(count < (std::int64_t{1} << 31), "run_pieces", std::to_string(count) + " pieces; at most 2^31 - 1");
    ticket_.store(kClosed, std::memory_order_relaxed);
    // A thread that reads the new fields then finds the closed ticket, or a later one.
    piece_.store(piece, std::memory_order_release);
    loop_.store(loop, std::memory_order_release);
    pieces_.store(static_cast<std::uint32_t>(count), std::memory_order_release);
    unfinished_.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
    ticket_.store(static_cast<std::uint64_t>(number_.load(std::memory_order_relaxed) + kNext) << 32,
                  std::memory_order_release);
    announce(count - 1);
    take_pieces();
    auto done = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
    if (!spin_until(done))
      for (std::uint32_t left; (left = unfinished_.load(std::memory_order_acquire)) != 0;) unfinished_.wait(left);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  // Announces a new loop that `helpers` threads can help with. A thread that goes to sleep after the count was read
  // sees the new number and does not sleep.
  void announce(std::int64_t helpers) {
    number_.fetch_add(kNext);
    std::int64_t sleeping = sleeping_.load();
    if (sleeping <= helpers) {
      if (sleeping > 0) number_.notify_all();
    } else {
      for (std::int64_t i = 0; i < helpers; ++i) number_.notify_one();
    }
  }

  void serve(int index) {
    this_thread = index;
    std::uint32_t seen = 0;
    arrived_.fetch_add(1);
    arrived_.notify_one();
    for (;;) {
      auto called = [&] { return number_.load(std::memory_order_acquire) != seen; };
      if (!spin_until(called)) {
        sleeping_.fetch_add(1);
        number_.wait(seen);
        sleeping_.fetch_sub(1);
      }
      seen = number_.load(std::memory_order_acquire);
      if (seen & kEnd) return;
      take_pieces();
    }
  }

  void take_pieces() {
    in_piece = true;
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    for (;;) {
      std::uint32_t next = static_cast<std::uint32_t>(ticket);
      Piece piece = piece_.load(std::memory_order_acquire);
      void* loop = loop_.load(std::memory_order_acquire);
      if (next >= pieces_.load(std::memory_order_acquire)) break;
      // What was read belongs to this loop if the ticket is still the same: it is written between loops only.
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      do_piece(piece, loop, next);
      ticket = ticket_.load(std::memory_order_acquire);
    }
    in_piece = false;
  }

  void do_piece(Piece piece, void* loop, std::int64_t i) {
    try {
      piece(loop, i);
    } catch (...) {
      std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }

  const int count_;
  bool started_ = false;
  std::vector<std::thread> threads_;
  std::mutex running_, error_mutex_;
  std::exception_ptr error_;
  std::atomic<std::uint32_t> arrived_{0};
  // Fields that all threads poll are on other cache lines than those that are written once per piece.
  alignas(64) std::atomic<std::uint32_t> number_{0};  // of the loop, counted up by kNext when one begins; and kEnd
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<Piece> piece_{nullptr};
  std::atomic<void*> loop_{nullptr};
  std::atomic<std::uint32_t> pieces_{0};
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};
};

int count_at_start() {
  if (const char* wanted = std::getenv("OMP_NUM_THREADS"))
    if (long count = std::strtol(wanted, nullptr, 10); count > 0 && count < 1 << 16) return static_cast<int>(count);
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::unique_ptr<Threads>& threads() {
  static std::unique_ptr<Threads> all = [] {
    // A child of fork() has none of its parent's threads, and starts its own when it needs them.
    pthread_atfork(nullptr, nullptr, [] {
      int count = threads()->count();
      (void)threads().release();
      threads() = std::make_unique<Threads>(count);
    });
    return std::make_unique<Threads>(count_at_start());
  }();
  return all;
}

}  // namespace

int thread_count() { return threads()->count(); }
void set_thread_count(int count) {
  SINK_CHECK(count > 0 && !in_piece, "set_thread_count",
             "expected a count above 0, outside loops; got " + std::to_string(count));
  if (count != thread_count()) threads() = std::make_unique<Threads>(count);
}
int thread_index() { return this_thread; }
bool inside_loop() { return in_piece; }
int start_all_threads() { return threads()->start(); }

void start_threads(std::int64_t threads) {
  if (threads > 0) set_thread_count(static_cast<int>(threads));
  int wanted = thread_count(), got = start_all_threads();
  if (got == wanted) return;
  throw Error("cannot start " + std::to_string(wanted) + " threads, the system gives " + std::to_string(got) +
                  "; choose fewer (--threads, or the environment variable OMP_NUM_THREADS) or raise its limits (ulimit "
                  "-u, -v)",
              threads > 0 ? Exit::usage : Exit::out_of_memory);
}


bool run_pieces(std::int64_t count, Piece piece, void* loop) { return !in_piece && threads()->run(count, piece, loop); }

}  // namespace sink
