// The sink scores of token sequences, as a Python dict.
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

}  // namespace sink::python
