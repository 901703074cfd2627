// Reads an Evaluation out of evaluation JSON (eval/sink/evaluation_json.h) and out of the curves of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/report/run_reader.h"

namespace sink::report {

// Throws Error (Exit::bad_input) for tables that do not fit each other.
Evaluation to_evaluation(const nlohmann::json& object, const std::string& file);

// The last measurement in the curves, and its step; nothing before the first.
struct LastMeasurement {
  std::int64_t step;
  Evaluation evaluation;
};
std::optional<LastMeasurement> last_measurement(const Curves& curves);

}  // namespace sink::report
