// What every key of a token sequence receives, as a Python dict.
#pragma once

#include <nanobind/nanobind.h>

#include "model/language_model.h"

namespace sink::python {

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
