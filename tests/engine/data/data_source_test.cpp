// What every source shares: the targets that a prefix takes out of the loss.
#include "engine/data/data_source.h"

#include <doctest/doctest.h>

#include "tests/engine/data/data_support.h"

using namespace sink;

TEST_CASE("data source: the first prefix - 1 targets are ignored, nothing else changes") {
  TemporaryFolder folder;
  write_counting_text(folder, 1000, 249);
  for (const char* task : {"text", "bigram-backcopy"})
    for (std::int64_t prefix : {0, 1, 2, 8}) {
      DataConfig config;
      config.task = task;
      config.data = folder.path;
      config.eval_sequences = 4;
      auto plain = make_data_source(config, 9);
      auto source = make_data_source(config, 9, prefix);
      for (bool train : {true, false}) {
        CAPTURE(task);
        CAPTURE(prefix);
        CAPTURE(train);
        Batch all = train ? plain->train_batch(3, 0, 4) : plain->validation_batch(0, 4);
        Batch some = train ? source->train_batch(3, 0, 4) : source->validation_batch(0, 4);
        CHECK(values(some.tokens_BT()) == values(all.tokens_BT()));
        auto expected = values(all.targets_BT());
        for (std::size_t i = 0; i < expected.size(); ++i)
          if (static_cast<std::int64_t>(i % 9) + 1 < prefix) expected[i] = -1;
        CHECK(values(some.targets_BT()) == expected);
      }
      CHECK(source->vocabulary() == plain->vocabulary());
      CHECK(source->validation_sequences() == plain->validation_sequences());
      CHECK(source->train_tokens() == plain->train_tokens());
      CHECK(source->tokenizer_json() == plain->tokenizer_json());
      CHECK(source->token_text(3) == plain->token_text(3));
    }
}

TEST_CASE("data source: the paper's validation counts the first targets, its training does not") {
  DataConfig config;
  config.task = "bigram-backcopy";
  auto ours = make_data_source(config, 9, 4);
  config.prefix_validation = "study";
  auto study = make_data_source(config, 9, 4);
  CHECK(values(study->train_batch(0, 0, 4).targets_BT()) == values(ours->train_batch(0, 0, 4).targets_BT()));
  Batch more = study->validation_batch(0, 4), fewer = ours->validation_batch(0, 4);
  CHECK(more.predicted() > fewer.predicted());
  CHECK(values(more.targets_BT()) == values(make_data_source(config, 9)->validation_batch(0, 4).targets_BT()));
}

TEST_CASE("data source: a prefix that leaves nothing to predict is refused, as when measuring short sequences") {
  DataConfig config;
  config.task = "bigram-backcopy";
  CHECK(contains(error_of([&] { make_data_source(config, 9, 9); }),
                 "exit 2 the prefix must be shorter than a sequence, got a prefix of 9 and sequences of 9"));
}
