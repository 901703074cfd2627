// An Evaluation as a table for the terminal.
#pragma once

#include <string>

#include "eval/sink/evaluation.h"

namespace sink {

// At most 100 columns: sinks of the first keys, then a line per layer. `input` names the sequences.
std::string evaluation_table(const Evaluation& evaluation, const std::string& input);

// How many of T queries see the first token in the layers with a window, as a line; empty where all see it.
std::string window_line(const std::vector<std::int64_t>& first_key_rows, std::int64_t T);

// A line for each input: Sink_1 and Sink_2 (proxy, and raw Sink_1), alpha_1, the share of the first value, and the
// norms of the first position relative to the others.
std::string inputs_table(const std::vector<std::pair<std::string, Evaluation>>& measured);

// Sink_1 by length and threshold as a table, with Sink_* of an extra key or sink token, and with Sink_k for k > 1.
std::string sinks_by_length_table(const Evaluation::ByLength& sinks, std::int64_t k = 1);

}  // namespace sink
