// How many rows see a key, by which alpha_k is divided; and alpha_1 and alpha_* of a model without any preference:
// every row spreads its weight evenly over the keys that it sees.
//
//   alpha_k = 1/r_k sum_i [row i sees key k] / n_i    r_k rows see key k, n_i keys are visible to row i, an extra key
//                                                     included
//   alpha_* = 1/(T+1) (1 + sum_i 1 / n_i)             of an extra key, whose own row has weight 1 on itself
//   alpha_* = 1/r_* sum_i [row i sees key *] / n_i    of a sink token, which is a position before the T others
//
// Row i sees key j if j <= i and j > i - window, or j <= prefix; blocks without a window see all keys j <= i. So r_k is
// T - k + 1, at most the window in blocks with one, and all rows for keys of a prefix. The value of a model is the mean
// over its blocks. Example: T = 64 without a window, prefix or extra key: alpha_1 = 0.0741.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/batch.h"
#include "model/sizes.h"

namespace sink {

struct VisibleKeys {
  std::int64_t T = 0, layers = 1;
  std::int64_t window = 0;         // 0: none
  std::int64_t prefix = 0;         // the first keys, which every row sees; sink tokens are not counted
  std::int64_t global_layers = 0;  // blocks without a window
  bool extra_key = false;
  std::int64_t extra_tokens = 0;  // sink tokens: the prefix has them, a window does not
  // Where the document of each of the T tokens begins, with a document mask: a row then sees its document and the sink
  // tokens, and no prefix.
  const std::int32_t* document_starts = nullptr;
  bool by_all_rows = false;  // alpha_k is divided by T - k + 1 in any case, as older programs did
};

struct EvenAttention {
  double alpha_1, alpha_star;  // alpha_star is NaN without an extra key or sink token
};
EvenAttention even_attention(const VisibleKeys& keys);
double even_alpha(const VisibleKeys& keys, std::int64_t k);
// The mean over rows and blocks of ln n_i: the entropy of rows that are spread evenly.
double even_entropy(const VisibleKeys& keys);
// Those of a model that reads T tokens.
VisibleKeys visible_keys(const Sizes& sizes, std::int64_t T, std::int64_t extra_tokens, bool extra_key);

// [sequence][position]: how many rows of block `layer` see each of the first `columns` positions, sink tokens first, in
// `sequences` sequences of T tokens whose documents are on the CPU.
std::vector<std::vector<double>> rows_that_see(const Sizes& sizes, std::int64_t layer, std::int64_t T,
                                               std::int64_t extra_tokens, std::int64_t sequences, std::int64_t columns,
                                               const DocumentPlaces& documents = {});

}  // namespace sink
