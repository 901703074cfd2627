// A model of another program in our terms: its family, its sizes, and how its tensors are read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "model/open/family/family.h"
#include "model/open/quantized.h"
#include "model/sizes.h"

namespace sink {

// The longest context of position tables (model/size_settings.cpp); longer models are used up to here.
inline constexpr std::int64_t kLongestContext = 65536;

enum class ModelFiles { hugging_face, gguf, llama2c };

struct OpenConfig {
  std::string family;              // its ablation, as in "llama3"
  const Family* origin = nullptr;  // what its files say; `family` may be another with the same files
  ModelFiles files = ModelFiles::hugging_face;
  const TensorNames* names = nullptr;
  Sizes sizes = {};
  double embedding_scale = 1;                   // multiplies token embeddings, as in Gemma and Granite
  double residual_scale = 1;                    // multiplies what sublayers add to the residual stream, as in Granite
  double logit_scale = 1;                       // multiplies logits
  double gain_less = 0;                         // added to stored gains, 1 for safetensors of Gemma
  std::vector<std::string> other_tensors = {};  // which were read and are no weights
  // Whether config.json ties unembedding and embedding; without it, they are tied if the file has no unembedding.
  std::optional<bool> tied = std::nullopt;
  // Of a backbone, which is not tied, and whose files have no unembedding: the name of that tensor. Such a model has
  // attention and no logits.
  std::string missing_unembedding = "";
  // Why no text may be longer than `sizes.context`: what the model does beyond it is not computed. Empty: nothing.
  std::string beyond_context = "";
  std::optional<Quantization> quantization = std::nullopt;  // of the weights in a folder
  bool with_vision = false;       // the folder may have tensors of a vision tower, which are not read
  std::int64_t begin_token = -1;  // `bos_token_id` of config.json, -1: none
};

// From config.json of Hugging Face. Throws Error (Exit::corrupt_checkpoint), with the key and the expected values, for
// what no family here implements.
OpenConfig read_hf_config(const std::string& path);
// From the metadata of a GGUF file or a .bin of llama2.c. Throws the same.
OpenConfig read_gguf_config(const WeightFile& file);
OpenConfig read_llama2c_config(const WeightFile& file);

// Throws Error (Exit::corrupt_checkpoint), naming the size, if a size is out of bounds or the sizes make no model. The
// bounds are narrower than those of flags, and 0 is no default: the readers above fill in defaults of missing keys.
void check_open_sizes(const std::string& path, const OpenConfig& config);

// Sets which blocks see all keys before them, or rotate: as every n-th where they are, else as a list.
void set_global_layers(Sizes& sizes, const std::vector<bool>& global);
void set_rotary_layers(Sizes& sizes, const std::vector<bool>& rotates);
// The key of a size ("kv-heads") in the file of the model, such as `num_key_value_heads`; the size's own if it has
// none.
std::string key_in_file(const OpenConfig& config, const std::string& flag);

// config.json for a model with sizes_of_family(); keys that the class of the family in transformers lacks are left out.
// Of the family `origin`. `tied`: whether the unembedding is the embedding; `begin_token`: -1 for none; `end_tokens`:
// generation ends at one.
std::string hf_config_json(const OpenConfig& config, bool tied, std::int64_t begin_token,
                           const std::vector<std::int32_t>& end_tokens);
// The family that a model of `family` with these sizes is written as.
const Family& written_family(const OpenConfig& config);
// resolve_defaults() (model/size_settings.h), with 0 for rotary sizes if the family has no rotary positions.
Sizes sizes_of_family(const std::string& family, const Sizes& sizes);

// Families of open models are ablations (model/ablations.h). Any ablation with the policies of a family,
// "position=Rotary placement=PreNorm ...", can run its models.
std::string policies_of_family(const std::string& family);
// The inverse; empty if no family has these policies.
std::string family_of_policies(const std::string& policies);
std::string family_names();  // listed()
// "the architecture `falcon` is not computed here: ...; gpt2, opt and gpt_oss are", for messages. `known`: those that
// are, as the program of the file calls them.
std::string not_computed(const std::string& architecture, const std::vector<std::string>& known);
// "gpt2, opt and gpt_oss", for messages.
std::string listed(const std::vector<std::string>& names);

}  // namespace sink
