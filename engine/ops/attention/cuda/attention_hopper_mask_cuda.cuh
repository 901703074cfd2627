// The mask of the kernels on Hopper whose rows are queries.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

// Which keys the lane's two rows of queries see: [first, end) and [0, prefix). Rows after the last query see keys, too,
// which changes nothing that is stored.
struct QueryMask {
  int first[2], end[2], prefix;
  int full_begin, full_end;  // keys that all 16 queries of the warp see

  QueryMask() = default;

  // t: the first of the warp's queries.
  __device__ QueryMask(const AttentionHead& head, int t) {
    auto range = head.range();
    t += head.shift;
    prefix = static_cast<int>(range.prefix < head.K ? range.prefix : head.K);
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      first[half] = static_cast<int>(range.first(t + fragment_row(2 * half)));
      end[half] = t + fragment_row(2 * half) + 1;
    }
    full_begin = static_cast<int>(range.first(t + 15));
    full_end = t + 1;
  }
  __device__ bool sees_all(int first_key, int end_key) const {
    return (first_key >= full_begin && end_key <= full_end) || end_key <= prefix;
  }
  __device__ bool sees(int key, int half) const { return (key >= first[half] && key < end[half]) || key < prefix; }
  // Replaces the scores of keys that the query does not see.
  template <int kKeys>
  __device__ void mask_scores(AccumulatorFragment<kKeys>& s, int first_key) const {
    for_each_accumulator<kKeys>([&](int n, int e) {
      if (!sees(first_key + fragment_column(n, e), e / 2)) s[n][e] = std::bit_cast<float>(kMaskedBits);
    });
  }
};

}  // namespace sink::cuda
