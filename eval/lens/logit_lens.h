// The logit lens (nostalgebraist 2020): what the model would predict after each block if no other block followed. The
// residual stream h_l goes through the final norm and the unembedding: logits_l = norm(h_l) W_U^T.
#pragma once

#include <cstdint>
#include <vector>

#include "model/language_model.h"

namespace sink {

struct LensCell {
  std::int32_t token = 0;  // the most probable next token, the first of equals
  double probability = 0;  // its probability
  double loss = 0;         // -log p of the token that does follow, nats; NaN where none is predicted
  double divergence = 0;   // sum_v p_v log(p_v / q_v), nats: p of the last layer, q of this one
};

// Nothing is predicted after the last token of the text, and at the first p - 1 of a prefix of p, which see what
// follows. [l][t]: l = 0 is the embedding with positions, l the output of block l - 1; t counts tokens of the text.
using Lens = std::vector<std::vector<LensCell>>;

// The most probable next token at each position of a residual stream after some layer.
struct Prediction {
  std::int32_t token = 0;  // the first of equals
  double probability = 0;
};
std::vector<Prediction> lens_predictions(const LanguageModel& model, const Tensor& x_1TC);

// tokens_1T: I32, one sequence. Throws Error (Exit::diverged) where values of the model overflow.
Lens logit_lens(const LanguageModel& model, const Tensor& tokens_1T);

}  // namespace sink
