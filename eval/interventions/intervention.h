// One intervention as data: the change to a model during its forward pass, and the tokens, layers and heads it is for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor.h"

namespace sink {

// The elements that share a scale. In a matrix (out, in): all, or those of one output; q, k, v are one matrix, as are a
// gate and the matrix that it gates; every expert of a mixture has separate matrices. In the input (T, C) of a
// product, per sequence: all, one channel, or one token. The inputs of the last products of all experts are one.
enum class Grain { tensor, channel, token };

// 0 bits: unchanged; otherwise at least 2.
struct Quantisation {
  int weight_bits = 0, input_bits = 0;
  Grain weights = Grain::channel, inputs = Grain::tensor;
  bool inner = true;  // also the input of the last product of attention and feed-forward, not only of the first
};

struct Intervention {
  // For each of the tokens k and queries i > k (the output at token k stays). a_ik: its weight, v_k: its value, k_k:
  // its key after rotation.
  enum class What {
    mask,  // a score of minus infinity: redistributed where the operation divides by a sum over the row or has a
           // threshold, otherwise a value of zero. The row sum is kept; with p-norms, Softpick, LinearMaxAbs, clipped
           // weights and thresholds it would change if the key did not exist
    redistribute,  // (o_i - a_ik v_k) Z / (Z - a_ik), Z = the row sum; rows with |Z - a_ik| < 1e-6 |Z| are not rescaled
    constant,      // o_i - (a_ik - mean_i a_ik) v_k: every query gets the same amount of v_k
    value,         // v_k = 0, or the mean of the values of all other tokens over all sequences, of its head
    key,           // k_k = scale k_k + along k_k / |k_k|
    // Of the tokens themselves, all by default:
    head,   // the output z of a head: zero, or the mean of its outputs for all tokens of all sequences
    patch,  // the residual stream after a block, or the outputs of heads, is what it is in another text
    // Of the model:
    clip,      // |x| of the residual stream after each block at most `largest`, or `medians` times the median |x| of
               // that layer and sequence (Sun et al. 2024)
    quantise,  // rounds the matrices of blocks, and their inputs
  };

  std::string name;     // letters, digits and blanks
  std::string group;    // the name of all with per_head or per_token; else the name
  std::string meaning;  // a sentence
  What what = What::mask;
  std::vector<std::int64_t> tokens{1};      // from 1, in order; for `head`, `patch` and `clip`, none: all
  std::vector<std::int64_t> layers, heads;  // from 0; none: all
  std::vector<std::pair<std::int64_t, std::int64_t>> layer_heads;  // `head`: these alone; none: `layers` and `heads`
  bool per_head = false;                                           // one result for each layer and head
  bool per_token = false;  // one for each layer and token; `patch` of the residual stream
  bool mean_value = false;
  double scale = 1, along = 0;
  double largest = 0, medians = 0;  // one of them is above 0
  Quantisation quantisation;
  bool of_residual = false;  // `patch`: the residual stream, not heads
  std::string source;        // `patch`: the other text,
  Tensor source_BT;          // and its tokens (1, T'), of which those at the chosen places are used
  std::string origin;        // "settings.toml: line 3", for messages
};

}  // namespace sink
