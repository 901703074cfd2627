// Reads and validates a Measurement: from evaluation JSON (eval/sink/evaluation_json.h), from the curves of a run and
// from interventions.json (eval/interventions/interventions.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/report/run_reader.h"

namespace sink::report {

// Throws Error (Exit::bad_input) for tables whose shapes do not match.
Measurement to_evaluation(const nlohmann::json& object, const std::string& file);

// Unknown for a name that is not in kExtraNames.
Evaluation::Extra extra_named(const std::string& name);

struct LastMeasurement {
  std::int64_t step;
  Measurement evaluation;
};
// Of the curves; nothing before the first measurement.
std::optional<LastMeasurement> last_measurement(const Curves& curves);

// Adds to the run's evaluation the first measured step at which Sink_1 exceeds 10 %, `onset_sink_1`, and at which the
// massive ratio exceeds 3, `onset_massive`; -1 where none does. Nothing where the curves have no massive ratio (older
// programs). How fine the steps are is set by --eval-every.
void set_onsets(Run& run);

// Adds to the run's evaluation `change_removed_1`, `change_w4a4`, ... (nats) by the names in the file; nothing where
// the file is of another step, input, context or data than the evaluation. Throws Error (Exit::bad_input).
void read_interventions(const std::string& file, Run& run);

}  // namespace sink::report
