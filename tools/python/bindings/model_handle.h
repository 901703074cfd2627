// ModelHandle: a language model of the module, with its tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"
#include "eval/evaluated_model.h"
#include "eval/text_sequences.h"
#include "tools/python/bindings/batch_trainer.h"

namespace sink::python {

class ModelHandle {
 public:
  // `given`: see model_path. `dtype`: float32, float64 or bfloat16. `gradients`: of all weights, which
  // then are read to memory. Throws Error like load_evaluated.
  static ModelHandle load(const std::string& given, const std::string& dtype, const std::string& device,
                          bool gradients);
  // A new model without a tokenizer, which these settings draw and train. Throws Error like settings_of.
  static ModelHandle make(const std::string& ablation, const std::string& settings_toml, std::int64_t vocabulary);

  LanguageModel& model() { return *evaluated_.model; }
  const LanguageModel& model() const { return *evaluated_.model; }
  const Ablation& ablation() const { return ablation_; }
  const std::string& path() const { return evaluated_.checkpoint.path; }
  const Checkpoint& checkpoint() const { return evaluated_.checkpoint; }  // without tensors

  // Throws Error (Exit::usage) where the model has none.
  const Tokenizer& tokenizer();
  bool has_tokenizer() const;
  // The ids of a text, with the begin token of the tokenizer or the fixed token of the run. Throws Error like
  // text_sequences.
  std::vector<std::int32_t> encode(const std::string& text);
  // The token that encode puts before a text; -1: none.
  std::int64_t begin_token() const { return cut_.fixed_position == 1 ? cut_.fixed_token : -1; }
  std::string decode(const std::vector<std::int32_t>& ids);
  // The token as printable text; its id where the tokenizer has none.
  std::string token_text(std::int32_t id);

  // Throws Error (Exit::usage) for a model that was loaded.
  BatchTrainer& trainer();
  // Writes a checkpoint for eval_<ablation>, without the state of the optimizer. Throws Error like save_checkpoint, and
  // Exit::usage where the file exists or the model was loaded.
  void save(const std::string& path) const;

 private:
  ModelHandle(const Ablation& ablation, EvaluatedModel evaluated);

  const Ablation& ablation_;
  EvaluatedModel evaluated_;  // without the tensors of the checkpoint
  std::string data_;          // folder of the run's tokenizer; may be empty
  TextCut cut_;
  std::optional<Tokenizer> tokenizer_;     // read at the first use
  std::optional<RunConfig> settings_;      // of a new model
  std::unique_ptr<BatchTrainer> trainer_;  // made at the first step
};

}  // namespace sink::python
