// The statistics of one row of the attention pattern, from the sums of several lanes.
#pragma once

#include "engine/ops/attention/cuda/attention_cuda.cuh"

namespace sink::cuda {

// What is kept of every row, as the first index of rows_RBHT.
struct RowStatistics {
  enum : int {
    row_sum,
    entropy,
    extra_raw,
    extra_proxy,
    divisor,
    first_key,                    // four: pairs, dot products, products of norms, cosines
    other_keys = first_key + 4,   // the same
    share_rows = other_keys + 4,  // 1 for a row that has a share of the first key's value
    share,
    count
  };
};

// Sums over pairs of a query and a key.
struct Angles {
  float pairs = 0, dot = 0, norms = 0, cosine = 0;

  __device__ void add(bool included, float qk, float norm_product) {
    pairs += included ? 1 : 0;
    dot += included ? qk : 0;
    norms += included ? norm_product : 0;
    cosine += included && norm_product != 0 ? qk / norm_product : 0;
  }
};

// |q_i|, |k_j| and |v_j|.
struct Lengths {
  const float *q_BHT, *k_BGK, *v_BGK;
};

// A lane's sums over its own keys of row i.
struct RowSums {
  float weights = 0, sizes = 0, logs = 0;  // of a, |a| and |a| log |a|
  float valued = 0, first_valued = 0;      // of |a| |v|, and that of key 0
  Angles first, others;

  __device__ void add_size(float weight) {
    float size = fabsf(weight);
    sizes += size;
    if (size >= 0x1p-126f) logs += size * float(log_fast(FastFloat(size)));  // which is -infinity for what is smaller
  }
  __device__ void add_extra_key(float weight, const float* v_D, std::int64_t D) {
    add_size(weight);
    if (v_D) valued += fabsf(weight) * sqrtf(dot(v_D, v_D, D));
  }
  // Row 0 sees one key, so that its angles and shares say nothing.
  __device__ void add_key(std::int64_t i, std::int64_t j, float qk, float weight, float q_length, float k_length,
                          float v_length) {
    add_size(weight);
    weights += weight;
    if (i == 0) return;
    float of_value = fabsf(weight) * v_length;
    valued += of_value;
    first_valued += j == 0 ? of_value : 0;
    first.add(j == 0, qk, q_length * k_length);
    others.add(j != 0, qk, q_length * k_length);
  }

  // Gives store(n, value) every statistic n of the row. sum(x) adds x over the row's lanes. has_share: whether i > 0
  // and the row sees key 0.
  template <class Op, class Sum, class Store>
  __device__ void finish(const Op& op, float z, float extra_a, bool has_share, Sum sum, Store store) const {
    using Row = RowStatistics;
    float all_sizes = sum(sizes), all_logs = sum(logs), all_valued = sum(valued), of_first = sum(first_valued);
    float by = proxy_divisor(op, all_sizes, z);
    store(Row::row_sum, sum(weights));
    // With p = |a| / by: -sum p log p = sum |a| / by log by - sum |a| log |a| / by.
    store(Row::entropy, (all_sizes * float(log_fast(FastFloat(by))) - all_logs) / by);
    store(Row::extra_raw, extra_a);
    store(Row::extra_proxy, fabsf(extra_a) / by);
    store(Row::divisor, by);
    store_angles(Row::first_key, first, sum, store);
    store_angles(Row::other_keys, others, sum, store);
    store(Row::share_rows, has_share ? 1 : 0);
    store(Row::share, has_share && all_valued != 0 ? of_first / all_valued : 0);
  }

 private:
  template <class Sum, class Store>
  __device__ static void store_angles(int at, const Angles& of, Sum sum, Store store) {
    store(at, sum(of.pairs));
    store(at + 1, sum(of.dot));
    store(at + 2, sum(of.norms));
    store(at + 3, sum(of.cosine));
  }
};

// Where the statistics go: rows_RBHT, and the weights of C keys from first_column on, which were zero.
struct RowOutputs {
  float *rows_RBHT, *weights_BHTC;
  std::int64_t rows, first_column, C;

  __device__ void store(int n, std::int64_t bht, float value) const { rows_RBHT[n * rows + bht] = value; }
  __device__ void store_weight(std::int64_t bht, std::int64_t j, float weight) const {
    if (j >= first_column && j < first_column + C) weights_BHTC[bht * C + j - first_column] = weight;
  }
};

}  // namespace sink::cuda
