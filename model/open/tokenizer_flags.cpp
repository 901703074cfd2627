// Flags of tokenizer_config.json that say something else of a text than tokenizer.json. transformers 4 follows them in
// some classes, and version 5 tokenizer.json, so such a text is not read.
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "model/open/config_json.h"
#include "model/open/special_tokens.h"

namespace sink {
namespace {

// The classes of transformers 4 (without "Fast") that build the template of a text from `add_bos_token` and
// `add_eos_token`, with what they take where tokenizer_config.json has no such key.
struct TemplateClass {
  std::string_view name;
  const char *begin, *end;
  bool adds_begin;
};
constexpr std::array<TemplateClass, 5> kTemplateClasses{
    {{"LlamaTokenizer", "<s>", "</s>", true},
     {"CodeLlamaTokenizer", "<s>", "</s>", true},
     {"GemmaTokenizer", "<bos>", "<eos>", true},
     {"CohereTokenizer", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", true},
     {"GPTNeoXTokenizer", "<|endoftext|>", "<|endoftext|>", false}}};

// The class that transformers 4 takes for a config.json where no file names one.
std::string class_of_type(const std::string& type) {
  for (const Family& family : families())
    if (!type.empty() && (type == family.type || type == family.outer_type)) return family.tokenizer_class;
  return "";
}

std::string class_of(const std::string& folder, const ConfigJson& config) {
  std::string name = config.text("tokenizer_class", "");
  if (name.empty()) {
    const ConfigJson model = ConfigJson::read(folder + "/config.json");
    name = model.text("tokenizer_class", "");
    if (name.empty()) name = class_of_type(model.text("model_type", ""));
  }
  return name.ends_with("Fast") ? name.substr(0, name.size() - 4) : name;
}

// A flag as transformers reads it: null is false.
bool flag_of(const ConfigJson& config, const char* key, bool otherwise) {
  if (!config.holds(key)) return otherwise;
  return config.has(key) && config.flag(key);
}

// The special token `key`: as in transformers 4, that of special_tokens_map.json where tokenizer_config.json has no
// `added_tokens_decoder`. None if it is null.
std::optional<std::string> special_token(const std::string& folder, const ConfigJson& config, const char* key,
                                         const char* otherwise) {
  std::error_code ignored;
  const std::string path = folder + "/special_tokens_map.json";
  auto in = [&](const ConfigJson& file) -> std::optional<std::string> {
    if (!file.has(key)) return std::nullopt;
    return file.is_object(key) ? file.object(key).text("content") : file.text(key);
  };
  if (!config.has("added_tokens_decoder") && std::filesystem::exists(path, ignored))
    if (const ConfigJson map = ConfigJson::read(path); map.holds(key)) return in(map);
  return config.holds(key) ? in(config) : otherwise;
}

// None if it is no added token.
std::optional<std::int32_t> added_token_id(const Tokenizer& tokenizer, const std::string& content) {
  for (const AddedToken& token : tokenizer.model().added)
    if (token.content == content) return token.id;
  return std::nullopt;
}

// Why the template of tokenizer.json is not that of the flags; empty: it is.
std::string template_refusal(const std::string& folder, const ConfigJson& config, const std::string& class_name,
                             const Tokenizer& tokenizer) {
  for (const TemplateClass& known : kTemplateClasses) {
    if (known.name != class_name) continue;
    auto compare = [&](const char* flag, bool otherwise, const char* key, const char* token, const char* where,
                       const std::vector<std::int32_t>& ids) -> std::string {
      const bool adds = flag_of(config, flag, otherwise);
      const std::optional<std::string> text = special_token(folder, config, key, token);
      if (adds && !text) return "";  // transformers 4 does not load such a folder
      const std::optional<std::int32_t> id = adds ? added_token_id(tokenizer, *text) : std::nullopt;
      if (adds ? id && ids == std::vector<std::int32_t>{*id} : ids.empty()) return "";
      return "`" + std::string(flag) + "` is " + (adds ? "true" : "false") + " for " + class_name +
             ", and tokenizer.json puts " +
             (ids.empty() ? "no"
              : adds      ? "another"
                          : "a") +
             " token " + where +
             " a text: transformers 4 follows the former, version 5 the latter, and both must be the same";
    };
    std::string begin =
        compare("add_bos_token", known.adds_begin, "bos_token", known.begin, "before", tokenizer.begin_tokens());
    if (!begin.empty()) return begin;
    return compare("add_eos_token", false, "eos_token", known.end, "after", tokenizer.end_tokens());
  }
  return "";
}

// Why the leading space of a text is not that of `add_prefix_space`; empty: it is, or the flag does not count. Version
// 4 sets the flag of a ByteLevel that is the only pre-tokenizer, to false where there is no such key.
std::string prefix_space_refusal(const ConfigJson& config, const std::string& class_name, const Tokenizer& tokenizer) {
  const BpeModel& model = tokenizer.model();
  constexpr const char* kFlag = "add_prefix_space";
  const bool is_given = config.has(kFlag), only_step = model.byte_level && model.cuts.empty();
  if (!is_given && (config.holds(kFlag) || !only_step)) return "";
  if (!model.byte_level && class_name != "LlamaTokenizer" && class_name != "CodeLlamaTokenizer") return "";
  const bool adds = model.prefix_space != PrefixSpace::never || model.prepends;
  const bool flag = is_given && config.flag(kFlag);
  if (flag == adds) return "";
  return "`add_prefix_space` is " + std::string(flag ? "true" : "false") +
         " in tokenizer_config.json, and the pre-tokenizer of tokenizer.json adds " + (adds ? "a" : "no") +
         " space before a text: versions of transformers follow one or the other, and both must be the same";
}

}  // namespace

std::string flags_refusal(const std::string& folder, const Tokenizer& tokenizer) {
  const std::string path = folder + "/tokenizer_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  const ConfigJson config = ConfigJson::read(path);
  const std::string class_name = class_of(folder, config);
  std::string refusal = template_refusal(folder, config, class_name, tokenizer);
  return refusal.empty() ? prefix_space_refusal(config, class_name, tokenizer) : refusal;
}

}  // namespace sink
