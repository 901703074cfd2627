// Interventions as a file says them.
#pragma once

#include <string>
#include <vector>

#include "eval/interventions/intervention.h"

namespace sink {

// Reads TOML, a section for each (eval/interventions/interventions_example.toml has one of every kind):
//   [[interventions]]
//   name = "mask first"       letters, digits and blanks, 40 at most; no two alike
//   what = "mask"             or "redistribute", "constant", "value", "key", "clip", "quantise"
//   (eval/interventions/intervention.h) tokens = [1]              from 1; left out: the first; of clip: all layers =
//   [0, 1]           from 0; left out: all; not of quantise heads = [3]               from 0; left out: all; not of
//   clip and quantise per-head = true           a row for each layer and head; not of clip and quantise value = "zero"
//   or "mean"; of value scale = 0.5  along = -2   of key, one of them or both largest = 50              of clip; or
//   medians = 100
//   weight-bits = 8  input-bits = 8       of quantise, 2 to 16, one of them or both
//   weights-per = "channel"   or "tensor"; left out: "channel"
//   inputs-per = "tensor"     or "channel", "token"; left out: "tensor"
//   inputs = "products"       of all products of a block, or of "sublayers": what attention and feed-forward read
// Keys may have _ for -. Throws Error (Exit::usage) of one line, "<where>: line 3: ...", for anything else. Whether the
// model has these layers is intervene()'s to see.
std::vector<Intervention> interventions_from_toml(const std::string& text, const std::string& where);

}  // namespace sink
