// What a model of another program is in our terms: which family, how large, and how its tensors are to be read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "model/sizes.h"

namespace sink {

// Of the tables that a model makes for itself (model/size_settings.cpp); models that say more are used up to here.
inline constexpr std::int64_t kLongestContext = 65536;

// How a program names its tensors and lays them out.
enum class TensorNames { hf_gpt2, hf_opt, hf_neox, hf_llama, hf_gemma3, hf_gpt_oss, gguf, llama2c };

struct OpenConfig {
  std::string family;  // its ablation, as in "llama3"
  Sizes sizes;
  TensorNames names = TensorNames::hf_llama;
  bool pairs_interleaved =
      false;                   // rows of queries and keys: number 2 e beside 2 e + 1 turn together, not e and e + D/2
  double embedding_scale = 1;  // of looked up embeddings, as in Gemma
  double gain_less = 0;        // what stored gains lack, 1 in Gemma's safetensors
  // Whether the unembedding is the embedding, by config.json; else it is where the file has no tensor for it.
  std::optional<bool> tied = std::nullopt;
  std::int64_t begin_token = -1;  // `bos_token_id` of config.json, -1: none
};

// config.json of Hugging Face. Throws Error (Exit::corrupt_checkpoint) with the key, what was expected and what came,
// for what no family here computes.
OpenConfig read_hf_config(const std::string& path);
// What a GGUF file, or a .bin of llama2.c, says of itself. Throws the same.
OpenConfig read_gguf_config(const WeightFile& file);
OpenConfig read_llama2c_config(const WeightFile& file);

}  // namespace sink
