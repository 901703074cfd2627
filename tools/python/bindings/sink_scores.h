// The sink scores of token sequences, and what every key of one receives, as Python dicts.
#pragma once

#include <nanobind/nanobind.h>

#include "eval/sink/even_attention.h"
#include "eval/sink/measures.h"
#include "model/language_model.h"

namespace sink::python {

struct SinkTables {
  Evaluation measured;
  EvenAttention even;
};
// Runs the model over tokens I32 (N, T), one sequence at a time; no attention pattern is stored. For code in a
// Computation.
SinkTables sink_tables(LanguageModel& model, const Tensor& tokens_NT);
// {measures: by key, arrays and values; even_alpha_1}
nanobind::dict dict_of(const SinkTables& tables);

// Positions include the extra tokens of the model, which come first: K of them.
struct KeySumTables {
  Tensor raw_LHK, proxy_LHK, largest_LHK, by_distance_LHK, extra_proxy_LH, row_sum_LH;
  Tensor rows_LK;  // how many rows see each position
  bool has_extra_key = false;
};
// Runs the model over tokens I32 (1, T), in memory that is linear in T. For code in a Computation.
KeySumTables key_sum_tables(LanguageModel& model, const Tensor& tokens_1T);
// With the names of sinklab/sums.py.
nanobind::dict dict_of(const KeySumTables& tables);

}  // namespace sink::python
