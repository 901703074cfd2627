// Reads interventions from a TOML file.
#pragma once

#include <string>
#include <vector>

#include "eval/interventions/intervention.h"

namespace sink {

// One section each (eval/interventions/interventions_example.toml has one of every kind):
//
//   [[interventions]]
//   name = "mask first"       letters, digits and blanks, at most 40, unique
//   what = "mask"             or "redistribute", "constant", "value", "key", "head", "patch", "clip", "quantise"
//                             (intervention.h)
//   tokens = [1]              from 1; default: the first; for head, patch and clip all
//   layers = [0, 1]           from 0; default: all; not for quantise
//   heads = [3]               from 0; default: all; not for clip, quantise and the residual stream
//   layer-heads = ["0.3"]     for head, instead of both: head 3 of layer 0
//   per-head = true           one result for each layer and head; where heads are
//   value = "zero"            or "mean"; for value and head
//   source = "another text"   for patch; or source-tokens = [1, 5, 9], its ids
//   at = "residual"           or "heads"; for patch: the residual stream after blocks, or the outputs of heads
//   per-token = true          one result for each layer and token; for patch of the residual stream
//   scale = 0.5  along = -2   for key, one of them or both
//   largest = 50              for clip; or medians = 100
//   weight-bits = 8  input-bits = 8       for quantise, 2 to 16, one of them or both
//   weights-per = "channel"   or "tensor"; default: "channel"
//   inputs-per = "tensor"     or "channel", "token"; default: "tensor"
//   inputs = "products"       of all products of a block, or of "sublayers": the inputs of attention and feed-forward
//
// Keys may have _ for -. Throws Error (Exit::usage), "<where>: line 3: ...", for anything else. intervene() checks
// layers, heads and tokens against the model.
std::vector<Intervention> interventions_from_toml(const std::string& text, const std::string& where);

}  // namespace sink
