// Kernels of the exam in which the threads of a block work together.
#pragma once

#include "tests/emulated_device/exam_kernel.h"

namespace sink::test {

template <class T>
void add_block_kernels(std::vector<ExamKernel>& exam, int threads, const std::string& type) {
  const int n = threads;
  const std::string suffix = ", " + std::to_string(n) + " threads, " + type;
  T *x = device_array<T>(4 * n), *y = device_array<T>(4 * n);
  const cuda::Grid one{1, static_cast<unsigned>(n), 4 * sizeof(T) * static_cast<std::size_t>(n)},
      two{2, static_cast<unsigned>(n), 4 * sizeof(T) * static_cast<std::size_t>(n)};
  auto add = [&](const std::string& pattern, const std::string& name, bool has_race, const cuda::Grid& grid,
                 auto body) { exam.push_back(exam_kernel(pattern, name + suffix, has_race, grid, body)); };
  // A sum by halves. How many barriers: all; none after the first; none before the first; none in the last warp.
  enum class Missing { none, in_loop, first, last_warp, last_warp_but_sync_warp };
  auto tree = [=](Missing missing) {
    return [=] {
      T* s = cuda::shared_memory<T>();
      int t = thread_of_block();
      s[t] = x[thread_of_grid()];
      if (missing != Missing::first) cuda::sync_block();
      for (int half = n / 2; half > 0; half /= 2) {
        T sum = t < half ? s[t] + s[t + half] : T{0};
        bool in_warp = half < 32;
        if (missing == Missing::last_warp_but_sync_warp && in_warp) cuda::sync_warp();
        if (t < half) s[t] = sum;
        if (missing == Missing::none || missing == Missing::first) cuda::sync_block();
        if (missing == Missing::last_warp && !in_warp) cuda::sync_block();
        if (missing == Missing::last_warp_but_sync_warp) {
          if (in_warp) cuda::sync_warp();
          if (!in_warp) cuda::sync_block();
        }
      }
      if (t == 0) y[blockIdx.x] = s[0];
    };
  };
  add("tree", "all barriers", false, two, tree(Missing::none));
  add("tree", "no barrier in the loop", true, two, tree(Missing::in_loop));
  add("tree", "no barrier before the loop", true, two, tree(Missing::first));
  add("tree", "no barriers in the last warp", true, one, tree(Missing::last_warp));
  add("tree", "sync_warp in the last warp", false, one, tree(Missing::last_warp_but_sync_warp));

  auto shuffle = [=](bool barrier) {
    return [=] {
      T* s = cuda::shared_memory<T>();
      int t = thread_of_block(), warps = n / 32;
      float sum = cuda::warp_sum(static_cast<float>(x[thread_of_grid()]));
      if (t % 32 == 0) s[t / 32] = static_cast<T>(sum);
      if (barrier) cuda::sync_block();
      if (t > 0) return;
      T total = 0;
      for (int w = 0; w < warps; ++w) total += s[w];
      y[blockIdx.x] = total;
    };
  };
  add("shuffle", "a barrier before the warps' sums are read", false, two, shuffle(true));
  add("shuffle", "no barrier", true, two, shuffle(false));

  // How many buffers, and a barrier before a value is overwritten.
  auto scan = [=](int buffers, bool before_write) {
    return [=] {
      T* s = cuda::shared_memory<T>();
      int t = thread_of_block(), now = 0;
      s[t] = x[t];
      cuda::sync_block();
      for (int step = 1; step < n; step *= 2) {
        T sum = s[now * n + t] + (t >= step ? s[now * n + t - step] : T{0});
        if (before_write) cuda::sync_block();
        now = (now + 1) % buffers;
        s[now * n + t] = sum;
        cuda::sync_block();
      }
      y[t] = s[now * n + t];
    };
  };
  add("scan", "two buffers", false, one, scan(2, false));
  add("scan", "one buffer and two barriers", false, one, scan(1, true));
  add("scan", "one buffer and one barrier", true, one, scan(1, false));

  auto transpose = [=](bool barrier) {
    return [=] {
      T* s = cuda::shared_memory<T>();
      int t = thread_of_block(), rows = n / 8;
      s[t] = x[thread_of_grid()];
      if (barrier) cuda::sync_block();
      y[thread_of_grid()] = s[t % rows * 8 + t / rows];
    };
  };
  add("transpose", "a barrier between rows and columns", false, two, transpose(true));
  add("transpose", "no barrier", true, two, transpose(false));

  auto stencil = [=](bool barrier, bool reuse) {
    return [=] {
      T* s = cuda::shared_memory<T>();
      int t = thread_of_block();
      for (int round = 0; round < 2; ++round) {
        s[t] = x[t] + static_cast<T>(round);
        if (barrier) cuda::sync_block();
        y[t] = s[t > 0 ? t - 1 : 0] + s[t < n - 1 ? t + 1 : t];
        if (!reuse) cuda::sync_block();
      }
    };
  };
  add("stencil", "two barriers per round", false, one, stencil(true, false));
  add("stencil", "none before neighbours are read", true, one, stencil(false, false));
  add("stencil", "none before the next round", true, one, stencil(true, true));

  add("histogram", "plain additions", true, one, [=] {
    T* s = cuda::shared_memory<T>();
    int t = thread_of_block();
    if (t < 8) s[t] = 0;
    cuda::sync_block();
    s[t % 8] += 1;
    cuda::sync_block();
    if (t < 8) y[t] = s[t];
  });
  add("histogram", "a column per thread", false, one, [=] {
    T* s = cuda::shared_memory<T>();
    int t = thread_of_block();
    for (int bin = 0; bin < 4; ++bin) s[bin * n + t] = 0;
    s[t % 4 * n + t] += 1;
    cuda::sync_block();
    if (t >= 4) return;
    T sum = 0;
    for (int u = 0; u < n; ++u) sum += s[t * n + u];
    y[t] = sum;
  });

  auto rounds = [=](int buffers) {
    return [=] {
      T* s = cuda::shared_memory<T>();
      int t = thread_of_block();
      T sum = 0;
      for (int round = 0; round < 4; ++round) {
        int at = round % buffers * n;
        s[at + t] = x[t] + static_cast<T>(round);
        cuda::sync_block();
        sum += s[at + (t + 1) % n];
      }
      y[t] = sum;
    };
  };
  add("rounds", "two buffers, one barrier each", false, one, rounds(2));
  add("rounds", "one buffer, one barrier each", true, one, rounds(1));

  auto broadcast = [=](bool barrier, bool again) {
    return [=] {
      T* s = cuda::shared_memory<T>();
      int t = thread_of_block();
      for (int round = 0; round < 2; ++round) {
        if (t == 32 * round) s[0] = x[round];
        if (barrier) cuda::sync_block();
        y[t] = s[0];
        if (again) cuda::sync_block();
      }
    };
  };
  add("broadcast", "two barriers per round", false, one, broadcast(true, true));
  add("broadcast", "none before it is read", true, one, broadcast(false, true));
  add("broadcast", "none before the next round", true, one, broadcast(true, false));

  add("blocks", "own elements", false, two, [=] { y[thread_of_grid()] = x[thread_of_grid()]; });
  add("blocks", "the elements of the first block", true, two, [=] { y[thread_of_block()] = x[thread_of_grid()]; });
  add("blocks", "one element of each block", false, two, [=] {
    if (thread_of_block() == 0) y[blockIdx.x] = 1;
  });
  add("blocks", "one element of all blocks", true, two, [=] {
    if (thread_of_block() == 0) y[0] += 1;
  });
  add("blocks", "half of the elements, two threads each", true, one, [=] { y[thread_of_grid() / 2] = 1; });
  add("chunks", "[4 t, 4 t + 4)", false, one, [=] {
    for (int i = 0; i < 4; ++i) y[4 * thread_of_block() + i] = 1;
  });
  add("chunks", "[3 t, 3 t + 3]", true, one, [=] {
    for (int i = 0; i <= 3; ++i) y[3 * thread_of_block() + i] = 1;
  });
  add("shift", "to another array", false, two, [=] { y[thread_of_grid()] = x[thread_of_grid() + 1]; });
  add("shift", "in place", true, two, [=] { x[thread_of_grid()] = x[thread_of_grid() + 1]; });
  auto shift = [=] {
    T next = x[thread_of_grid() + 1];
    cuda::sync_block();
    x[thread_of_grid()] = next;
  };
  add("shift", "in place with a barrier, one block", false, one, shift);
  add("shift", "in place with a barrier, two blocks", true, two, shift);
}

// ---- Asynchronous copies, mbarriers, named barriers ----

inline void add_asynchronous_kernels(std::vector<ExamKernel>& exam, int n) {
  const std::string suffix = ", " + std::to_string(n) + " threads";
  auto *x = device_array<float>(4 * n), *y = device_array<float>(4 * n);
  const cuda::Grid one{1, static_cast<unsigned>(n), static_cast<std::size_t>(16 * n + 64)};
  auto add = [&](const std::string& pattern, const std::string& name, bool has_race, auto body) {
    exam.push_back(exam_kernel(pattern, name + suffix, has_race, one, body));
  };
  auto copy = [=](bool barrier, int other) {
    return [=] {
      auto* s = cuda::shared_memory<float>();
      int t = thread_of_block();
      cuda::cp_async_16(s + 4 * t, x + 4 * t, true);
      cuda::cp_async_commit_group();
      cuda::cp_async_wait_group<0>();
      if (barrier) cuda::sync_block();
      y[t] = s[4 * (t ^ other)];
    };
  };
  add("cp.async", "of another thread, with a barrier", false, copy(true, 1));
  add("cp.async", "of another thread, without a barrier", true, copy(false, 1));
  add("cp.async", "of the thread itself", false, copy(false, 0));

  auto ring = [=](bool full, bool empty) {
    return [=] {
      auto* barriers = cuda::shared_memory<cuda::Mbarrier>();
      auto* value = reinterpret_cast<float*>(barriers + 2);
      int t = thread_of_block();
      if (t == 0) {
        cuda::mbarrier_init(barriers, 1);
        cuda::mbarrier_init(barriers + 1, static_cast<unsigned>(n - 32));
      }
      cuda::sync_block();
      for (unsigned round = 0; round < 3; ++round) {
        if (t == 0) {
          if (round > 0 && empty) cuda::mbarrier_wait(barriers + 1, (round - 1) % 2);
          *value = x[round];
          cuda::mbarrier_arrive(barriers);
        }
        if (t >= 32) {
          if (full) cuda::mbarrier_wait(barriers, round % 2);
          y[t] = *value;
          cuda::mbarrier_arrive(barriers + 1);
        }
      }
    };
  };
  add("mbarrier", "full and empty", false, ring(true, true));
  add("mbarrier", "no wait for full", true, ring(false, true));
  add("mbarrier", "no wait for empty", true, ring(true, false));

  auto named = [=](bool wait) {
    return [=] {
      auto* s = cuda::shared_memory<float>();
      int t = thread_of_block(), half = n / 2;
      s[t] = x[t];
      if (wait) cuda::named_barrier_sync(1 + t / half, half);
      y[t] = s[t / half * half + (t + 1) % half];
    };
  };
  add("named barrier", "for each half", false, named(true));
  add("named barrier", "missing", true, named(false));
}

#pragma GCC diagnostic ignored "-Wtsan"  // of the fence below, which no sanitizer sees here

// ---- Cases that a detector may misjudge ----

inline void add_hard_kernels(std::vector<ExamKernel>& exam) {
  constexpr int n = 64;
  auto* bytes = device_array<unsigned char>(4 * n);
  auto* halves = device_array<std::uint16_t>(4 * n);
  auto *words = device_array<int>(4 * n), *out = device_array<int>(4 * n);
  const cuda::Grid one{1, n, 4 * n}, two{2, n, 4 * n}, many{1, 96, 64};
  exam.push_back(exam_kernel("narrow", "neighbouring bytes", false, one, [=] { bytes[thread_of_block()] = 1; }));
  exam.push_back(
      exam_kernel("narrow", "neighbouring 16-bit values", false, one, [=] { halves[thread_of_block()] = 1; }));
  exam.push_back(exam_kernel("narrow", "bits of a word", true, one,
                             [=] { words[thread_of_block() / 32] |= 1 << thread_of_block() % 32; }));
  // Many readers, then a writer that is ordered after all readers but one.
  auto readers = [=](bool all) {
    return [=] {
      int* s = cuda::shared_memory<int>();
      int t = thread_of_block(), warp = t / 32;
      if (t == 0) s[0] = 1;
      cuda::sync_block();
      if (warp > 0) out[t] = s[0];
      if (all || warp != 1) cuda::named_barrier_sync(1, all ? 96 : 64);
      if (t == 0) s[0] = 2;
    };
  };
  exam.push_back(exam_kernel("readers", "all are waited for", false, many, readers(true)));
  exam.push_back(exam_kernel("readers", "all but one warp are waited for", true, many, readers(false)));
  // The block that ends last adds what the others have stored; __threadfence() orders their stores before the counter.
  auto* last = device_array<int>(1);
  exam.push_back(exam_kernel("last block", "with a fence and an atomic counter", false, two, [=] {
    int t = thread_of_block();
    if (t > 0) return;
    words[blockIdx.x] = 1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (atomic_add(last, 1) % 2 == 1) out[0] = words[0] + words[1];
  }));
  exam.push_back(exam_kernel("last block", "without a counter", true, two, [=] {
    if (thread_of_block() > 0) return;
    words[blockIdx.x] = 1;
    if (blockIdx.x == 1) out[0] = words[0] + words[1];
  }));
}

}  // namespace sink::test
