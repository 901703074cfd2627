#include "train/measure.h"

#include <algorithm>

namespace sink {

Evaluation measure(LanguageModel& model, const DataSource& data, std::int64_t sequences, std::int64_t batch,
                   bool with_maps) {
  Batch validation = data.validation_batch(0, std::min(sequences, data.validation_sequences()));
  return evaluate(model, validation.tokens_BT, validation.targets_BT, batch, with_maps);
}

EvalRecord record_of(const Evaluation& e) {
  EvalRecord record{.val_loss = e.loss,
                    .sink_1 = e.proxy.sink_k[kStudyEpsilon].front(),
                    .sink_1_raw = e.raw.sink_k[kStudyEpsilon].front(),
                    .alpha_1 = e.proxy.alpha_1(),
                    .alpha_1_raw = e.raw.alpha_1(),
                    .alpha_1_max = e.alpha_1_max,
                    .row_mass = e.row_mass,
                    .first_value_norm_ratio = e.first_value_norm_ratio};
  if (!e.proxy.star) return record;
  record.star = {.sink = e.proxy.star->sink[kStudyEpsilon],
                 .sink_raw = e.raw.star->sink[kStudyEpsilon],
                 .alpha = e.proxy.star->alpha,
                 .alpha_raw = e.raw.star->alpha};
  if (e.extra == Evaluation::Extra::key) record.star->slot_mass = e.slot_mass;
  return record;
}

}  // namespace sink
