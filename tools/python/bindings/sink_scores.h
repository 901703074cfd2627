// The sink scores of token sequences, as a Python dict.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "model/language_model.h"

namespace sink::python {

struct SinkTables {
  Tensor alpha_LHK, alpha_raw_LHK;                    // mean over sequences of alpha_k, k = 1 ... K, proxy and raw
  Tensor alpha_star_LH = {}, alpha_star_raw_LH = {};  // undefined without an extra key or sink token
  Tensor row_sum_LH;
  std::vector<double> sink_k, sink_k_raw;  // percent, at the threshold of the paper
  double sink_star = 0, sink_star_raw = 0;
  double even_alpha_1 = 0, even_alpha_star = 0;
};
// Runs the model over tokens I32 (N, T), one sequence at a time; no attention pattern is stored. For code in a
// Computation.
SinkTables sink_tables(LanguageModel& model, const Tensor& tokens_NT);
// With the names of sinklab/sink.py.
nanobind::dict dict_of(const SinkTables& tables);

}  // namespace sink::python
