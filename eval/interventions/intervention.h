// One intervention, as data: what is changed in a model while it runs, of which tokens, in which layers and heads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sink {

// Which numbers share a scale. Of a matrix (out, in): all of them, or those of one output. q, k, v are one matrix, as
// are a gate and what it gates. Of what a product reads (T, C), of one sequence: all, those of one channel, or those of
// one token.
enum class Grain { tensor, channel, token };

// 0 bits: left as they are; otherwise from 2 on.
struct Quantisation {
  int weight_bits = 0, input_bits = 0;
  Grain weights = Grain::channel, inputs = Grain::tensor;
  bool inner = true;  // also what the last product of attention and of feed-forward reads, and not only the first
};

struct Intervention {
  // Of each of the tokens k and of queries i > k (what token k reads itself stays); a_ik: its weight, v_k: its value,
  // k_k: its key as queries meet it, rotated.
  enum class What {
    mask,  // as if its score were minus infinity: redistributed where the operation divides by a sum over the row
           // (of p-norms and clipped weights that keeps what the row sums to), else a value of zero
    redistribute,  // (o_i - a_ik v_k) Z / (Z - a_ik), Z = the row's weights in all; rows that have next to nothing
                   // else, less than Z / 1e6, stay without
    constant,      // o_i - (a_ik - mean_i a_ik) v_k: every query gets the same of it
    value,         // v_k becomes zero, or the mean of all other tokens' values, over all sequences, of its head
    key,           // k_k becomes scale k_k + along k_k / |k_k|
    // Of the model:
    clip,      // |x| of the residual stream behind each block at most `largest`, or `medians` times the median |x| of
               // that layer and sequence (Sun et al. 2024)
    quantise,  // matrices of blocks, and what they read, rounded
  };

  std::string name;     // letters, digits and blanks
  std::string meaning;  // a sentence
  What what = What::mask;
  std::vector<std::int64_t> tokens{1};      // from 1, in order; of `clip` none: all
  std::vector<std::int64_t> layers, heads;  // from 0; none: all
  bool per_head = false;                    // each layer and head alone: a row for each
  bool mean_value = false;
  double scale = 1, along = 0;
  double largest = 0, medians = 0;  // one of them is above 0
  Quantisation quantisation;
  std::string origin;  // "settings.toml: line 3", for messages
};

}  // namespace sink
