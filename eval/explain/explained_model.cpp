#include "eval/explain/explained_model.h"

#include <algorithm>
#include <cstdio>

#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/threads.h"
#include "eval/evaluated_model.h"
#include "eval/sink/trained_on.h"
#include "model/size_settings.h"

namespace sink {
namespace {

constexpr std::int64_t kLongestInitial = 1024;  // tokens; the naive attention then takes seconds

Tensor first_sequence(const Tensor& tokens_NT) {
  if (tokens_NT.dim(0) > 1)
    std::fprintf(stderr, "note: the first of %lld sequences is explained\n", static_cast<long long>(tokens_NT.dim(0)));
  return tokens_NT.rows(0, 1);
}

std::vector<std::string> words_of(const ExplainedModel& explained) {
  std::vector<std::string> words;
  for (std::int64_t t = 0; t < explained.tokens_1T.size(); ++t)
    words.push_back(explained.token_text(static_cast<std::int32_t>(explained.tokens_1T.item(t))));
  return words;
}

}  // namespace

Sizes tiny_sizes(const GivenSizes& given, std::int64_t T, std::int64_t vocabulary) {
  Sizes sizes{.layers = 2, .heads = 2, .width = 16, .feed_forward = 16, .context = 16, .vocabulary = vocabulary};
  sizes.context = std::max(sizes.context, T);
  for (const auto& [flag, text] : given) setting_named(size_settings(), flag)->set(sizes, text, option_of_size(flag));
  std::string error = validate(sizes, option_of_size);
  if (!error.empty()) throw Error(error, Exit::usage);
  return sizes;
}

ExplainedModel model_of_checkpoint(const std::string& path, const InputOptions& given, const Ablation& ablation) {
  ExplainedModel explained;
  auto [checkpoint, model] = load_evaluated(path, ablation, DType::F64);
  explained.model = std::move(model);
  const Sizes& sizes = explained.model->sizes();
  explained.tokens_1T = first_sequence(given.sequences(checkpoint, sizes));
  TrainedOn run = trained_on(checkpoint, sizes);
  std::shared_ptr<DataSource> data;
  if (run.task != "text")
    data =
        make_data_source(run, run.context, run.prefix);  // a synthetic task has token texts; text data may have moved
  explained.token_text = [data, of_id = token_labels(checkpoint, data.get())](std::int32_t id) {
    return data && id >= data->vocabulary() ? std::to_string(id) : of_id(id);
  };
  explained.words_T = words_of(explained);
  const std::int64_t step = integer_or(checkpoint, "step", -1);
  explained.trained = step != 0;
  explained.what = path + (step < 0 ? "" : ", step " + std::to_string(step) + (step == 0 ? ": not trained" : ""));
  return explained;
}

ExplainedModel initial_model(const InputOptions& given, const GivenSizes& sizes, std::uint64_t seed,
                             const Ablation& ablation) {
  set_thread_count(1);  // so that a debugger stops at the rows in order
  auto bytes = std::make_shared<Tokenizer>(Tokenizer::train({}, kSmallestVocabulary));
  ExplainedModel explained;
  explained.tokens_1T = first_sequence(given.sequences(*bytes, kLongestInitial));
  explained.model = ablation.make_model(tiny_sizes(sizes, explained.tokens_1T.dim(1), bytes->vocabulary()),
                                        InitScheme::torch, seed, DType::F64);
  explained.token_text = [bytes](std::int32_t id) { return bytes->token_text(id); };
  explained.words_T = words_of(explained);
  explained.what = "an initial model, NOT TRAINED: seed " + std::to_string(seed) +
                   ", one token for each byte (give a checkpoint to explain a trained one)";
  return explained;
}

}  // namespace sink
