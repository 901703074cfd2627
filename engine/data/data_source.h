// What a training run reads: batches of token sequences, each a pure function of (seed, step, micro-batch, row), so
// that nothing about the data has to be saved or replayed when a run resumes.
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
  std::int64_t tokens = 0;  // of training that are in use
  double share = 0;         // of the tokens that a long run sees
  // How often it is gone through by a run that reads `of_run` tokens in all.
  double passes(double of_run) const { return tokens > 0 ? of_run * share / static_cast<double>(tokens) : 0; }
};

class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual std::int64_t vocabulary() const = 0;
  // `batch` sequences of micro-batch `micro` (below DataConfig::accumulate) of `step` (from 0).
  virtual Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const = 0;
  // Validation sequences [first_sequence, first_sequence + batch): the same ones every time.
  virtual Batch validation_batch(std::int64_t first_sequence, std::int64_t batch) const = 0;
  // How many there are: DataConfig::eval_sequences, or fewer if the text has fewer.
  virtual std::int64_t validation_sequences() const = 0;
  // A label for axes.
  virtual std::string token_text(std::int32_t id) const = 0;
  // The tokenizer as its file's text, for checkpoints; empty where there is none.
  virtual std::string tokenizer_json() const { return {}; }
  // What its tokens are, wherever they lie (tokens_checksum); empty where the settings alone say what they are.
  virtual std::string checksum() const { return {}; }
  // Tokens in one epoch; 0 if the data never ends.
  virtual std::int64_t train_tokens() const = 0;
  // What its text consists of; empty where it is not text.
  virtual std::vector<DomainUse> domains() const { return {}; }
};

// The source that `config` names, of sequences of `context` tokens (T).
// With a `prefix` of p tokens that every token sees the first p - 1 targets of every sequence are -1: a token that sees
// the next one has nothing to predict; in validation, too, unless prefix_validation is "study" (the released code
// counts them there). Throws Error: Exit::usage for values that do not fit, Exit::bad_input for data
// that cannot be used.
std::unique_ptr<DataSource> make_data_source(const DataConfig& config, std::int64_t context, std::int64_t prefix = 0);

}  // namespace sink
