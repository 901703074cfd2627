#include "train/measure.h"

#include <algorithm>

namespace sink {

Evaluation measure(LanguageModel& model, const DataSource& data, std::int64_t sequences, std::int64_t batch,
                   bool with_maps) {
  Batch validation = data.validation_batch(0, std::min(sequences, data.validation_sequences()));
  return evaluate(model, validation.tokens_BT, validation.targets_BT, batch, with_maps);
}

}  // namespace sink
