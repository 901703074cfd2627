#include "eval/sink/measured_input.h"

#include <algorithm>

#include "eval/input_tokens.h"
#include "eval/what_fits.h"

namespace sink {

Input given_input(const InputOptions& given, const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes) {
  if (!given.is_jsonl()) return {given_tokens(given.sequences(checkpoint, sizes), sizes.vocabulary, sizes.prefix, 1)};
  TextCut cut = given.cut(checkpoint, run, sizes);
  cut.context = run.context;
  TextLines texts = read_text_lines(*given.text_file, given.tokenizer(checkpoint, run), cut);
  return {given_tokens(texts.tokens_NT, sizes.vocabulary, sizes.prefix), texts.domains};
}

Evaluation evaluate_in_batches(LanguageModel& model, const Checkpoint& checkpoint, const Batch& sequences,
                               const ComputeOptions& compute, const std::optional<FixedToken>& fixed,
                               const MoreMeasures& more) {
  const bool without_logits = checkpoint.attributes.contains("without_logits");
  const Batch input = without_logits ? without_targets(sequences) : sequences;
  return in_batches_that_fit(std::min(compute.batch_of(input.context(), model.sizes().width), input.sequences()),
                             [&](std::int64_t n) {
                               Evaluation measured = evaluate(model, input, n, false, {}, fixed);
                               if (measured.targets > 0) require_finite_loss(measured.loss);
                               if (without_logits) require_finite_stream(measured.hidden_norm);
                               if (more) more(input, n, measured);
                               return measured;
                             });
}

}  // namespace sink
