// evaluation.json: the final measurements of a run, as the report and other tools read them.
#pragma once

#include <functional>
#include <string>

#include "eval/sink_score.h"

namespace sink {

// What stands beside the numbers so that nobody has to guess what they are of.
struct EvaluationContext {
  std::string run, task, ablation, policies, precision, commit, config_toml;
  std::uint64_t seed = 0;
  std::int64_t step = 0, steps = 0, tokens = 0, parameters = 0;
  std::function<std::string(std::int32_t)> token_text;  // for the axes of the map
};

// JSON text with a line end. The date is the clock's.
std::string evaluation_json(const Evaluation& evaluation, const EvaluationContext& context);

}  // namespace sink
