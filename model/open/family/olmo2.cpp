// OLMo 2: LLaMA with norms after sublayers instead of before them, and norms of queries and keys over all heads.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void refuse_olmo3(const GgufKeys& keys, const WeightFile&, OpenConfig&) {
  if (keys.has("attention.sliding_window"))
    keys.refuse("OLMo 3 is not computed here: `olmo2.attention.sliding_window` says that the file is one");
}

}  // namespace

Family olmo2() {
  return {.type = "olmo2",
          .keys = {.classes = {"Olmo2ForCausalLM", "Olmo2Model"},
                   .defaults = R"({"vocab_size": 50304, "rms_norm_eps": 1e-05})",
                   .read = {{"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"}}},
          .rope_types = {"default", "linear"},
          .names = {.tables = {"LLaMA with norms after sublayers", "LLaMA"}},
          .tokenizer_class = "GPTNeoXTokenizer",
          .gguf = {.architecture = "olmo2", .read = refuse_olmo3}};
}

}  // namespace sink::open_families
