#include "engine/comm/host_communicator.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sink {
namespace {

using CommClock = std::chrono::steady_clock;
double seconds_since(CommClock::time_point start) {
  return std::chrono::duration<double>(CommClock::now() - start).count();
}

// chunk = x_0 + x_1 + ..., or chunk + x_0 + x_1 + ..., from left to right. `chunk` may be one of the x.
template <class X>
void sum_in_order(const std::vector<const X*>& parts, X* chunk, std::int64_t count, bool add) {
  constexpr std::int64_t kBlock = 2048;  // stays in the first cache
  X sum[kBlock];
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, count - begin);
    std::size_t next = 0;
    const X* first = add ? chunk : parts[next++];
    std::copy_n(first + begin, size, sum);
    for (; next < parts.size(); ++next) {
      const X* x = parts[next] + begin;
      for (std::int64_t i = 0; i < size; ++i) sum[i] += x[i];
    }
    std::copy_n(sum, size, chunk + begin);
  }
}

char* bytes_of(Tensor& x) { return static_cast<char*>(x.raw()); }
const char* bytes_of(const Tensor& x) { return static_cast<const char*>(x.raw()); }

void check_divides(const Tensor& whole, int size, const char* what) {
  SINK_CHECK(
      whole.size() % size == 0, "ranks",
      std::string(what) + ": expected a tensor of " + std::to_string(size) + " equal chunks, got " + whole.str());
}

}  // namespace

HostCommunicator::HostCommunicator(std::unique_ptr<Links> links)
    : Communicator(links->rank(), links->size()), links_(std::move(links)), thread_([this] { run(); }) {}

HostCommunicator::~HostCommunicator() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
    if (!posted_.empty()) links_->interrupt();
  }
  changed_.notify_all();
  thread_.join();
}

void HostCommunicator::post(const char* collective, Work work) {
  std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  posted_.push_back({{collective, ++number_}, std::move(work)});
  changed_.notify_all();
}

// Does what is posted, one after another, until the first failure.
void HostCommunicator::run() {
  std::unique_lock lock(mutex_);
  while (!failure_) {
    changed_.wait(lock, [&] { return ends_ || !posted_.empty(); });
    if (ends_) return;
    Posted next = posted_.front();
    lock.unlock();
    const auto start = CommClock::now();
    std::exception_ptr failure;
    try {
      next.work(next.name);
    } catch (...) { failure = std::current_exception(); }
    next = {};  // releases its tensors
    lock.lock();
    traffic_.seconds_busy += seconds_since(start);
    posted_.pop_front();
    if (failure) {
      failure_ = failure;
      posted_.clear();
    }
    changed_.notify_all();
  }
}

void HostCommunicator::transfer(const TransferName& name, const std::vector<Links::Send>& sends,
                                const std::vector<Links::Receive>& receives) {
  links_->transfer(name, sends, receives);
  std::lock_guard lock(mutex_);
  for (const Links::Send& send : sends) traffic_.bytes_sent += static_cast<double>(send.bytes);
}

void HostCommunicator::reduce_scatter(const Tensor& whole, Tensor& chunk, bool add) {
  check_divides(whole, size_, "reduce_scatter");
  SINK_CHECK(chunk.size() == whole.size() / size_ && chunk.dtype() == whole.dtype(), "ranks",
             "reduce_scatter: expected a chunk of " + whole.str() + ", got " + chunk.str());
  post("reduce_scatter", [this, whole, chunk, add](const TransferName& name) mutable {
    const std::int64_t count = chunk.size();
    const std::size_t bytes = chunk.bytes();
    Tensor received = chunk.new_empty({std::max<std::int64_t>(1, (size_ - 1) * count)}, chunk.dtype());
    std::vector<Links::Send> sends;
    std::vector<Links::Receive> receives;
    char* place = bytes_of(received);
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      sends.push_back({rank, bytes_of(whole) + static_cast<std::size_t>(rank) * bytes, bytes});
      receives.push_back({rank, place, bytes});
      place += bytes;
    }
    transfer(name, sends, receives);
    with_real<float, double>(whole.dtype(), [&](auto zero) {
      using X = decltype(zero);
      std::vector<const X*> parts;
      const X* of_others = received.data<X>();
      for (int rank = 0; rank < size_; ++rank) {
        parts.push_back(rank == rank_ ? whole.data<X>() + rank_ * count : of_others);
        if (rank != rank_) of_others += count;
      }
      sum_in_order(parts, chunk.data<X>(), count, add);
    });
  });
}

void HostCommunicator::all_gather(Tensor& whole) {
  check_divides(whole, size_, "all_gather");
  post("all_gather", [this, whole](const TransferName& name) mutable {
    const std::size_t bytes = whole.bytes() / static_cast<std::size_t>(size_);
    std::vector<Links::Send> sends;
    std::vector<Links::Receive> receives;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      sends.push_back({rank, bytes_of(whole) + static_cast<std::size_t>(rank_) * bytes, bytes});
      receives.push_back({rank, bytes_of(whole) + static_cast<std::size_t>(rank) * bytes, bytes});
    }
    transfer(name, sends, receives);
  });
}

void HostCommunicator::broadcast(Tensor& x) {
  post("broadcast", [this, x](const TransferName& name) mutable {
    std::vector<Links::Send> sends;
    std::vector<Links::Receive> receives;
    for (int rank = 1; rank < size_ && rank_ == 0; ++rank) sends.push_back({rank, bytes_of(x), x.bytes()});
    if (rank_ > 0) receives.push_back({0, bytes_of(x), x.bytes()});
    transfer(name, sends, receives);
  });
}

void HostCommunicator::wait() {
  auto start = CommClock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return posted_.empty() || failure_; });
  traffic_.seconds_waited += seconds_since(start);
  if (failure_) std::rethrow_exception(failure_);
}

// Lengths first, then the bytes.
std::vector<std::string> HostCommunicator::exchange(const std::string& mine) {
  std::vector<std::string> all(static_cast<std::size_t>(size_));
  all[static_cast<std::size_t>(rank_)] = mine;
  std::vector<std::uint64_t> lengths(all.size(), mine.size());
  auto each = [&](auto&& data, auto&& bytes) {
    return [this, data, bytes](const TransferName& name) {
      std::vector<Links::Send> sends;
      std::vector<Links::Receive> receives;
      for (int rank = 0; rank < size_; ++rank) {
        if (rank == rank_) continue;
        sends.push_back({rank, data(rank_), bytes(rank_)});
        receives.push_back({rank, data(rank), bytes(rank)});
      }
      links_->transfer(name, sends, receives);
    };
  };
  auto at = [](int rank) { return static_cast<std::size_t>(rank); };
  post("exchange",
       each([&](int rank) -> void* { return &lengths[at(rank)]; }, [](int) { return sizeof(std::uint64_t); }));
  wait();
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    SINK_CHECK(lengths[rank] < kMost, "ranks",
               "rank " + std::to_string(rank) + " announces " + std::to_string(lengths[rank]) + " bytes");
    all[rank].resize(lengths[rank]);
  }
  post("exchange",
       each([&](int rank) -> void* { return all[at(rank)].data(); }, [&](int rank) { return all[at(rank)].size(); }));
  wait();
  return all;
}

Communicator::Traffic HostCommunicator::traffic() const {
  std::lock_guard lock(mutex_);
  return traffic_;
}

}  // namespace sink
