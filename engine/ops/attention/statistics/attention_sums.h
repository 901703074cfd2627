// The sums of the statistics of one head, for the reference and the CPU kernel.
#pragma once

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/attention_row.h"

namespace sink {

// The larger one; NaN stays.
template <class Number>
Number larger(Number a, Number b) {
  return b <= a ? a : b + 0 * a;
}

// Sums over pairs of a query and a key.
struct AngleSums {
  double pairs = 0, dot = 0, norms = 0, cosine = 0;
  void add(double count, double dots, double norm_products, double cosines) {
    pairs += count;
    dot += dots;
    norms += norm_products;
    cosine += cosines;
  }
};

// The share of the first key's value in the output, over the queries after the first that see it.
struct FirstShare {
  double rows = 0, sum = 0;
  // first: |a_i0| |v_0|; all: sum_j |a_ij| |v_j|.
  void add(double first, double all) {
    ++rows;
    if (all != 0) sum += first / all;  // NaN stays
  }
  double mean() const { return rows > 0 ? sum / rows : 0; }
};

// The elements of AttentionStatistics that belong to one head.
struct HeadStatistics {
  double *column_raw, *column_proxy;
  double &extra_raw, &extra_proxy, &row_sum, &entropy;
  double &key1_dot, &key1_norms, &key1_cosine, &other_dot, &other_norms, &other_cosine;
  double& value_share;

  void set_angles(const AngleSums& first_key, const AngleSums& other_keys) {
    auto mean = [](double sum, const AngleSums& of) { return of.pairs > 0 ? sum / of.pairs : 0; };
    key1_dot = mean(first_key.dot, first_key);
    key1_norms = mean(first_key.norms, first_key);
    key1_cosine = mean(first_key.cosine, first_key);
    other_dot = mean(other_keys.dot, other_keys);
    other_norms = mean(other_keys.norms, other_keys);
    other_cosine = mean(other_keys.cosine, other_keys);
  }
};

inline HeadStatistics head_statistics(AttentionStatistics& all, std::int64_t bh) {
  std::int64_t X = all.column_raw_BHX.dim(2);
  auto element = [&](Tensor& x_BH) -> double& { return x_BH.data<double>()[bh]; };
  return {all.column_raw_BHX.data<double>() + bh * X,
          all.column_proxy_BHX.data<double>() + bh * X,
          element(all.extra_raw_BH),
          element(all.extra_proxy_BH),
          element(all.row_sum_BH),
          element(all.entropy_BH),
          element(all.key1_dot_BH),
          element(all.key1_norms_BH),
          element(all.key1_cosine_BH),
          element(all.other_dot_BH),
          element(all.other_norms_BH),
          element(all.other_cosine_BH),
          element(all.value_share_BH)};
}

}  // namespace sink
