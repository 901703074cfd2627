// The text that a checkpoint is measured on where no other is given: validation sequences of what it was trained on.
#pragma once

#include <memory>
#include <string>

#include "engine/data/data_source.h"
#include "eval/sink/trained_on.h"

namespace sink {

// The data of the run that `checkpoint`, at `path`, says it was trained on, or the folder `other`, which may hold other
// text in the same tokens (empty: none). Throws Error: Exit::usage where neither says what, Exit::bad_input where its
// tokens are not the model's or its text is not the run's.
std::unique_ptr<DataSource> validation_text(const std::string& path, const Checkpoint& checkpoint, TrainedOn run,
                                            const std::string& other, const Sizes& sizes);

}  // namespace sink
