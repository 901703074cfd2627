// The tensors of other programs that hold each of our parameters.
#pragma once

#include <string>
#include <vector>

#include "autograd/parameter.h"
#include "model/open/open_config.h"

namespace sink {

// The order of the rows of a tensor.
enum class RowOrder {
  ours,
  interleaved,  // in each head of q and k, rows 2 e and 2 e + 1 are our rows e and e + R/2, of the R that rotate
  by_group,     // GPT-NeoX, Falcon: queries, key and value of each key head; ours are all q, all k, all v
  queries,      // of each head those of its query, then those of its gate: the former
  gates,        // the latter
  halves,       // first our even rows, then our odd ones, in the matrix of each expert
  alternating,  // of two tensors, or two for each expert: row r of the first is our row 2 r, of the second 2 r + 1
};

// Where the E experts of a mixture are in the file.
enum class ExpertAxis {
  none,
  rows,     // along the first axis of a tensor; stacked they are our rows
  columns,  // along the first axis of a tensor; side by side they are our columns
  tensors,  // each is a tensor; side by side they are our columns
};

// A tensor that holds the next rows of a parameter.
struct TensorPlace {
  std::string name;
  RowOrder order = RowOrder::ours;
  bool transposed = false;  // (in, out), as GPT-2's Conv1D
  ExpertAxis experts = ExpertAxis::none;
  std::int64_t first_row = 0;  // rows before it are unused
};

// The tensors of our parameter `name`, such as "blocks.3.attention.qkv.weight", in the order of its rows; empty if the
// program has none.
std::vector<TensorPlace> places_of(const OpenConfig& config, const std::string& name);

// Whether files have no such parameter, and what it is then: 0, or 1 for a gain that is stored less 1.
bool is_left_out(const OpenConfig& config, const std::string& name);
double value_left_out(const OpenConfig& config, const std::string& name);

// What is added to the values of a stored parameter: 1 for a gain that is stored less 1, which those of gated delta
// rules are not.
double gain_less(const OpenConfig& config, const ParameterInfo& parameter);

// Whether a tensor has as many rows of another parameter.
inline bool is_with_others(RowOrder order) { return order == RowOrder::queries || order == RowOrder::gates; }
// The row of a tensor that is our row r.
std::int64_t row_in(RowOrder order, std::int64_t r, const Sizes& sizes);
// The number of rows of a parameter (of `rows`) in tensor `n` of its places: all, an equal part, or those of q, k and
// v.
std::int64_t rows_of_tensor(std::size_t n, const std::vector<TensorPlace>& places, std::int64_t rows,
                            const Sizes& sizes);

// Whether a tensor belongs to the vision tower of a model that has one.
bool is_of_vision(const OpenConfig& config, const std::string& tensor);
// Whether a tensor belongs to a head that predicts a later token than the next (multi-token prediction).
bool is_of_later_tokens(const OpenConfig& config, const std::string& tensor);
// Whether a tensor without a parameter is named as those of quantized weights: of GPTQ, AWQ, MLX, FP8, bitsandbytes,
// compressed-tensors or MXFP4.
bool is_of_quantized(const std::string& tensor);
// Whether a tensor without a parameter is allowed: rotary tables, masks, vision towers and heads of later tokens.
bool is_no_weight(const OpenConfig& config, const std::string& tensor);

}  // namespace sink
