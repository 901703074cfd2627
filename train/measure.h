// Measures a model on validation sequences of its data.
#pragma once

#include "eval/evaluation.h"
#include "train/data/data_source.h"

namespace sink {

// The first `sequences` validation sequences (fewer if there are fewer), `batch` at a time.
Evaluation measure(LanguageModel& model, const DataSource& data, std::int64_t sequences, std::int64_t batch,
                   bool with_maps);

}  // namespace sink
