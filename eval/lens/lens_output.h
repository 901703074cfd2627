// The logit lens as a table, as JSON and as a picture.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eval/lens/logit_lens.h"

namespace sink {

struct LensLabels {
  std::string model, ablation;
  std::vector<std::int32_t> tokens_T;
  std::function<std::string(std::int32_t)> token_text;
};

// A line per token: the predictions after six layers, evenly spread, and the layer from which on the last one stays.
std::string lens_table(const Lens& lens, const LensLabels& labels);

// {"schema": 1, "model", "ablation", "tokens": [T], "token_text": [T],
//  "lens": [0 ... L][T] of {"token", "text", "probability", "loss" (null where none is predicted), "divergence"}}
std::string lens_json(const Lens& lens, const LensLabels& labels);

// SVG: layers are rows, the last at the top; tokens are columns. A cell has the prediction; the darker, the more
// probable.
std::string lens_svg(const Lens& lens, const LensLabels& labels);

}  // namespace sink
