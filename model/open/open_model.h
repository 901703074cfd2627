// A model of another program, read in place: a Hugging Face folder, a GGUF file, or a llama2.c .bin.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/weights/weight_file.h"
#include "model/ablation.h"
#include "model/open/open_config.h"

namespace sink {

struct OpenModel {
  std::string path;
  OpenConfig config;
  std::shared_ptr<const WeightFile> file;

  // The model with its weights. Matrices stay in the memory-mapped file in their stored type; on the CUDA device, in
  // F64 and without `in_place` they are copied. Throws Error: Exit::usage if `ablation` has other policies than the
  // family, Exit::corrupt_checkpoint for tensors of wrong shapes, and for a backbone without unembedding unless the
  // caller does not need logits: those of the returned model are then meaningless.
  std::unique_ptr<LanguageModel> load(const Ablation& ablation, DType compute, Device device = Device::cpu,
                                      bool in_place = true, bool needs_logits = true) const;
};

// Whether a path is such a model and no checkpoint: a folder with config.json, a GGUF file, or a file that ends in
// .bin.
bool is_open_model(const std::string& path);
// Throws Error: Exit::bad_input for missing files, Exit::corrupt_checkpoint for damaged or unknown ones.
OpenModel open_model(const std::string& path);

// Loads the weights of a file of a family, of which matrices stay in it or, not `in_place`, are copied. Throws Error
// (Exit::corrupt_checkpoint), naming the tensor: for one that is missing, of another shape or without a parameter, and
// for NaN or infinite weights or matrices of zeros, which would make results meaningless without notice.
void load_family_weights(std::shared_ptr<const WeightFile> file, const OpenConfig& config, ParameterArena& parameters,
                         bool in_place);

// The name of the unembedding if it is not the embedding and not in the files; else empty.
std::string missing_unembedding(const WeightFile& file, const OpenConfig& config);
// What a user should know of what is not read or not computed; empty: nothing.
std::string model_note(const OpenModel& model);

// The tokenizer of the model. From tokenizer.json in the folder, or for gpt2 and opt vocab.json with merges.txt; the
// metadata of a GGUF file; tokenizer.bin or tok<V>.bin next to a llama2.c .bin. None if there is no such file, or if
// its pre-tokenizer is not computed here. Throws Error: Exit::corrupt_checkpoint for a damaged tokenizer,
// Exit::bad_input for a file that cannot be opened.
std::optional<Tokenizer> tokenizer_of(const OpenModel& model);

// Why no text is read for a model that has a tokenizer; `tokenizer` is tokenizer_of(model). Empty: one is read.
std::string text_refusal(const OpenModel& model, const std::optional<Tokenizer>& tokenizer);

// What a user should know of the texts of a model; empty: nothing. A GGUF file may not name its pre-tokenizer.
std::string text_note(const OpenModel& model);

// The source of the rule whether texts begin with a special token: "tokenizer.ggml.add_bos_token = false", "the
// post-processor of tokenizer.json", ...
std::string begin_rule(const OpenModel& model);
inline constexpr const char* kLlama2cBeginRule = "the rule of llama2.c";

// The token that lm-evaluation-harness puts before an empty context, whether or not the tokenizer begins texts with it:
// `bos_token` of tokenizer_config.json, or its `eos_token` if that is null (Qwen), or else `bos_token_id` of
// config.json; `tokenizer.ggml.bos_token_id` of a GGUF file. None if the files have none, or no token of the model.
// Throws Error (Exit::corrupt_checkpoint) for a damaged tokenizer_config.json.
std::optional<std::int32_t> prefix_token(const OpenModel& model, const Tokenizer& tokenizer);

// The tokens that end a generated text: `eos_token_id` of generation_config.json or, if it has none, of config.json (an
// id or a list); of a GGUF file `tokenizer.ggml.eos_token_id`, `eot_`, `eom_`, `fim_pad_`, `fim_rep_` and
// `fim_sep_token_id`, and tokens by their names (gguf_end_tokens). Without ids that are no token of the model. Throws
// Error (Exit::corrupt_checkpoint) for a damaged file or key.
std::vector<std::int32_t> end_tokens(const OpenModel& model);

}  // namespace sink
