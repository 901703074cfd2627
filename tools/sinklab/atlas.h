// sinklab atlas: the attention sinks of several models on the same texts, as a table, JSON and a figure.
#pragma once

#include <string>
#include <vector>

#include "eval/eval_command.h"
#include "eval/sink/measures.h"

namespace sink {

// A model on the texts, with or without its begin token before each. `model` is as the user gave it; of a model that
// was not measured nothing else is known but `error`.
struct AtlasRow {
  std::string model, error = {};
  std::string family = {}, policies = {}, attention = {};  // attention: what it has, in words
  std::string begin = {};                                  // the text of the token before each text; empty: none
  std::int64_t parameters = 0;
  Evaluation evaluation = {};
  double entropy_over_even = kNotMeasured;
  double accuracy = kNotMeasured;  // of `sinklab score`, in percent
};

// Above this share of the entropy of even rows there is no pattern that a sink could be part of
// (train/studies/preregistration.toml).
inline constexpr double kMostEntropyOverEven = 0.936;

std::string atlas_table(const std::vector<AtlasRow>& rows);
// `about`: what is the same for all rows, as the text of a JSON object.
std::string atlas_json(const std::vector<AtlasRow>& rows, const std::string& about);
std::string atlas_svg(const std::vector<AtlasRow>& rows);

// The command; it reads its models itself, so `ablation` does not matter.
EvalCommand atlas_command(CLI::App& app, const Ablation& ablation);

}  // namespace sink
