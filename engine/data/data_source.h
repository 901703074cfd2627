// The data of a training run: batches of token sequences, each a pure function of (seed, step, micro-batch, row), so
// that no state of the data has to be saved for a resumed run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/batch.h"
#include "engine/data/data_config.h"

namespace sink {

// Text of one origin in the training data.
struct DomainUse {
  std::string name;
  std::int64_t tokens = 0;  // training tokens in use
  double share = 0;         // fraction of the tokens of a long run
  // Epochs of this domain in a run of `of_run` tokens.
  double passes(double of_run) const { return tokens > 0 ? of_run * share / static_cast<double>(tokens) : 0; }
};

class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual std::int64_t vocabulary() const = 0;
  // `batch` sequences of micro-batch `micro` (below DataConfig::accumulate) of `step` (from 0).
  virtual Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const = 0;
  // Validation sequences [first_sequence, first_sequence + batch); always the same.
  virtual Batch validation_batch(std::int64_t first_sequence, std::int64_t batch) const = 0;
  // How many there are: DataConfig::eval_sequences, or fewer if the text has fewer.
  virtual std::int64_t validation_sequences() const = 0;
  // A label for axes.
  virtual std::string token_text(std::int32_t id) const = 0;
  // The tokenizer as its file's text, for checkpoints; empty where there is none.
  virtual std::string tokenizer_json() const { return {}; }
  // The id before every document; -1: none.
  virtual std::int64_t begin_token() const { return -1; }
  // tokens_checksum of the data; empty where the settings determine the tokens.
  virtual std::string checksum() const { return {}; }
  // A text that differs where the same tokens make other batches: the sizes of its domains, and their weights where
  // those count. Empty where there are none.
  virtual std::string parts() const { return {}; }
  // Tokens in one epoch; 0 if the data never ends.
  virtual std::int64_t train_tokens() const = 0;
  // The domains of its text; empty for other tasks.
  virtual std::vector<DomainUse> domains() const { return {}; }
};

// With a prefix of p tokens, which every token attends to, the first p - 1 targets of every sequence are -1: a token
// that sees the next one has nothing to predict. The paper's code counts them in validation (prefix_validation
// "study").
std::int64_t ignored_targets(const DataConfig& config, std::int64_t prefix, bool validation);

// The source of `config` with sequences of `context` tokens (T). Throws Error: Exit::usage for invalid settings,
// Exit::bad_input for unusable data.
std::unique_ptr<DataSource> make_data_source(const DataConfig& config, std::int64_t context, std::int64_t prefix = 0);

}  // namespace sink
