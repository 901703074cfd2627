// The tokenizer of a model of another program.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/data/tokenizer/gguf_vocabulary.h"
#include "engine/io/printable.h"
#include "model/open/config_json.h"
#include "model/open/open_model.h"
#include "model/open/special_tokens.h"

namespace sink {
namespace {

GgufVocabulary vocabulary_of(const WeightFile& file) {
  GgufVocabulary vocabulary;
  auto key = [&](const char* name) { return file.find_metadata(std::string("tokenizer.ggml.") + name); };
  auto texts = [&](const char* name, std::vector<std::string>& to) {
    if (const MetadataValue* value = key(name)) {
      const std::vector<std::string_view> views = value->texts();
      to.assign(views.begin(), views.end());
    }
  };
  if (const MetadataValue* value = key("model")) vocabulary.model = value->text();
  if (const MetadataValue* value = key("pre")) vocabulary.pre = value->text();
  texts("tokens", vocabulary.tokens);
  texts("merges", vocabulary.merges);
  if (const MetadataValue* value = key("scores"))
    for (double score : value->reals()) vocabulary.scores.push_back(static_cast<float>(score));
  if (const MetadataValue* value = key("token_type"))
    for (std::int64_t type : value->integers()) vocabulary.token_types.push_back(static_cast<std::int32_t>(type));
  auto integer = [&](const char* name, std::optional<std::int64_t>& to) {
    if (const MetadataValue* value = key(name)) to = value->integer();
  };
  auto flag = [&](const char* name, std::optional<bool>& to) {
    if (const MetadataValue* value = key(name)) to = value->boolean();
  };
  integer("bos_token_id", vocabulary.bos_token_id);
  integer("eos_token_id", vocabulary.eos_token_id);
  flag("add_bos_token", vocabulary.add_bos_token);
  flag("add_eos_token", vocabulary.add_eos_token);
  flag("add_space_prefix", vocabulary.add_space_prefix);
  flag("remove_extra_whitespaces", vocabulary.remove_extra_whitespaces);
  if (const MetadataValue* value = file.find_metadata("general.name")) {
    std::string name(value->text());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    vocabulary.is_phi3 = name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos;
  }
  return vocabulary;
}

bool is_gguf(const OpenModel& model) { return model.file->format() == "GGUF"; }

// The pre-tokenizer of a GGUF file that is not computed here; none if it is.
std::optional<std::string> unknown_pre_tokenizer(const WeightFile& file) {
  const MetadataValue* model = file.find_metadata("tokenizer.ggml.model");
  if (!model || model->text() != "gpt2") return std::nullopt;
  const MetadataValue* value = file.find_metadata("tokenizer.ggml.pre");
  const std::string pre(value ? value->text() : "");
  return knows_pre_tokenizer(pre) ? std::nullopt : std::optional(pre);
}

// The token whose text is `key` of tokenizer_config.json, or `content` of that object; -1: none.
std::int64_t token_by_text(const ConfigJson& json, const char* key, const Tokenizer& tokenizer) {
  if (!json.has(key)) return -1;
  const std::vector<std::int32_t> ids =
      tokenizer.encode(json.is_object(key) ? json.object(key).text("content") : json.text(key));
  return ids.size() == 1 ? ids[0] : -1;
}

std::int64_t hugging_face_prefix(const OpenModel& model, const Tokenizer& tokenizer) {
  const std::string path = model.path + "/tokenizer_config.json";
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    const ConfigJson json = ConfigJson::read(path);
    for (const char* key : {"bos_token", "eos_token"})
      if (const std::int64_t id = token_by_text(json, key, tokenizer); id >= 0) return id;
  }
  return model.config.begin_token;
}

// As transformers: generation_config.json counts first. The config.json of a model of images and text has another one
// inside.
std::vector<std::int64_t> hugging_face_end_tokens(const std::string& folder) {
  constexpr const char* kKey = "eos_token_id";
  std::vector<ConfigJson> files;
  std::error_code ignored;
  for (const char* name : {"/generation_config.json", "/config.json"})
    if (std::filesystem::exists(folder + name, ignored)) files.push_back(ConfigJson::read(folder + name));
  if (files.back().is_object("text_config")) files.push_back(files.back().object("text_config"));
  for (const ConfigJson& file : files)
    if (file.has(kKey))
      return file.json().at(kKey).is_array() ? file.integers(kKey) : std::vector<std::int64_t>{file.integer(kKey)};
  return {};
}

void require_readable(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0)
    throw Error("cannot open " + printable(path) + ": " + std::strerror(errno) + "; expected a tokenizer",
                Exit::bad_input);
}

// Why other files of a Hugging Face folder read a text in another way than its tokenizer; empty: they do not.
std::string refusal_of_folder(const OpenModel& model, const Tokenizer& tokenizer) {
  if (is_gguf(model) || model.config.files == ModelFiles::llama2c) return "";
  std::error_code ignored;
  const std::filesystem::path folder(model.path);
  const bool has_json = std::filesystem::exists(folder / "tokenizer.json", ignored);
  if (!has_json && !std::filesystem::exists(folder / "vocab.json", ignored)) return "";
  std::string refusal = special_tokens_refusal(model.path, tokenizer, !has_json);
  return refusal.empty() && has_json ? flags_refusal(model.path, tokenizer) : refusal;
}

// A bad tokenizer of a model means a damaged model; elsewhere it would be bad input.
template <class Read>
Tokenizer read_of_model(Read&& read) {
  try {
    return Tokenizer(read());
  } catch (const Error& error) {
    if (error.code != Exit::bad_input) throw;
    throw Error(error.what(), Exit::corrupt_checkpoint);
  }
}

}  // namespace

std::optional<Tokenizer> tokenizer_of(const OpenModel& model) {
  if (is_gguf(model)) {
    if (!model.file->find_metadata("tokenizer.ggml.model") || unknown_pre_tokenizer(*model.file)) return std::nullopt;
    return read_of_model([&] { return gguf_model(vocabulary_of(*model.file), model.path); });
  }
  const std::filesystem::path path(model.path);
  const bool is_file = model.config.files == ModelFiles::llama2c;
  const std::string by_size =
      "tok" + std::to_string(model.config.sizes.vocabulary) + ".bin";  // named like llama2.c does
  for (const std::string& name :
       {std::string("tokenizer.json"), std::string("vocab.json"), std::string("tokenizer.bin"), by_size}) {
    const std::filesystem::path candidate = (is_file ? path.parent_path() : path) / name;
    std::error_code ignored;
    if (!std::filesystem::exists(candidate, ignored)) continue;
    if (!std::filesystem::is_regular_file(candidate, ignored))
      throw Error(candidate.string() + " is not a file; expected a tokenizer", Exit::bad_input);
    require_readable(candidate.string());
    Tokenizer tokenizer = read_of_model([&] { return Tokenizer::load(candidate.string()); });
    const std::string folder = candidate.parent_path().string();
    if (name == "vocab.json") check_vocabulary_folder(folder, *model.config.origin, tokenizer);
    if (name == "tokenizer.json" && !is_file) check_special_tokens(folder, tokenizer);
    return tokenizer;
  }
  return std::nullopt;
}

std::string text_refusal(const OpenModel& model, const std::optional<Tokenizer>& tokenizer) {
  if (tokenizer) {
    const std::size_t before = tokenizer->begin_tokens().size(), after = tokenizer->end_tokens().size();
    if (before <= 1 && after == 0) return refusal_of_folder(model, *tokenizer);
    return "its template puts " + counted(static_cast<std::int64_t>(before + after), "token") +
           " around a text, and at most one, before it, is supported";
  }
  if (!is_gguf(model)) return "";
  const std::optional<std::string> pre = unknown_pre_tokenizer(*model.file);
  return pre ? "its pre-tokenizer (`tokenizer.ggml.pre` is " + in_quotes(*pre) + ") is not computed here" : "";
}

std::string text_note(const OpenModel& model) {
  if (!is_gguf(model)) return "";
  const MetadataValue* type = model.file->find_metadata("tokenizer.ggml.model");
  const MetadataValue* pre = model.file->find_metadata("tokenizer.ggml.pre");
  if (!type || type->text() != "gpt2" || (pre && !pre->text().empty())) return "";
  return "the file does not name its pre-tokenizer (`tokenizer.ggml.pre`), so texts are cut as llama.cpp's `default`, "
         "which the model may not be trained with";
}

std::string begin_rule(const OpenModel& model) {
  if (model.config.files == ModelFiles::llama2c) return kLlama2cBeginRule;
  if (!is_gguf(model)) {
    std::error_code ignored;
    const bool has_json = std::filesystem::exists(std::filesystem::path(model.path) / "tokenizer.json", ignored);
    return has_json ? "the post-processor of tokenizer.json" : "the family's rule with vocab.json and merges.txt";
  }
  const MetadataValue* value = model.file->find_metadata("tokenizer.ggml.add_bos_token");
  if (!value) return "the default of a GGUF file without add_bos_token";
  return std::string("tokenizer.ggml.add_bos_token = ") + (value->boolean() ? "true" : "false");
}

std::optional<std::int32_t> prefix_token(const OpenModel& model, const Tokenizer& tokenizer) {
  std::int64_t id = -1;
  if (is_gguf(model)) {
    if (const MetadataValue* value = model.file->find_metadata("tokenizer.ggml.bos_token_id")) id = value->integer();
  } else if (model.config.files != ModelFiles::llama2c) {
    id = hugging_face_prefix(model, tokenizer);
  }
  if (id < 0 || id >= model.config.sizes.vocabulary) return std::nullopt;
  return static_cast<std::int32_t>(id);
}

std::vector<std::int32_t> end_tokens(const OpenModel& model) {
  std::vector<std::int64_t> given;
  if (is_gguf(model)) {
    for (const char* key : {"eos", "eot", "eom", "fim_pad", "fim_rep", "fim_sep"})
      if (const MetadataValue* value = model.file->find_metadata("tokenizer.ggml." + std::string(key) + "_token_id"))
        given.push_back(value->integer());
    if (const MetadataValue* tokens = model.file->find_metadata("tokenizer.ggml.tokens")) {
      const std::vector<std::int64_t> named = gguf_end_tokens(tokens->texts());
      given.insert(given.end(), named.begin(), named.end());
    }
  } else if (model.config.files != ModelFiles::llama2c) {
    given = hugging_face_end_tokens(model.path);
  }
  std::vector<std::int32_t> ids;
  for (const std::int64_t id : given)
    if (id >= 0 && id < model.config.sizes.vocabulary && std::ranges::find(ids, id) == ids.end())
      ids.push_back(static_cast<std::int32_t>(id));
  return ids;
}

}  // namespace sink
