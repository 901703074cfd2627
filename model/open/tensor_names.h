// Where each of our parameters stands among the tensors of another program.
#pragma once

#include <string>
#include <vector>

#include "model/open/open_config.h"

namespace sink {

// How the rows of a tensor follow each other, where it is not our way.
enum class RowOrder {
  ours,
  interleaved,  // of each head of queries or keys: rows 2 e and 2 e + 1 are our rows e and e + D/2
  by_head,      // GPT-NeoX: of each head its queries, keys and values; ours are all queries, all keys, all values
};

// Of a tensor with an axis more, in front, of E experts: whether what they have are our rows, one expert's below the
// other's, or our columns.
enum class ExpertAxis { none, rows, columns };

// A tensor whose rows are some of a parameter's, below those of the one before it.
struct TensorPlace {
  std::string name;
  RowOrder order = RowOrder::ours;
  bool transposed = false;  // (in, out), as GPT-2's Conv1D
  ExpertAxis experts = ExpertAxis::none;
  std::int64_t first_row = 0;  // rows before it are no part of the parameter
};

// The tensors of our parameter, in the order of its rows; empty where the program has none such. `name` as in
// "blocks.3.attention.qkv.weight".
std::vector<TensorPlace> places_of(const OpenConfig& config, const std::string& name);

// Which of the rows of a tensor is our row r.
std::int64_t row_in(RowOrder order, std::int64_t r, const Sizes& sizes);
// Rows of a parameter of `rows` that tensor `n` of `tensors` has: all, half of them, or those of queries, keys and
// values.
std::int64_t rows_of_tensor(std::size_t n, std::size_t tensors, std::int64_t rows, const Sizes& sizes);

// Whether a tensor that is no parameter may be there: tables of rotations, masks.
bool is_no_weight(const OpenConfig& config, const std::string& tensor);

}  // namespace sink
