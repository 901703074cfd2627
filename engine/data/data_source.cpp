#include "engine/data/data_source.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/data/bigram_backcopy.h"
#include "engine/data/text_source.h"

namespace sink {

namespace {

std::unique_ptr<DataSource> make_task(const DataConfig& config, std::int64_t context, std::int64_t prefix) {
  if (config.task == "text") return std::make_unique<TextSource>(config, context, prefix);
  if (config.task == "bigram-backcopy") return std::make_unique<BigramBackcopy>(config, context);
  fail("data", "the task is text or bigram-backcopy, got '" + config.task + "'", Exit::usage);
}

// Another source's batches, in which the first `ignored` targets of every sequence are -1; those of validation only if
// it `validates_alike`.
class WithoutFirstTargets : public DataSource {
 public:
  WithoutFirstTargets(std::unique_ptr<DataSource> source, std::int64_t ignored, bool validates_alike)
      : source_(std::move(source)), ignored_(ignored), validates_alike_(validates_alike) {}

  std::int64_t vocabulary() const override { return source_->vocabulary(); }
  Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const override {
    return without_first(source_->train_batch(step, micro, batch));
  }
  Batch validation_batch(std::int64_t first_sequence, std::int64_t batch) const override {
    Batch whole = source_->validation_batch(first_sequence, batch);
    return validates_alike_ ? without_first(whole) : whole;
  }
  std::int64_t validation_sequences() const override { return source_->validation_sequences(); }
  std::string token_text(std::int32_t id) const override { return source_->token_text(id); }
  std::string tokenizer_json() const override { return source_->tokenizer_json(); }
  std::string checksum() const override { return source_->checksum(); }
  std::int64_t train_tokens() const override { return source_->train_tokens(); }
  std::vector<DomainUse> domains() const override { return source_->domains(); }

 private:
  Batch without_first(const Batch& batch) const {
    Tensor targets_BT = batch.targets_BT().clone();
    std::int32_t* targets = targets_BT.data<std::int32_t>();
    for (std::int64_t b = 0; b < batch.sequences(); ++b) std::fill_n(targets + b * batch.context(), ignored_, -1);
    return {batch.tokens_BT(), targets_BT, batch.vocabulary()};
  }

  std::unique_ptr<DataSource> source_;
  std::int64_t ignored_;
  bool validates_alike_;
};

}  // namespace

std::unique_ptr<DataSource> make_data_source(const DataConfig& config, std::int64_t context, std::int64_t prefix) {
  if (prefix <= 1) return make_task(config, context, prefix);
  SINK_CHECK(prefix < context, "data",
             "the prefix must be shorter than a sequence, got a prefix of " + std::to_string(prefix) +
                 " and sequences of " + std::to_string(context) + " tokens",
             Exit::usage);
  return std::make_unique<WithoutFirstTargets>(make_task(config, context, prefix), prefix - 1,
                                               config.prefix_validation != "study");
}

}  // namespace sink
