// A family of open models: what is particular to its files and to the export. Each is a file of this folder and a line
// of families.def; both readers, the export, CONFIG_KEYS.md and the tests read it from there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/sizes.h"

namespace sink {

class ConfigJson;
class GgufKeys;
class WeightFile;
struct OpenConfig;

// Where the experts of a mixture are in the files of a program.
enum class ExpertTensors {
  none,
  apart,       // a tensor for each
  stacked,     // one for the gates, one for the ups and one for the downs of all: (E, out, in)
  joined,      // (E, out, in), gates before ups in one
  transposed,  // (E, in, out), and gates and ups alternate in one
};

// How the files of a program name tensors and lay them out.
struct TensorNames {
  // Tensors by our module or parameter: "#" is the index of the block and "*" that of an expert, as in TENSOR_NAMES.md.
  // Without tensors: files have no such parameter, which is zero (a gain stored less 1 is 1).
  std::vector<std::pair<std::string, std::vector<std::string>>> own = {};
  std::vector<std::string> tables = {"LLaMA"};  // of that page, for other parameters; the first counts before others
  std::string prefix = "model.";                // of all names but that of the unembedding, in what transformers writes
  bool pairs_interleaved = false;   // rows of q and k: elements 2 e and 2 e + 1 rotate together, not e and e + D/2
  bool heads_by_group = false;      // q, k and v of each key head are together
  bool rates = false;               // of gated delta rules: -exp(log_rate), not log_rate
  bool queries_with_gates = false;  // the rows of each head's gate follow those of its queries, in one tensor
  bool transposed = false;          // weights in blocks are (in, out), as GPT-2's Conv1D
  std::int64_t first_position = 0;  // rows of the position table before it are unused
  ExpertTensors experts = ExpertTensors::none;
};

// The special token of a vocab.json without tokenizer.json.
struct VocabularyFiles {
  std::string special = "";  // empty: vocab.json is not read
  bool begins = false;       // texts begin with it
};

// GGUF files.
struct GgufFamily {
  std::string architecture = "";            // as llama.cpp calls it; empty: there are none
  std::vector<std::string_view> keys = {};  // those that only files of this architecture may have
  TensorNames names = {.tables = {"GGUF"}};
  bool window = false;               // a window is computed
  bool long_rope = false;            // LongRoPE is computed
  std::int64_t global_every = 0;     // every n-th layer has no window where the file does not say; 0: all have it
  bool rotates_with_window = false;  // where there is a window, layers without it do not rotate
  bool experts_have_width = false;   // of their own, not that of other feed-forward blocks
  bool local_base = false;           // layers with a window may have a base of rotary positions of their own
  bool (*is_one)(const GgufKeys&) = nullptr;  // of the families with one architecture the last that is one counts
  void (*read)(const GgufKeys&, const WeightFile&, OpenConfig&) = nullptr;  // what the common keys do not say
};

// Keys of config.json. Texts are JSON; where a note is empty, it is that of the table "LLaMA and similar families".
struct ReadKey {
  std::string name, missing;  // what the class in transformers has for a missing key; empty: the note tells
  std::string note = "";      // with "null: ", null is no missing key
  std::string size = "";      // the flag of the size that it is, where most families have another key for it
};
struct FixedKey {
  std::string name, values;  // those that are computed; the first is that of a missing key, and the export writes it
  std::string note = "";
};
struct IgnoredKeys {
  std::string why;
  std::vector<std::string> names;
};
struct FamilyKeys {
  bool like_llama = true;                 // also those of that table that are not here
  std::vector<std::string> without = {};  // but for these
  std::vector<std::string> classes = {};  // of transformers; the export names the first
  std::string defaults = "{}";            // of keys that are read as in that table
  std::vector<ReadKey> read = {};         // other keys
  std::vector<FixedKey> fixed = {};
  std::vector<IgnoredKeys> ignored = {};
};

struct Family {
  // Its name, and the struct of model/ablations.h that computes its models: set by families.def.
  std::string name = "", ablation = "";

  // Of its policies.
  bool layer_norm = false;            // not RMSNorm
  bool rotary = true;                 // positions
  bool rotates_part = false;          // a part of a head may rotate
  std::string scaling = "linear";     // what the rotary factor does: a type of rotary positions in config.json
  bool experts = false;               // the feed-forward block is a mixture
  bool shared_expert = false;         // with an expert that all tokens go through
  bool delta_rules = false;           // layers may have a gated delta rule in place of attention
  std::string with_llama3_rope = "";  // its ablation with rotary positions of LLaMA 3.1; empty: there is none

  // config.json.
  std::string type = "";  // `model_type`; empty: there are no such files
  FamilyKeys keys = {};
  std::string outer_type = "";  // of a model that has this one as `text_config`
  FamilyKeys outer_keys = {};
  std::vector<std::string> rope_types = {};  // of whole heads; empty: `read` takes them
  std::string own_code = "";  // classes in published folders that are transformers' own; they begin with this
  TensorNames names = {};
  bool scaled_embedding = false;  // token embeddings are multiplied by sqrt(C)
  bool gains_less_one = false;    // gains are stored less 1
  void (*read)(const ConfigJson&, OpenConfig&) = nullptr;  // what the common keys do not say

  // The export. Of the families with one ablation, the last that `writes` a model counts.
  bool (*writes)(const OpenConfig&) = nullptr;                          // none: where it has the name of the ablation
  void (*write)(const OpenConfig&, nlohmann::ordered_json&) = nullptr;  // what sizes and fixed keys do not say

  // The class that transformers 4 takes for tokenizers without one.
  std::string tokenizer_class = "";
  VocabularyFiles vocabulary = {};

  GgufFamily gguf = {};
};

// All, in the order of messages.
const std::vector<Family>& families();
// The first that is computed by an ablation.
const Family& family_of_ablation(const std::string& ablation);
// "phi3, gpt-oss and gemma3": what `name_of` calls the families for which it is not empty, once each.
std::string families_with(std::string (*name_of)(const Family&));

}  // namespace sink
