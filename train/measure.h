// Measures a model on validation sequences of its data.
#pragma once

#include "engine/data/data_source.h"
#include "eval/evaluation.h"
#include "train/run_log.h"

namespace sink {

// The first `sequences` validation sequences (fewer if there are fewer), `batch` at a time.
Evaluation measure(LanguageModel& model, const DataSource& data, std::int64_t sequences, std::int64_t batch,
                   bool with_maps);

// What of it a line of metrics.jsonl says: sinks at the study's 0.3.
EvalRecord record_of(const Evaluation& evaluation);

}  // namespace sink
