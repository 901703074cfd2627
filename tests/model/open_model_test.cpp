// Models of other programs, read in place, against the logits of Hugging Face's transformers in float64
// (tests/golden/open/make_golden.py).
#include "model/open/open_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "engine/io/file.h"
#include "engine/io/weights/safetensors_writer.h"
#include "engine/io/weights/weight_file.h"
#include "model/key_value_cache.h"
#include "model/model_checkpoint.h"
#include "tests/model/open_golden.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "tests/support/weight_bytes.h"

using namespace sink;
using namespace sink::test;

TEST_CASE("open models: the logits of each family are those of transformers, as numbers and in place") {
  for (const auto& [name, family] : golden_models())
    for (const std::string& path : {kModels + name, kModels + name + ".gguf", kModels + name + ".bin"}) {
      const Ablation* program = program_of(family);
      if (!program || !std::filesystem::exists(path)) continue;
      CAPTURE(path);
      const Golden golden(name);
      const OpenModel open = open_model(path);
      CHECK(open.config.family == family);
      // A router that reads rounded values sometimes chooses other experts: transformers in bf16 is off by 0.18.
      const double narrow = open.config.sizes.experts > 0 ? 0.25 : 0.1;
      for (auto [type, tolerance] : {std::pair{DType::F64, 1e-5}, {DType::F32, 1e-5}, {DType::BF16, narrow}}) {
        CAPTURE(name_of(type));
        auto model = open.load(*program, type);
        CHECK(relative_difference(model->logits(golden.tokens_BT).to(DType::F64), golden.logits_BTV) < tolerance);
        int stored = 0;
        for (const auto& parameter : model->parameters()) stored += parameter->stored() != nullptr;
        CHECK((stored > 0) == (type != DType::F64));
      }
    }
}

TEST_CASE("open models: what a family says of its policies is so") {
  for (const Family& family : families()) {
    CAPTURE(family.name);
    const std::string policies = policies_of_family(family.ablation);
    CHECK(family_of_policies(policies) == family.ablation);
    CHECK(family.layer_norm == contains(policies, "norm=LayerNorm"));
    CHECK(family.rotary == contains(policies, "Rotary"));
    CHECK((family.scaling == "llama3") == contains(policies, "Llama3Rotary"));
    CHECK((family.scaling == "yarn") == contains(policies, "YarnRotary"));
    CHECK(family.experts == contains(policies, "Experts"));
  }
}

TEST_CASE("open models: another family's program refuses one, naming the program that takes it") {
  check_refused([] { open_model(kModels + "gpt2").load(ablation_named("baseline"), DType::F32); }, {"eval_gpt2"},
                Exit::usage);
  CHECK_NOTHROW(open_model(kModels + "llama").load(ablation_named("baseline"), DType::F32));  // of the same policies
}

namespace {

// A copy of a model's folder with `from` in its config.json replaced.
std::string edited(const TemporaryFolder& folder, const std::string& name, const std::string& from,
                   const std::string& to) {
  const std::string copy = folder.path + "/" + name;
  std::filesystem::remove_all(copy);
  std::filesystem::copy(kModels + name, copy);
  std::string config = read_file("test", copy + "/config.json");
  const std::size_t at = config.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  write_file_atomically(copy + "/config.json", config.replace(at, from.size(), to));
  return copy;
}

}  // namespace

// More keys of each family are refused by the grids of config_grid_test.
TEST_CASE("open models: what no family computes, and what does not fit its tensors, is refused by name") {
  const TemporaryFolder folder;
  auto refused = [&](const char* name, const char* family, const std::string& from, const std::string& to,
                     std::initializer_list<std::string> parts) {
    CAPTURE(to);
    const Ablation* program = program_of(family);
    if (!program) return;
    const std::string path = edited(folder, name, from, to);
    check_refused([&] { open_model(path).load(*program, DType::F32); }, parts, Exit::corrupt_checkpoint);
  };
  refused("llama", "llama", "\"llama\"", "\"mamba\"", {"config.json", "architecture `mamba`", "gpt2", "gemma3"});
  for (auto [other, why] :
       {std::pair{"hunyuan_v1_dense", "is not computed here: it has norms of queries and keys after they rotate"},
        {"phimoe", "is not computed here: it has another mixture of experts; gpt2"},
        {"arcee", "has no family here; gpt2"},
        {"llamas", "is not known here; gpt2"}})
    refused("llama", "llama", "\"llama\"", std::string("\"") + other + "\"",
            {std::string("the architecture `") + other + "` " + why, "olmo2"});
  refused("llama", "llama", "\"silu\"", "\"relu\"", {"`hidden_act` must be \"silu\"", "got \"relu\""});
  refused("llama", "llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
          {"layers.2.input_layernorm.weight` is missing"});
  refused("llama", "llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", {"no place for", "layers.1."});
  refused("llama", "llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1e99", {"must be a whole number"});
  refused("llama", "llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 900000000000",
          {"`num_hidden_layers`", "1024"});
  refused("llama", "llama", "\"num_hidden_layers\": 2", "\"n\": 2", {"the key `n` is not known for `llama`"});
  refused("llama", "llama", "\"num_hidden_layers\": 2,", "", {"layers.2.input_layernorm.weight` is missing"});
  refused("llama", "llama", "\"hidden_size\": 32", "\"hidden_size\": 64", {"embed_tokens", "(40, 64)", "(40, 32)"});
  refused("llama", "llama", "\"hidden_size\": 32", "\"hidden_size\": -32", {"`hidden_size`", "-32"});
  refused("llama", "llama", "\"num_attention_heads\": 4", "\"num_attention_heads\": 0", {"`num_attention_heads`", "0"});
  refused("llama", "llama", "\"vocab_size\": 40", "\"vocab_size\": 41",
          {"(41, 32) by `vocab_size` and `hidden_size` of config.json", "(40, 32)"});
  refused("gemma3", "gemma3", "\"full_attention\"\n", "\"sliding_attention\",\n\"full_attention\",\"full_attention\"\n",
          {"`layer_types`", "3 layers, got 5"});
  refused("gpt_oss", "gpt_oss", "\"num_local_experts\": 5", "\"num_local_experts\": 3",
          {"router.weight", "(3, 32)", "(5, 32)"});
  refused("gpt_oss", "gpt_oss", "\"num_local_experts\": 5", "\"num_local_experts\": 0", {"`num_local_experts`"});
  refused("gpt_oss", "gpt_oss", "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9", {"9 of 5"});
  refused("gpt_oss", "gpt_oss", "\"intermediate_size\": 40", "\"intermediate_size\": 20",
          {"gate_up_proj", "(5, 32, 80)"});
  refused("qwen3", "qwen3", "{", "[{", {"not JSON"});
  refused("qwen2", "qwen2", "\"model_type\": \"qwen2\"", "\"model_type\": \"deepseek_v3\", \"head_dim\": 0",
          {"the architecture `deepseek_v3` is not computed here: it has latent attention"});
  refused("falcon", "falcon", "\"rope_type\": \"default\"",
          "\"rope_type\": \"linear\", \"factor\": 2.0, \"partial_rotary_factor\": 0.5",
          {"`partial_rotary_factor` must be 1"});
  refused("mistral", "llama", "\"head_dim\": 10", "\"head_dim\": 10, \"layer_types\": [\"sliding_attention\"]",
          {"`layer_types` must have one type for each of 2 layers, got 1"});
  refused("llama", "llama", "\"bos_token_id\": 1", "\"bos_token_id\": [1]", {"`bos_token_id` must be a whole number"});
}

namespace {

std::string gguf_file(const std::string& name) { return read_file("test", kModels + name + ".gguf"); }

// A GGUF file that a test changes.
struct ChangedFile {
  const TemporaryFolder folder;
  const std::string path = folder / "changed.gguf";

  OpenModel open(const std::string& bytes) const {
    write_file_atomically(path, bytes);
    return open_model(path);
  }
  Sizes sizes(const std::string& bytes) const { return open(bytes).config.sizes; }
  // Opened, or loaded by a program.
  void refused(const std::string& bytes, std::initializer_list<std::string> parts,
               const Ablation* program = nullptr) const {
    check_refused(
        [&] {
          const OpenModel model = open(bytes);
          if (program) model.load(*program, DType::F32);
        },
        parts, Exit::corrupt_checkpoint);
  }
};

std::string renamed(std::string bytes, const std::string& from, const std::string& to) {
  const std::size_t at = bytes.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return bytes.replace(at, from.size(), to);
}
std::string renamed_everywhere(std::string bytes, const std::string& from, const std::string& to) {
  REQUIRE(from.size() == to.size());
  for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos;) bytes.replace(at, from.size(), to);
  return bytes;
}

// A GGUF file with the value of a key replaced, of as many bytes.
template <class T>
std::string with_gguf_value(const std::string& bytes, const std::string& key, T value) {
  std::string edited = bytes;
  const std::size_t at = edited.find(key);
  REQUIRE_MESSAGE(at != std::string::npos, key);
  std::memcpy(edited.data() + at + key.size() + 4, &value, sizeof value);  // after its type
  return edited;
}

std::string raw(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), &value, bytes);
  return text;
}

// A GGUF file with one more key of this type, and a text that keeps the alignment of its tensors.
std::string with_gguf_entry(const std::string& bytes, const std::string& key, std::uint32_t type,
                            const std::string& value) {
  constexpr std::size_t kCount = 16, kFirst = 24, kAlignment = 32;
  const std::string pad = "general.pad." + key;
  std::string added = raw(key.size(), 8) + key + raw(type, 4) + value + raw(pad.size(), 8) + pad + raw(8, 4);
  const std::size_t length = kAlignment - (added.size() + 8) % kAlignment;
  added += raw(length, 8) + std::string(length, ' ');
  std::uint64_t count;
  std::memcpy(&count, bytes.data() + kCount, sizeof count);
  return bytes.substr(0, kCount) + raw(count + 2, 8) + added + bytes.substr(kFirst);
}
std::string with_gguf_key(const std::string& bytes, const std::string& key, std::uint32_t value) {
  return with_gguf_entry(bytes, key, 4, raw_bytes(value));
}
std::string with_gguf_key(const std::string& bytes, const std::string& key, float value) {
  return with_gguf_entry(bytes, key, 6, raw_bytes(value));
}
std::string with_gguf_key(const std::string& bytes, const std::string& key, const std::string& text) {
  return with_gguf_entry(bytes, key, 8, gguf_text(text));
}

// A GGUF file of 40 tokens with a tokenizer of characters: <unk>, <s>, </s>, the letters, U+2581, and special tokens.
std::string with_gguf_tokenizer(const std::string& bytes) {
  constexpr int kTokens = 40;
  std::string tokens, scores, types;
  for (int id = 0; id < kTokens; ++id) {
    const bool letter = id > 2 && id < 29;
    tokens += gguf_text(id == 0    ? "<unk>"
                        : id == 1  ? "<s>"
                        : id == 2  ? "</s>"
                        : letter   ? std::string(1, static_cast<char>('a' + id - 3))
                        : id == 29 ? "\u2581"
                                   : "<" + std::to_string(id) + ">");
    scores += raw_bytes(0.0f);
    types += raw_bytes(std::int32_t{id == 0 ? 2 : letter || id == 29 ? 1 : 3});
  }
  auto list = [](std::uint32_t type, const std::string& values) { return raw(type, 4) + raw(kTokens, 8) + values; };
  std::string with = with_gguf_key(bytes, "tokenizer.ggml.model", "llama");
  with = with_gguf_entry(with, "tokenizer.ggml.tokens", 9, list(8, tokens));
  with = with_gguf_entry(with, "tokenizer.ggml.scores", 9, list(6, scores));
  return with_gguf_entry(with, "tokenizer.ggml.token_type", 9, list(5, types));
}

}  // namespace

TEST_CASE(
    "open models: the tokenizer of a GGUF file is read whatever its tensors are called; Phi-3's takes white space") {
  const ChangedFile file;
  auto ids = [&](const std::string& bytes, const std::string& text) {
    const OpenModel open = file.open(bytes);
    const std::optional<Tokenizer> tokenizer = tokenizer_of(open);
    REQUIRE(tokenizer.has_value());
    CHECK(text_refusal(open, tokenizer).empty());
    CHECK(begin_rule(open) == "the default of a GGUF file without add_bos_token");
    CHECK(tokenizer->begin_tokens() == std::vector<std::int32_t>{1});
    return tokenizer->encode(text);
  };
  using Ids = std::vector<std::int32_t>;
  for (const char* name : {"llama", "phi3", "longrope", "falcon", "falcon_1_norm", "mixtral", "mixtral_older"}) {
    CAPTURE(name);
    const std::string bytes = with_gguf_tokenizer(gguf_file(name));
    CHECK(ids(bytes, "a</s> b<s> c") == Ids{29, 3, 2, 29, 29, 4, 1, 29, 29, 5});
    const std::string phi = with_gguf_key(bytes, "general.name", "My Phi-3 Mini");
    CHECK(ids(phi, "a</s> b<s> c") == Ids{29, 3, 2, 29, 4, 1, 29, 29, 5});
    const OpenModel of_phi = file.open(phi);
    CHECK(prefix_token(of_phi, tokenizer_of(of_phi).value()) == std::nullopt);
    const OpenModel of_seven = file.open(with_gguf_key(bytes, "tokenizer.ggml.bos_token_id", 7u));
    CHECK(prefix_token(of_seven, tokenizer_of(of_seven).value()) == 7);
  }
  const std::string falcon = with_gguf_key(gguf_file("falcon"), "tokenizer.ggml.model", "gpt2");
  const OpenModel open = file.open(with_gguf_key(falcon, "tokenizer.ggml.pre", "falcon"));
  CHECK_FALSE(tokenizer_of(open).has_value());
  CHECK(text_refusal(open, std::nullopt) ==
        "its pre-tokenizer (`tokenizer.ggml.pre` is `falcon`) is not computed here");
  CHECK(text_note(open).empty());
  CHECK(contains(text_note(file.open(falcon)), "does not name its pre-tokenizer (`tokenizer.ggml.pre`)"));
}

TEST_CASE("open models: texts end at the ids of config.json, generation_config.json or the metadata of a GGUF file") {
  const TemporaryFolder folder;
  using Ids = std::vector<std::int32_t>;
  auto ends = [&](const std::string& ids) {
    return end_tokens(open_model(edited(folder, "llama", "\"eos_token_id\": 2", "\"eos_token_id\": " + ids)));
  };
  CHECK(end_tokens(open_model(kModels + "llama")) == Ids{2});
  CHECK(ends("7") == Ids{7});
  CHECK(ends("[7, 3, 7]") == Ids{7, 3});
  CHECK(ends("null").empty());
  CHECK(ends("[40, -1, 39]") == Ids{39});  // of 40 tokens
  check_refused([&] { ends("\"</s>\""); }, {"config.json", "`eos_token_id`"}, Exit::corrupt_checkpoint);
  // transformers takes generation_config.json, and the other file only without it.
  ends("7");
  const std::string path = folder.path + "/llama", generation = path + "/generation_config.json";
  write_file_atomically(generation, R"({"eos_token_id": [5, 6], "temperature": 0.6})");
  CHECK(end_tokens(open_model(path)) == Ids{5, 6});
  write_file_atomically(generation, R"({"temperature": 0.6})");
  CHECK(end_tokens(open_model(path)) == Ids{7});
  write_file_atomically(generation, "[]");
  check_refused([&] { end_tokens(open_model(path)); }, {"generation_config.json"}, Exit::corrupt_checkpoint);

  const ChangedFile file;
  std::string bytes = gguf_file("llama");
  CHECK(end_tokens(open_model(kModels + "llama.gguf")).empty());
  bytes = with_gguf_key(with_gguf_key(bytes, "tokenizer.ggml.eos_token_id", 4u), "tokenizer.ggml.eot_token_id", 9u);
  CHECK(end_tokens(file.open(with_gguf_key(bytes, "tokenizer.ggml.eom_token_id", 41u))) == Ids{4, 9});
  // And tokens by their names, here </s>.
  std::string named = with_gguf_tokenizer(gguf_file("llama"));
  CHECK(end_tokens(file.open(named)) == Ids{2});
  named = with_gguf_key(with_gguf_key(named, "tokenizer.ggml.eos_token_id", 7u), "tokenizer.ggml.fim_pad_token_id", 8u);
  CHECK(end_tokens(file.open(named)) == Ids{7, 8, 2});
  CHECK(end_tokens(open_model(kModels + "llama2c.bin")).empty());
}

TEST_CASE("open models: sizes that no model has, and 0 where it is no default, are refused by name: GGUF") {
  const ChangedFile file;
  const std::string llama = gguf_file("llama");
  const std::string base = "llama.rope.freq_base", epsilon = "llama.attention.layer_norm_rms_epsilon";
  const std::string key_length = "llama.attention.key_length", kv_heads = "llama.attention.head_count_kv";
  for (float value : {0.0f, -1.0f, 1e-45f, 0.5f, 1e30f, NAN, INFINITY}) {
    CAPTURE(value);
    file.refused(with_gguf_value(llama, base, value), {value <= 0 || value != value ? base : "`rope.freq_base`"});
    file.refused(with_gguf_value(llama, epsilon, value),
                 {value <= 0 || value != value ? epsilon : "`attention.layer_norm_rms_epsilon`"});
  }
  for (const std::string& key : {key_length, kv_heads})
    file.refused(with_gguf_value(llama, key, 0), {key, "above 0, got 0"});
  // Another key of as many letters, and of one more.
  file.refused(renamed(llama, key_length, "llama.attention.kez_length"), {"llama.attention.kez_length", "not known"});
  file.refused(renamed(llama, epsilon, "llama.attention.layer_norm_rms_epsilom"),
               {"llama.attention.layer_norm_rms_epsilom"});
  // Rotations of a part of a head, and a vocabulary of another size than the embedding's.
  file.refused(
      with_gguf_value(renamed(llama, key_length, "llama.rope.dimension_count"), "llama.rope.dimension_count", 4),
      {"rotations of some", "got 4"});
  if (program_of("gpt_neox")) {
    const std::string count = "gptneox.rope.dimension_count";
    file.refused(with_gguf_value(gguf_file("gpt_neox"), count, 0), {count, "above 0"});
  }
  if (program_of("gpt_oss"))
    file.refused(with_gguf_value(gguf_file("gpt_oss_gguf"), "gpt-oss.rope.freq_base", 1.0f),
                 {"YaRN", "above 1, got 1"});
  const std::string swa = "gemma3.rope.freq_base_swa";
  file.refused(with_gguf_value(gguf_file("gemma3_gguf"), swa, 0.0f), {swa, "above 0"});
  file.refused(with_gguf_value(gguf_file("gemma3_gguf"), swa, 1e-30f), {"`rope.freq_base_swa`"});
}

TEST_CASE(
    "open models: a GGUF file of Granite without positions or with factors that no model has is refused by name") {
  const ChangedFile file;
  const std::string sound = gguf_file("granite");
  file.refused(with_gguf_value(sound, "granite.rope.scaling.finetuned", false), {"Granite without rotary positions"});
  for (const char* key :
       {"granite.attention.scale", "granite.embedding_scale", "granite.residual_scale", "granite.logit_scale"})
    file.refused(with_gguf_value(sound, key, 0.0f), {key, "above 0"});
  file.refused(with_gguf_value(sound, "granite.logit_scale", 1e-30f), {"factor of logits"});
  file.refused(with_gguf_value(sound, "granite.residual_scale", INFINITY), {"factor of outputs of sublayers"});
  file.refused(renamed_everywhere(sound, "granite", "qwenxxx"), {"`qwenxxx`", "granite"});
}

TEST_CASE("open models: a GGUF file of Phi-3: without a window where it says 0, with both lists of longrope or none") {
  const ChangedFile file;
  CHECK(open_model(kModels + "phi3.gguf").config.sizes.window == 5);
  CHECK(file.sizes(with_gguf_value(gguf_file("phi3"), "phi3.attention.sliding_window", 0)).window == 0);
  const std::string sound = gguf_file("longrope"), factor = "phi3.rope.scaling.attn_factor";
  const Sizes sizes = open_model(kModels + "longrope.gguf").config.sizes;
  CHECK(sizes.long_rope.short_E == std::vector<double>{1, 1.25, 1.5});
  CHECK(sizes.long_rope.long_E == std::vector<double>{1.5, 2.5, 9});
  CHECK(sizes.long_rope.length == doctest::Approx(std::sqrt(1 + std::log(2.0) / std::log(16.0))).epsilon(1e-7));
  CHECK(sizes.rotary_context == 16);
  file.refused(renamed(sound, "rope_factors_short", "rope_factors_shirt"), {"rope_factors_short.weight"});
  file.refused(
      renamed(renamed(sound, "rope_factors_short", "rope_factors_shirt"), "rope_factors_long", "rope_factors_lung"),
      {factor, "longrope"});
  file.refused(with_gguf_value(sound, factor, 0.0f), {"attention factor"});
  file.refused(with_gguf_value(sound, "phi3.rope.dimension_count", 4), {"rope_factors_short.weight", "every two", "4"});
  file.refused(renamed_everywhere(sound, "phi3", "gpt2"), {"rope_factors_long.weight", "only computed for phi3"});
}

TEST_CASE("open models: a rotary factor in a GGUF file of Gemma 2 counts in all layers") {
  const ChangedFile file;
  const std::string factor = "gemma2.rope.scaling.factor";
  const std::string linear =
      with_gguf_key(with_gguf_key(gguf_file("gemma2_gguf"), "gemma2.rope.scaling.type", "linear"), factor, 4.0f);
  const Sizes sizes = file.sizes(linear);
  CHECK(sizes.rotary_factor == 4);
  CHECK(sizes.rotary_local_base == 0);  // without the factor, as in Gemma 3
  const std::string local = "gemma2.rope.freq_base_swa";
  const float base = static_cast<float>(sizes.rotary_base);
  CHECK(file.sizes(with_gguf_key(linear, local, base)).rotary_local_base == 0);
  file.refused(with_gguf_key(linear, local, 2 * base), {"`" + local + "`", factor + "` 1, got 4"});
}

TEST_CASE(
    "open models: a rotary factor in a GGUF file is linear without a type, nothing with none, refused with longrope") {
  const ChangedFile file;
  const std::string type = "llama.rope.scaling.type";
  const std::string factor = with_gguf_key(gguf_file("llama"), "llama.rope.scaling.factor", 4.0f);
  CHECK(file.sizes(factor).rotary_factor == 4);
  CHECK(file.sizes(with_gguf_key(factor, type, "linear")).rotary_factor == 4);
  CHECK(file.sizes(with_gguf_key(factor, type, "none")).rotary_factor == 0);
  const std::string longrope = with_gguf_key(gguf_file("longrope"), "phi3.rope.scaling.type", "longrope");
  CHECK(file.sizes(longrope).rotary_factor == 0);
  file.refused(with_gguf_key(longrope, "phi3.rope.scaling.factor", 4.0f),
               {"`phi3.rope.scaling.factor` must be 1 with longrope, got 4"});
}

TEST_CASE("open models: with LongRoPE a text that becomes long is refused, and one that is long is continued") {
  const Ablation* program = program_of("llama");
  if (!program) return;
  const Golden golden("longrope");
  const auto model = open_model(kModels + "longrope").load(*program, DType::F64);
  const std::int64_t T = golden.tokens_BT.dim(1), V = golden.logits_BTV.dim(2), short_text = 16;
  auto tokens = [&](std::int64_t first, std::int64_t count) { return golden.tokens_BT.slice(first, {1, count}); };
  KeyValueCache at_once(T), in_parts(T);
  model->logits(tokens(0, short_text + 1), {.cache = &at_once});
  for (std::int64_t t = short_text + 1; t < T; ++t) {
    const Tensor logits = model->logits(tokens(t, 1), {.cache = &at_once});
    CHECK(relative_difference(logits, golden.logits_BTV.slice(t * V, {1, 1, V})) < 1e-5);
  }
  model->logits(tokens(0, short_text), {.cache = &in_parts});
  check_refused([&] { model->logits(tokens(short_text, 1), {.cache = &in_parts}); },
                {"LongRoPE", "more than 16 tokens", "the first 16 were read before"}, Exit::bad_input);
  DocumentPlaces documents;
  documents.positions_BT = Tensor::table<std::int32_t>(1, T, [](std::int64_t, std::int64_t t) { return t % 8; });
  check_refused([&] { model->logits(tokens(0, T), {.documents = documents}); }, {"--reset-positions", "at most 16"},
                Exit::bad_input);
  Checkpoint checkpoint;
  check_refused([&] { store_model(*program, *model, checkpoint); }, {"no place for the factors of LongRoPE"},
                Exit::usage);
}

TEST_CASE(
    "open models: a GGUF file with keys of another architecture, of longer vectors or of experts is refused by name") {
  const ChangedFile file;
  for (auto [name, key, why] :
       {std::tuple{"olmo2", "olmo2.rope.scaling.attn_factor",
                   "the key `olmo2.rope.scaling.attn_factor` is not known here"},
        {"qwen2", "qwen2.expert_count",
         "a mixture of experts is only computed here for llama (mixtral), granitemoe, qwen2moe, qwen3moe, olmoe and "
         "gpt-oss"},
        {"llama", "llama.expert_count", "`llama.expert_used_count`"},
        {"llama", "llama.residual_scale", "the key `llama.residual_scale` is not known here"},
        {"smollm3", "smollm3.logit_scale", "the key `smollm3.logit_scale` is not known here"},
        {"qwen2", "qwen2.attention.sliding_window",
         "a window is only computed for cohere2, llama, phi3, olmo2, exaone4, gpt-oss"},
        {"qwen3", "qwen3.attention.sliding_window", "`qwen3.attention.sliding_window` is 4"},
        {"falcon", "falcon.attention.sliding_window", "a window is only computed"},
        {"gpt_neox", "gptneox.attention.sliding_window", "a window is only computed"},
        {"granite", "granite.attention.sliding_window", "a window is only computed"},
        {"smollm3", "smollm3.attention.sliding_window", "a window is only computed"},
        {"llama", "llama.attention.sliding_window_pattern",
         "is only computed for cohere2, olmo2, exaone4, gpt-oss, gemma2 and gemma3"},
        {"qwen2", "qwen2.attention.sliding_window_pattern",
         "is only computed for cohere2, olmo2, exaone4, gpt-oss, gemma2 and gemma3"}})
    file.refused(with_gguf_key(gguf_file(name), key, 4u), {why});
  // llama.cpp rotates the blocks with a window by this base, in gpt-oss too.
  for (auto [name, architecture] :
       {std::pair{"gpt_oss_gguf", "gpt-oss"}, {"llama", "llama"}, {"phi3", "phi3"}, {"gpt2", "gpt2"}}) {
    CAPTURE(name);
    const std::string key = std::string(architecture) + ".rope.freq_base_swa";
    const WeightFile weights = open_weights(kModels + name + ".gguf");
    const MetadataValue* given = weights.find_metadata(std::string(architecture) + ".rope.freq_base");
    const auto base = static_cast<float>(given ? given->real() : 10000);
    file.refused(with_gguf_key(gguf_file(name), key, base + 1),
                 {"`" + key + "`", "only computed for gemma2 and gemma3"});
    CHECK(file.sizes(with_gguf_key(gguf_file(name), key, base)).rotary_local_base == 0);
  }
  CHECK(file.sizes(with_gguf_key(gguf_file("qwen2"), "qwen2.attention.sliding_window", 0u)).window == 0);
  file.refused(renamed(gguf_file("falcon"), "jploski", "another"), {"`falcon.tensor_data_layout`", "jploski"});
  file.refused(renamed(gguf_file("gemma3_gguf"), raw(6, 8) + "gemma3", raw(6, 8) + "phimoe"),
               {"`phimoe` is not computed here", "gptneox"});
  const std::string gemma2 = gguf_file("gemma2_gguf");
  CHECK(open_model(kModels + "gemma2_gguf.gguf").config.sizes.window == 5);
  for (auto [key, cap] : {std::pair{"gemma2.attn_logit_softcapping", "50"}, {"gemma2.final_logit_softcapping", "30"}})
    file.refused(with_gguf_value(gemma2, key, 20.0f), {key, std::string("must be ") + cap + ", got 20"});
}

TEST_CASE("open models: sizes that no model has, and 0 where it is no default, are refused by name: config.json") {
  const TemporaryFolder folder;
  auto refused = [&](const char* name, const std::string& from, const std::string& to,
                     std::initializer_list<std::string> parts) {
    CAPTURE(to);
    check_refused([&] { open_model(edited(folder, name, from, to)); }, parts, Exit::corrupt_checkpoint);
  };
  const std::string base = "\"rope_theta\": ", epsilon = "\"rms_norm_eps\": ";
  for (const char* value : {"0", "0.0", "-0.0", "-1", "1e-400"}) {
    refused("llama", base + "10000.0", base + value, {"`rope_theta` must be above 0"});
    refused("llama", epsilon + "1e-06", epsilon + value, {"`rms_norm_eps` must be above 0"});
  }
  for (const char* value : {"1e-45", "1e-300", "0.99", "1e13", "1e308"}) {
    refused("llama", base + "10000.0", base + value, {"`rope_theta` must be a number from 1 to"});
    refused("llama", epsilon + "1e-06", epsilon + value, {"`rms_norm_eps` must be a number from 1e-12 to 0.1"});
  }
  refused("llama", "\"head_dim\": 8", "\"head_dim\": 0", {"`head_dim` must be above 0, got 0"});
  refused("llama", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 0", {"`num_key_value_heads`", "got 0"});
  refused("gpt_neox", "\"partial_rotary_factor\": 0.25", "\"partial_rotary_factor\": 0", {"`partial_rotary_factor`"});
  refused("gpt_neox", "\"partial_rotary_factor\": 0.25", "\"partial_rotary_factor\": 0.001",
          {"`rotary_pct`", "at least 1 / 16", "got 0.001"});
  refused("gpt_neox", "\"partial_rotary_factor\": 0.25", "\"partial_rotary_factor\": 0.2",
          {"an even width of a head, or of its part that rotates, got 3 by `num_attention_heads`, `hidden_size` and "
           "`rotary_pct`"});
  refused("llama", "\"head_dim\": 8", "\"head_dim\": 7",
          {"an even width of a head, or of its part that rotates, got 7 by `num_attention_heads` and `head_dim`"});
  refused("gemma3", "\"rope_theta\": 10.0", "\"rope_theta\": 0.0", {"sliding_attention", "`rope_theta`"});
  refused("gemma3", "\"query_pre_attn_scalar\": 24", "\"query_pre_attn_scalar\": 1e300", {"`query_pre_attn_scalar`"});
  refused("llama3", "\"original_max_position_embeddings\": 16", "\"original_max_position_embeddings\": 0",
          {"`original_max_position_embeddings`"});
}

TEST_CASE("open models: the unembedding is the embedding where config.json says so, and its own tensor elsewhere") {
  const TemporaryFolder folder;
  const std::string is = "\"tie_word_embeddings\": true", is_not = "\"tie_word_embeddings\": false";
  auto refused = [&](const std::string& name, const std::string& from, const std::string& to,
                     std::initializer_list<std::string> parts) {
    CAPTURE(name);
    CAPTURE(to);
    if (const Ablation* program = program_of(name))
      check_refused([&] { open_model(edited(folder, name, from, to)).load(*program, DType::F32); }, parts,
                    Exit::corrupt_checkpoint);
  };
  for (const char* name : {"llama3", "gemma3"})  // without lm_head.weight
    refused(name, is, is_not, {"no `lm_head.weight`", "`tie_word_embeddings`", "backbone", "no logits"});
  refused("llama3", is + ",", "", {"no `lm_head.weight`"});  // not tied by LLaMA's class
  refused("llama", is_not, is, {"`lm_head.weight`", "`tie_word_embeddings`", "embed_tokens.weight"});
  refused("gpt_neox", is_not, is, {"`embed_out.weight`", "`tie_word_embeddings`", "embed_in.weight"});
  auto logits_of = [&](const std::string& name, const std::string& path, const std::string& family) {
    return open_model(path).load(*program_of(family), DType::F64)->logits(Golden(name).tokens_BT);
  };
  const Golden llama("llama");
  CHECK(relative_difference(logits_of("llama", edited(folder, "llama", is_not + ",", ""), "llama"), llama.logits_BTV) <
        1e-5);
  if (program_of("gemma3"))  // tied by its class
    CHECK(relative_difference(logits_of("gemma3", edited(folder, "gemma3", is + ",", ""), "gemma3"),
                              Golden("gemma3").logits_BTV) < 1e-5);
  // Some files have the embedding twice.
  if (!program_of("llama3")) return;
  const std::string twice = edited(folder, "llama3", is, is);
  const WeightFile sound = open_weights(kModels + "llama3");
  std::vector<const StoredTensor*> tensors;
  std::vector<SafetensorsWriter::Entry> entries;
  for (const StoredTensor& tensor : sound.tensors()) {
    tensors.push_back(&tensor);
    entries.push_back({tensor.name, tensor.type, tensor.shape});
  }
  tensors.push_back(&sound.tensor("model.embed_tokens.weight"));
  entries.push_back({"lm_head.weight", tensors.back()->type, tensors.back()->shape});
  SafetensorsWriter writer(twice + "/model.safetensors", entries);
  for (const StoredTensor* tensor : tensors) writer.write(tensor->data, tensor->bytes);
  writer.commit();
  CHECK(relative_difference(logits_of("llama3", twice, "llama3"), Golden("llama3").logits_BTV) < 1e-5);
}

TEST_CASE("open models: the text model of Gemma 3 with a vision tower, whose tensors are not read, with a note") {
  if (!program_of("gemma3")) return;
  const TemporaryFolder folder;
  const std::string text = read_file("test", kModels + "gemma3/config.json");
  const std::string whole = R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], )"
                            R"("vision_config": {"hidden_size": 4}, "mm_tokens_per_image": 4, "text_config": )" +
                            text + "}";
  using Rename = std::function<std::string(const std::string&)>;
  const Golden golden("gemma3");
  auto with_tower = [&](const std::string& name, const std::string& config, const Rename& renamed,
                        const std::string& tower) {
    copy_renamed("gemma3", folder / name, renamed,
                 {{tower + "vision_tower.vision_model.post_layernorm.weight", StoredType::F32, {4}},
                  {tower + "multi_modal_projector.mm_input_projection_weight", StoredType::F32, {4, 24}}});
    write_file_atomically(folder / (name + "/config.json"), config);
    return open_model(folder / name);
  };
  auto is_read = [&](const std::string& name, const Rename& renamed, const std::string& tower) {
    CAPTURE(name);
    const OpenModel model = with_tower(name, whole, renamed, tower);
    CHECK(
        model_note(model).ends_with("has 2 tensors of a vision tower, which are not read: the text model is computed"));
    const Tensor logits_BTV = model.load(*program_of("gemma3"), DType::F64)->logits(golden.tokens_BT);
    CHECK(relative_difference(logits_BTV, golden.logits_BTV) < 1e-5);
  };
  is_read(
      "published", [](const std::string& tensor) { return "language_model." + tensor; }, "");
  is_read(
      "of_transformers_5",
      [](const std::string& tensor) { return "model.language_model." + tensor.substr(std::strlen("model.")); },
      "model.");
  CHECK(model_note(open_model(kModels + "gemma3")) == "");
  const OpenModel of_text = with_tower(
      "text", text, [](const std::string& tensor) { return tensor; }, "");
  check_refused([&] { of_text.load(*program_of("gemma3"), DType::F32); }, {"no place for", "vision_tower."},
                Exit::corrupt_checkpoint);
}

TEST_CASE("open models: Qwen 3.5 with images and heads of later tokens is its text model") {
  if (!program_of("qwen3_5")) return;
  const TemporaryFolder folder;
  const std::string text = read_file("test", kModels + "qwen3_5/config.json");
  const std::vector<SafetensorsWriter::Entry> later{{"mtp.layers.0.mlp.up_proj.weight", StoredType::F32, {4, 24}}};
  const Golden golden("qwen3_5");
  auto check_read = [&](const std::string& name, const std::string& note) {
    const OpenModel model = open_model(folder / name);
    CHECK_MESSAGE(contains(model_note(model), note), model_note(model));
    const Tensor logits_BTV = model.load(*program_of("qwen3_5"), DType::F64)->logits(golden.tokens_BT);
    CHECK(relative_difference(logits_BTV, golden.logits_BTV) < 1e-5);
  };
  copy_renamed(
      "qwen3_5", folder / "text", [](const std::string& tensor) { return tensor; }, later);
  check_read("text", "has 1 tensor of heads that predict later tokens, which are not read");
  std::vector<SafetensorsWriter::Entry> more = later;
  more.push_back({"model.visual.patch_embed.proj.bias", StoredType::F32, {4}});
  copy_renamed(
      "qwen3_5", folder / "whole",
      [](const std::string& tensor) {
        return tensor.starts_with("model.") ? "model.language_model." + tensor.substr(6) : tensor;
      },
      more);
  write_file_atomically(folder / "whole/config.json",
                        R"({"model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"], )"
                        R"("vision_config": {"depth": 1}, "image_token_id": 7, "text_config": )" +
                            text + "}");
  check_read("whole", "has 1 tensor of a vision tower and 1 tensor of heads that predict later tokens, which are not");
}

TEST_CASE("open models: gpt-oss of today's converter, whose keys say what is computed, and layers by a list") {
  const ChangedFile file;
  const std::string sound = gguf_file("gpt_oss_gguf");
  const std::string fast = "gpt-oss.rope.scaling.yarn_beta_fast", slow = "gpt-oss.rope.scaling.yarn_beta_slow";
  const std::string pattern = "gpt-oss.attention.sliding_window_pattern";
  const std::string today = with_gguf_key(with_gguf_key(sound, fast, 32.0f), slow, 1.0f);
  const Sizes older = file.sizes(sound), newer = file.sizes(today);
  CHECK(newer.rotary_factor == older.rotary_factor);
  CHECK(newer.rotary_context == older.rotary_context);
  file.refused(with_gguf_key(sound, fast, 16.0f), {fast, "must be 32, got 16"});
  file.refused(with_gguf_key(sound, slow, 2.0f), {slow, "must be 1, got 2"});
  file.refused(with_gguf_key(sound, "gpt-oss.rope.scaling.yarn_ext_factor", 0.0f),
               {"yarn_ext_factor", "must be 1, got 0"});
  file.refused(with_gguf_key(sound, "gpt-oss.rope.scaling.yarn_attn_factor", 1.0f),
               {"yarn_attn_factor", "not known here"});

  CHECK(file.sizes(with_gguf_key(sound, pattern, 2u)).global_every == 2);
  auto listed = [&](const std::string& values) {
    return with_gguf_entry(sound, pattern, 9, raw(7, 4) + raw(values.size(), 8) + values);
  };
  const Sizes first = file.sizes(listed({'\0', '\1'}));
  CHECK(first.is_global(0));
  CHECK_FALSE(first.is_global(1));
  CHECK(file.sizes(listed({'\1', '\0'})).global_every == 2);
  CHECK(file.sizes(listed({'\0', '\0'})).window == 0);
  file.refused(listed({'\0'}), {pattern, "each of 2 layers, got 1"});
}

TEST_CASE("open models: matrices of zeros are refused by name, but for residual projections before training") {
  const TemporaryFolder folder;
  const ChangedFile changed;
  const Ablation& program = ablation_named("baseline");
  const std::string sound = gguf_file("llama");
  // Zeros from a share of the tensor on.
  auto zeroed = [&](std::string bytes, const std::vector<std::string>& names, double from) {
    const WeightFile file = open_weights(kModels + "llama.gguf");
    const auto base = file.tensors()[0].data;
    const std::size_t first = bytes.find(std::string(reinterpret_cast<const char*>(base), 64));
    for (const std::string& name : names) {
      const StoredTensor& tensor = file.tensor(name);
      const auto begin = static_cast<std::size_t>(static_cast<double>(tensor.bytes) * from);
      std::memset(bytes.data() + static_cast<std::ptrdiff_t>(first) + (tensor.data - base) + begin, 0,
                  tensor.bytes - begin);
    }
    return bytes;
  };
  auto load = [&](const std::string& bytes) { changed.open(bytes).load(program, DType::F32); };
  auto refused = [&](const std::vector<std::string>& names, double from, std::initializer_list<std::string> parts) {
    changed.refused(zeroed(sound, names, from), parts, &program);
  };
  for (const char* name : {"token_embd.weight", "output.weight", "blk.1.attn_k.weight", "blk.0.ffn_up.weight",
                           "blk.0.attn_output.weight", "blk.1.ffn_down.weight"}) {
    refused({name}, 0, {name, "is zero only, as in a download"});
    CHECK_NOTHROW(load(zeroed(sound, {name}, 0.5)));
  }
  refused({"token_embd.weight"}, 0.25, {"is zero only in 30 of 40 rows"});
  refused({"blk.0.attn_output.weight"}, 0.25, {"is zero only in 24 of 32 rows"});
  CHECK_NOTHROW(load(zeroed(sound, {"blk.0.attn_output.weight", "blk.1.attn_output.weight"}, 0)));
  CHECK_NOTHROW(load(zeroed(sound, {"blk.1.attn_output.weight", "blk.1.ffn_down.weight"}, 0)));
  check_refused(
      [&] {
        const std::string copy = folder.path + "/llama";
        std::filesystem::copy(kModels + "llama", copy);
        std::string tensors = read_file("test", copy + "/model.safetensors");
        std::fill(tensors.begin() + static_cast<std::ptrdiff_t>(tensors.size() / 2), tensors.end(), '\0');
        write_file_atomically(copy + "/model.safetensors", tensors);
        open_model(copy).load(program, DType::F32);
      },
      {"model.safetensors", "zero only"}, Exit::corrupt_checkpoint);
}

TEST_CASE("open models: as many parameters as transformers counts, an unembedding that is the embedding once") {
  // sum(p.numel() for p in model.parameters()); of OPT without the two positions that no token has, 2 C.
  constexpr std::pair<const char*, std::int64_t> kCounts[] = {
      {"gpt2", 16224},
      {"gpt_neox", 30992},
      {"opt", 10784 - 2 * 24},
      {"llama", 16544},
      {"llama3", 15264},
      {"linear", 16544},
      {"llama2c", 16544},
      {"mistral", 18080},
      {"qwen2", 16672},
      {"qwen3", 19664},
      {"gemma3", 27112},
      {"gemma3_gguf", 27112},
      {"gpt_oss", 76779},
      {"mixtral", 39840},
      {"mixtral_older", 33632},
      {"gpt_oss_gguf", 75570},
      {"gemma2", 27040},
      {"gemma2_gguf", 27040},
      {"qwen3_moe", 35344},
      {"olmoe", 47680},
      {"granitemoe", 47584},
      {"qwen2_moe", 37792},
      {"gemma", 18336},
      {"starcoder2", 13200},
      {"glm4", 16800},
      {"exaone4", 23568},
      {"seed_oss", 19808},
      {"glm", 16672},
      {"ernie4_5", 18336},
      {"stablelm", 16832},
      {"nemotron", 17216},
      {"qwen3_5", 41846},
      // And gains of 1, biases of 0 and a norm for each sublayer.
      {"olmo", 16384 + 10 * 32},
      {"cohere", 15200 + 7 * 32},
      {"cohere2", 22144 + 10 * 32}};
  for (auto [name, count] : kCounts)
    for (const char* file : {"", ".gguf", ".bin"}) {
      const std::string path = kModels + name + file;
      if (!std::filesystem::exists(path)) continue;
      CAPTURE(path);
      const OpenModel open = open_model(path);
      if (const Ablation* program = program_of(open.config.family))
        for (DType type : {DType::F32, DType::F64}) CHECK(open.load(*program, type)->parameters().count() == count);
    }
}

TEST_CASE("open models: experts in MXFP4 are those in F32 of the same values, to the last bit") {
  if (!program_of("gpt_oss")) return;
  const TemporaryFolder folder;
  // GGUF has epsilon in f32.
  const std::string plain =
      edited(folder, "gpt_oss_gguf", "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 9.999999747378752e-06");
  const OpenModel in_f32 = open_model(plain), in_blocks = open_model(kModels + "gpt_oss_gguf.gguf");
  CHECK(in_f32.file->tensor("model.layers.1.mlp.experts.down_proj").type == StoredType::F32);
  for (const char* name : {"gate", "up", "down"})
    CHECK(in_blocks.file->tensor(std::string("blk.1.ffn_") + name + "_exps.weight").type == StoredType::MXFP4);
  const Tensor tokens_BT = Golden("gpt_oss_gguf").tokens_BT;
  for (DType type : {DType::F64, DType::F32, DType::BF16}) {
    CAPTURE(name_of(type));
    auto expected = in_f32.load(*program_of("gpt_oss"), type), got = in_blocks.load(*program_of("gpt_oss"), type);
    for (std::int64_t tokens : {1, 3, 20}) {  // products of one row, of few and of many
      CAPTURE(tokens);
      const Tensor some_BT = tokens_BT.slice(0, {1, tokens});
      CHECK(relative_difference(got->logits(some_BT).to(DType::F64), expected->logits(some_BT).to(DType::F64)) == 0);
    }
  }
}

TEST_CASE("open models: what a hook writes into experts that were not chosen counts, in a file as in memory") {
  struct Shifted final : ForwardHooks {
    void projection_input(std::int64_t, SublayerKind kind, Var& y_BTF) override {
      if (kind != SublayerKind::feed_forward) return;
      Tensor shifted = y_BTF.value().clone();
      for (std::int64_t i = 0; i < shifted.size(); ++i) shifted.data<float>()[i] += 0.1f;
      y_BTF = Var(shifted);
    }
  };
  for (const char* name : {"mixtral", "olmoe", "qwen2_moe", "gpt_oss"}) {
    if (!program_of(name)) continue;
    CAPTURE(name);
    const OpenModel open = open_model(kModels + name);
    const auto in_file = open.load(*program_of(name), DType::F32),
               in_memory = open.load(*program_of(name), DType::F32, Device::cpu, /*in_place=*/false);
    const Tensor tokens_BT = Golden(name).tokens_BT, plain = in_memory->logits(tokens_BT);
    Shifted of_file, of_memory;
    const Tensor expected = in_memory->logits(tokens_BT, {.hooks = &of_memory});
    CHECK(relative_difference(expected, plain) > 0.01);
    CHECK(relative_difference(in_file->logits(tokens_BT, {.hooks = &of_file}), expected) < 1e-5);
  }
}

TEST_CASE("open models: a GGUF file of gpt-oss with other experts, positions or scales is refused by name") {
  const Ablation* program = program_of("gpt_oss");
  if (!program) return;
  const ChangedFile changed_file;
  const std::string sound = gguf_file("gpt_oss_gguf");
  auto refused = [&](const std::string& bytes, std::initializer_list<std::string> parts) {
    changed_file.refused(bytes, parts, program);
  };
  refused(with_gguf_value(sound, "gpt-oss.expert_count", 0), {"`gpt-oss.expert_count`", "at least 1"});
  refused(with_gguf_value(sound, "gpt-oss.expert_count", 4), {"router.weight", "(4, 32)", "(5, 32)"});
  refused(with_gguf_value(sound, "gpt-oss.expert_used_count", 6), {"6 of 5"});
  refused(with_gguf_value(sound, "gpt-oss.expert_feed_forward_length", 32), {"expert_feed_forward_length", "64", "32"});
  refused(with_gguf_value(sound, "gpt-oss.feed_forward_length", 32), {"expert_feed_forward_length", "32", "64"});
  refused(with_gguf_value(sound, "gpt-oss.rope.scaling.original_context_length", 0), {"original_context_length"});
  refused(renamed(sound, "yarn", "warp"), {"`warp`", "yarn is"});
  refused(with_gguf_value(sound, "gpt-oss.attention.sliding_window", 0), {"`gpt-oss.attention.sliding_window`", "1"});
  const std::string window = "gpt-oss.attention.sliding_window";  // llama.cpp requires it
  refused(renamed(sound, window, "general.a_key_that_says_nothing_"), {"`" + window + "`"});
  refused(renamed(sound, "gpt-oss", "gpt-osx"), {"`gpt-osx`", "gpt-oss"});
  // Of the second block of one row, a scale that is NaN, and one that is infinite with a code that is not 0.
  const WeightFile file = open_weights(kModels + "gpt_oss_gguf.gguf");
  const StoredTensor& down = file.tensor("blk.1.ffn_down_exps.weight");
  const std::size_t at = sound.find({reinterpret_cast<const char*>(down.data), down.bytes});
  REQUIRE(at != std::string::npos);
  for (auto [scale, word] : {std::pair{'\xFF', "NaN"}, {'\xFE', "infinite"}}) {
    std::string bytes = sound;
    bytes[at + 17] = scale;
    if (scale == '\xFE') bytes[at + 18] = 7;  // 6 times the scale
    refused(bytes, {"`blk.1.ffn_down_exps.weight`", word, "at (0, 0, 32)"});
  }
  // The ups of a block in F32, and its gates in MXFP4.
  GgufBytes mixed;
  for (const MetadataValue& value : file.metadata())
    mixed.entry(std::string(value.key), raw_u32(static_cast<std::uint32_t>(value.type)) +
                                            (value.type == MetadataType::text ? gguf_text(std::string(value.bytes))
                                                                              : std::string(value.bytes)));
  for (const StoredTensor& tensor : file.tensors()) {
    const bool in_blocks = tensor.type == StoredType::MXFP4, changed = tensor.name == "blk.0.ffn_up_exps.weight";
    std::vector<std::uint64_t> inner_first;
    for (int axis = tensor.shape.rank(); axis-- > 0;)
      inner_first.push_back(static_cast<std::uint64_t>(tensor.shape[axis]));
    mixed.tensor(tensor.name, inner_first, in_blocks && !changed ? 39 : 0, mixed.numbers.size());
    mixed.numbers += changed ? std::string(static_cast<std::size_t>(tensor.shape.size()) * 4, '\0')
                             : std::string(reinterpret_cast<const char*>(tensor.data), tensor.bytes);
    mixed.numbers.resize((mixed.numbers.size() + 31) / 32 * 32, '\0');
  }
  refused(mixed.bytes(), {"`blk.0.ffn_gate_exps.weight` (5, 64, 32)", "`blk.0.ffn_up_exps.weight`", "the same in all"});
}

TEST_CASE("open models: in f64 nothing of the stored numbers is rounded to f32") {
  const TemporaryFolder folder;
  auto parameter = [](const LanguageModel& model, const std::string& name) {
    for (const auto& one : model.parameters())
      if (one->name() == name) return one->master();
    throw Error("no " + name);
  };
  if (const Ablation* program = program_of("gemma3")) {
    const auto model = open_model(kModels + "gemma3").load(*program, DType::F64);
    const WeightFile file = open_weights(kModels + "gemma3");
    auto stored = [&](const std::string& name, std::int64_t i) {
      float value;
      std::memcpy(&value, file.tensor(name).data + i * 4, 4);
      return static_cast<double>(value);
    };
    const Tensor gain = parameter(*model, "blocks.1.attention.norm.gain");
    for (std::int64_t i = 0; i < gain.size(); ++i)
      CHECK(gain.item(i) == 1 + stored("model.layers.1.input_layernorm.weight", i));
    const Tensor embedding = parameter(*model, "embedding.token.weight");
    const Tensor unembedding = parameter(*model, "unembedding.weight");
    for (std::int64_t i = 0; i < embedding.size(); ++i) {
      CHECK(embedding.item(i) == stored("model.embed_tokens.weight", i) * std::sqrt(32.0));
      CHECK(unembedding.item(i) == stored("model.embed_tokens.weight", i));
    }
  }
  // Weights of F64 that no f32 is.
  const std::string wide = edited(folder, "llama", "{", "{");
  const WeightFile narrow = open_weights(kModels + "llama");
  std::vector<SafetensorsWriter::Entry> entries;
  for (const StoredTensor& tensor : narrow.tensors()) entries.push_back({tensor.name, StoredType::F64, tensor.shape});
  SafetensorsWriter writer(wide + "/model.safetensors", entries);
  double next = 0.1;
  std::map<std::string, std::vector<double>> written;
  for (const StoredTensor& tensor : narrow.tensors()) {
    std::vector<double>& values = written[tensor.name];
    for (std::int64_t i = 0; i < tensor.shape.size(); ++i) values.push_back(next = std::fmod(next + 0.1, 0.7));
    writer.write(values.data(), values.size() * sizeof(double));
  }
  writer.commit();
  const auto model = open_model(wide).load(ablation_named("baseline"), DType::F64);
  auto check_same = [&](const std::string& ours, std::int64_t first, const std::string& theirs) {
    CAPTURE(theirs);
    const Tensor values = parameter(*model, ours);
    for (std::size_t i = 0; i < written.at(theirs).size(); ++i)
      CHECK(values.item(first + static_cast<std::int64_t>(i)) == written.at(theirs)[i]);
  };
  check_same("blocks.0.attention.qkv.weight", 0, "model.layers.0.self_attn.q_proj.weight");
  check_same("blocks.1.feed_forward.gate_up.weight", 40 * 32, "model.layers.1.mlp.up_proj.weight");
  check_same("final_norm.gain", 0, "model.norm.weight");
  check_same("unembedding.weight", 0, "lm_head.weight");
}

TEST_CASE("open models: what is missing, is none, or is cut short") {
  const TemporaryFolder folder;
  const std::string path = edited(folder, "gpt2", "{", "{");
  CHECK(is_open_model(path));
  CHECK(is_open_model(kModels + "gpt2.gguf"));
  CHECK_FALSE(is_open_model(folder.path));
  // transformers applies an adapter that is in the folder of a model.
  for (const char* adapter : {"/adapter_config.json", "/adapter_model.safetensors", "/adapter_model.bin"}) {
    write_file_atomically(path + adapter, "{}");
    check_refused([&] { open_model(path); }, {path + adapter, "adapter of PEFT", "merge_and_unload"},
                  Exit::corrupt_checkpoint);
    std::filesystem::remove(path + adapter);
  }
  CHECK_NOTHROW(open_model(path));
  std::filesystem::remove(path + "/model.safetensors");
  check_refused([&] { open_model(path); }, {path}, Exit::bad_input);
  const ChangedFile cut;
  const std::string whole = gguf_file("llama");
  for (std::size_t size : {std::size_t{4}, std::size_t{100}, whole.size() / 2, whole.size() - 1})
    cut.refused(whole.substr(0, size), {cut.path}, &ablation_named("baseline"));
}

TEST_CASE("open models: tensors whose shapes or types only seem to fit are refused") {
  const ChangedFile file;
  const std::string sound = gguf_file("llama");
  auto refused = [&](const std::string& bytes, std::initializer_list<std::string> parts) {
    file.refused(bytes, parts, &ablation_named("baseline"));
  };
  auto place_of = [&](const std::string& name) {
    const std::size_t at = sound.find(name);
    REQUIRE(at != std::string::npos);
    return at;
  };
  // Queries and keys change their names: as many rows in all.
  std::string swapped = sound;
  swapped[place_of("blk.0.attn_q.weight") + 11] = 'k';
  swapped[place_of("blk.0.attn_k.weight") + 11] = 'q';
  refused(swapped, {"blocks.0.attention.qkv.weight", "(16, 32)", "(32, 32)"});
  // A gain in blocks of 32, of which each row, one number, would decode a whole one.
  std::string blocks = sound;
  const std::string gain = "blk.0.attn_norm.weight";
  blocks[place_of(gain) + gain.size() + 4 + 8] = 8;  // after the number of axes and its size: Q8_0
  refused(blocks, {"offset", gain});                 // it leaves a gap
  const WeightFile whole = open_weights(kModels + "llama.gguf");
  const StoredTensor& stored = whole.tensor(gain);
  REQUIRE(stored.bytes == 128);
  for (const StoredTensor& tensor : whole.tensors()) {
    if (tensor.data <= stored.data) continue;
    const std::size_t at = place_of(raw_bytes(std::uint64_t{tensor.name.size()}) + tensor.name) + 8 +
                           tensor.name.size() + 4 + 8 * static_cast<std::size_t>(tensor.shape.rank()) + 4;
    std::uint64_t offset;
    std::memcpy(&offset, &blocks[at], sizeof offset);
    offset -= 64;  // one block of 34 bytes takes 64
    std::memcpy(&blocks[at], &offset, sizeof offset);
  }
  const std::size_t numbers = place_of({reinterpret_cast<const char*>(stored.data), stored.bytes});
  refused(blocks.replace(numbers, 128, std::string(64, '\0')), {"blocks.0.attention.norm.gain", gain});
}

TEST_CASE("open models: divisors of rotations that are not LLaMA 3's are refused") {
  if (!is_built("llama3")) return;
  const ChangedFile changed;
  const std::string sound = gguf_file("llama3");
  const WeightFile file = open_weights(kModels + "llama3.gguf");
  const StoredTensor& divisors = file.tensor("rope_freqs.weight");
  REQUIRE(divisors.shape == Shape({4}));
  const auto* first = reinterpret_cast<const char*>(divisors.data);
  const std::size_t at = sound.find(std::string(first, divisors.bytes));
  REQUIRE(at != std::string::npos);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (auto [which, value] : {std::pair{0, 2.0f}, {1, 1.0f}, {1, nan}, {2, 7.0f}, {3, 0.5f}, {3, 16.0f}, {3, nan}}) {
    CAPTURE(which);
    CAPTURE(value);
    std::string edited = sound;
    std::memcpy(edited.data() + at + 4 * static_cast<std::size_t>(which), &value, 4);
    changed.refused(edited, {"rope_freqs.weight", "LLaMA 3"});
  }
  changed.refused(renamed(sound, "rope_freqs.weight", "rape_freqs.weight"), {"rape_freqs.weight"},
                  &ablation_named("baseline"));  // of a family that has none
}

TEST_CASE("open models: vocab.json and merges.txt are the tokenizer of GPT-2 and OPT, by family; others are refused") {
  const TemporaryFolder folder;
  std::string path;
  auto with = [&](const char* name, const std::string& vocabulary) {
    path = edited(folder, name, "{", "{");
    write_file_atomically(path + "/vocab.json", vocabulary);
    write_file_atomically(path + "/merges.txt", "#version: 0.2\na b\n");
  };
  auto ids = [&](const std::string& text) {
    EncodeCache cache;
    return tokenizer_of(open_model(path)).value().encode_with_special_tokens(text, cache);
  };
  auto refused = [&](std::initializer_list<std::string> parts) {
    check_refused([&] { tokenizer_of(open_model(path)); }, parts, Exit::corrupt_checkpoint);
  };
  using Ids = std::vector<std::int32_t>;
  const std::string remedy = "AutoTokenizer.from_pretrained(F).save_pretrained(F)";
  const std::string of_gpt2 = R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})";
  const std::string of_opt = R"({"a": 0, "b": 1, "ab": 2, "</s>": 3, "<pad>": 4, "<unk>": 5})";
  with("gpt2", of_gpt2);
  CHECK(ids("ab<|endoftext|>a") == Ids{2, 3, 0});
  with("opt", of_opt);
  CHECK(ids("ab<pad>a") == Ids{3, 2, 4, 0});
  for (const char* other : {"qwen2", "llama"}) {
    with(other, of_gpt2);
    refused({std::string("this is ") + other, remedy});
  }
  with("gpt2", of_opt);
  refused({"not that of gpt2", remedy});
  with("opt", of_gpt2);
  refused({"not that of opt", remedy});

  // What other files say of it.
  with("opt", of_opt);
  const std::string config = "/tokenizer_config.json", added = "/added_tokens.json", map = "/special_tokens_map.json";
  write_file_atomically(path + config,
                        R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "pad_token": "<pad>",
      "bos_token": {"content": "</s>", "lstrip": false, "rstrip": false}, "add_prefix_space": false})");
  write_file_atomically(path + map, R"({"eos_token": "</s>"})");
  CHECK(ids("ab<pad>a") == Ids{3, 2, 4, 0});
  for (auto [text, key] : {std::pair{R"({"bos_token": "</s>"})", "`add_bos_token` must be true"},
                           {R"({"bos_token": "<pad>", "add_bos_token": true})", "`bos_token` must be \"</s>\""}}) {
    write_file_atomically(path + config, text);
    refused({config, key, remedy});
  }
  with("gpt2", of_gpt2);
  for (auto [text, clue] :
       {std::pair{R"({"add_bos_token": true})", "`add_bos_token` must be false"},
        {R"({"add_prefix_space": true})", "`add_prefix_space` must be false"},
        {R"({"tokenizer_class": "Qwen2Tokenizer"})", "`tokenizer_class` must be \"GPT2Tokenizer\""},
        {R"({"pad_token": "<pad>"})", "the token `<pad>`"},
        {R"({"eos_token": {"content": "<|endoftext|>", "rstrip": true}})", "another `rstrip`"},
        {R"({"additional_special_tokens": ["<|endoftext|>", "<x>"]})", "the token `<x>`"},
        {R"({"added_tokens_decoder": {"4": {"content": "<y>", "lstrip": false}}})", "the token `<y>`"}}) {
    CAPTURE(text);
    write_file_atomically(path + config, text);
    refused({config, clue, remedy});
  }
  write_file_atomically(path + config, R"({"model_max_length": 32})");
  for (const auto& [name, text] : {std::pair{added, R"({"<y>": 4})"}, {map, R"({"pad_token": "<y>"})"}}) {
    write_file_atomically(path + name, text);
    refused({name, "the token `<y>`", remedy});
    std::filesystem::remove(path + name);
  }
  CHECK(ids("ab<|endoftext|>a") == Ids{2, 3, 0});
}

TEST_CASE("open models: tokens and flags that other files add to tokenizer.json are refused") {
  const TemporaryFolder folder;
  const std::string path = edited(folder, "llama", "{", "{"), config = "/tokenizer_config.json";
  write_file_atomically(path + "/tokenizer.json",
                        R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
      "added_tokens": [{"id": 3, "content": "<s>", "special": true, "normalized": false, "rstrip": true}]})");
  auto written = [&](const std::string& name, const std::string& text) {
    CAPTURE(text);
    write_file_atomically(path + name, text);
  };
  auto refused = [&](const std::string& name, const std::string& clue) {
    check_refused([&] { tokenizer_of(open_model(path)); }, {name, clue, "AutoTokenizer.from_pretrained(F)"},
                  Exit::corrupt_checkpoint);
  };
  const char* known[] = {R"({"bos_token": "<s>", "eos_token": "ab", "unk_token": null, "pad_token": ""})",
                         R"({"bos_token": {"__type": "AddedToken", "content": "<s>", "rstrip": false}})",
                         R"({"extra_special_tokens": {}, "additional_special_tokens": ["<s>"]})",
                         R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": true, "special": true}}})",
                         R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": true, "lstrip": false,
                             "single_word": false, "normalized": false}}})"};
  for (const char* text : known) {
    written(config, text);
    CHECK(tokenizer_of(open_model(path)).has_value());
  }
  for (auto [text, clue] :
       {std::pair{R"({"pad_token": "<pad>"})", "the token `<pad>`"},
        {R"({"image_token": {"content": "<pad>"}})", "the token `<pad>`"},
        {R"({"additional_special_tokens": ["<s>", "<x>"]})", "the token `<x>`"},
        {R"({"extra_special_tokens": {"other": "<x>"}})", "the token `<x>`"},
        {R"({"added_tokens_decoder": {"4": {"content": "<x>"}}})", "the token `<x>`"},
        {R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": false}}})", "another `rstrip`"},
        {R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": true, "lstrip": true}}})", "another `lstrip`"},
        {R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": true, "special": true, "single_word": true}}})",
         "another `single_word`"},
        {R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": true, "special": true, "normalized": true}}})",
         "another `normalized`"},
        {R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": true}}})", "another `normalized`"}}) {
    written(config, text);
    refused(config, clue);
  }
  written(config, R"({"split_special_tokens": true})");
  check_refused([&] { tokenizer_of(open_model(path)); }, {config, "`split_special_tokens` must be false"},
                Exit::corrupt_checkpoint);
  for (const std::string name : {"/special_tokens_map.json", "/added_tokens.json"}) {
    written(config, R"({"bos_token": "<s>"})");
    written(name, R"({"pad_token": "<s>"})");
    if (name == "/added_tokens.json") written(name, R"({"<s>": 3})");
    CHECK(tokenizer_of(open_model(path)).has_value());
    written(name, name == "/added_tokens.json" ? R"({"<x>": 4})" : R"({"pad_token": "<x>"})");
    refused(name, "the token `<x>`");
    // Counts instead.
    written(config, R"({"added_tokens_decoder": {"3": {"content": "<s>", "rstrip": true, "special": true}}})");
    CHECK(tokenizer_of(open_model(path)).has_value());
    std::filesystem::remove(path + name);
  }
}

namespace {

// A folder of a model of `model_type` with these files of a tokenizer, whose `a b` merge to `ab`; post-processor and
// pre-tokenizer are given. Returns why no text is read.
struct TokenizerFolder {
  const TemporaryFolder folder;
  const std::string path = edited(folder, "llama", "{", "{");

  std::string refusal(const std::string& config, bool begins = false, const std::string& pre_tokenizer = "",
                      const std::string& model_type = "llama", bool ends = false) const {
    const std::string special = R"({"SpecialToken": {"id": "<s>", "type_id": 0}})";
    const std::string text = std::string(begins ? special + ", " : "") + R"({"Sequence": {"id": "A", "type_id": 0}})" +
                             (ends ? ", " + special : "");
    const std::string byte_level = R"({"type": "ByteLevel", "add_prefix_space": false})";
    write_file_atomically(path + "/tokenizer.json",
                          R"({"model": {"vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4},
      "merges": ["a b", "\u0120 ab"]},
      "added_tokens": [{"id": 5, "content": "<s>", "special": true, "normalized": false}],
      "pre_tokenizer": )" + (pre_tokenizer.empty() ? byte_level : pre_tokenizer) +
                              R"(, "post_processor": {"type": "TemplateProcessing", "single": [)" + text +
                              R"(], "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}}}})");
    write_file_atomically(path + "/tokenizer_config.json", config);
    std::string of_model = read_file("test", kModels + "llama/config.json");
    const std::string type = "\"model_type\": \"llama\"";
    REQUIRE(of_model.find(type) != std::string::npos);
    OpenModel model = open_model(path);
    write_file_atomically(path + "/config.json",
                          of_model.replace(of_model.find(type), type.size(), "\"model_type\": \"" + model_type + "\""));
    std::string why = text_refusal(model, tokenizer_of(model));
    write_file_atomically(path + "/config.json", read_file("test", kModels + "llama/config.json"));
    return why;
  }
  void check_says(const std::string& why, std::initializer_list<std::string> parts) const {
    for (const std::string& part : parts) CHECK_MESSAGE(why.find(part) != std::string::npos, why);
  }
};

}  // namespace

// In transformers 4.57 and 5.24, "abab ab" has the tokens ab ab Gab, and with any of these ab ab G ab.
TEST_CASE("open models: text is refused where a special token is an ordinary token of the vocabulary") {
  const TokenizerFolder folder;
  const std::string name = R"({"tokenizer_class": "PreTrainedTokenizerFast", )";
  CHECK(folder.refusal(name + R"("eos_token": "<s>", "pad_token": null, "unk_token": ""})").empty());
  for (const char* config :
       {R"("eos_token": "ab"})", R"("pad_token": {"content": "ab", "__type": "AddedToken"}})",
        R"("additional_special_tokens": ["<s>", "ab"]})", R"("extra_special_tokens": {"x_token": "ab"}})",
        R"("added_tokens_decoder": {"2": {"content": "ab", "special": true}}})",
        R"("added_tokens_decoder": {"2": {"content": "ab"}}})"}) {
    CAPTURE(config);
    folder.check_says(folder.refusal(name + config), {"special token `ab`", "ordinary token", "added tokens"});
  }
  // Of the vocabulary that is "\u0120ab": this is a new token.
  folder.check_says(folder.refusal(name + R"("eos_token": " ab"})"), {"special token ` ab`"});
  CHECK(folder.refusal(name + R"("eos_token": "<s>"})").empty());
  write_file_atomically(folder.path + "/special_tokens_map.json", R"({"pad_token": "ab"})");
  folder.check_says(folder.refusal(name + R"("eos_token": "<s>"})"), {"special token `ab`"});
  CHECK(folder.refusal(name + R"("added_tokens_decoder": {"5": {"content": "<s>", "special": true}}})").empty());
  std::filesystem::remove(folder.path + "/special_tokens_map.json");
  write_file_atomically(folder.path + "/added_tokens.json", R"({"ab": 2})");
  folder.check_says(folder.refusal(name + R"("eos_token": "<s>"})"), {"special token `ab`"});
}

// Refused are those whose ids of "ab" differ in transformers 4.57 (which follows the flags in these classes) from those
// of its `tokenizers`, and so of version 5.
TEST_CASE("open models: text is refused where add_bos_token or add_eos_token contradicts tokenizer.json") {
  const TokenizerFolder folder;
  struct Case {
    const char *class_name, *model_type;
    bool follows, adds;  // the flags; without them
  };
  for (const auto& [class_name, type, follows, adds] :
       std::initializer_list<Case>{{"LlamaTokenizer", "llama", true, true},
                                   {"LlamaTokenizerFast", "qwen2", true, true},
                                   {"CodeLlamaTokenizer", "llama", true, true},
                                   {"GemmaTokenizer", "gemma3_text", true, true},
                                   {"CohereTokenizerFast", "llama", true, true},
                                   {"GPTNeoXTokenizer", "gpt_neox", true, false},
                                   {"GPT2Tokenizer", "gpt2", false, false},
                                   {"Qwen2TokenizerFast", "qwen2", false, false},
                                   {"PreTrainedTokenizerFast", "llama", false, false},
                                   {"TokenizersBackend", "llama", false, false},
                                   {nullptr, "llama", true, true},
                                   {nullptr, "mistral", true, true},
                                   {nullptr, "gemma2", true, true},
                                   {nullptr, "gpt_neox", true, false},
                                   {nullptr, "qwen2", false, false}})
    for (const bool begins : {false, true})
      for (const char* flag : {"", R"(, "add_bos_token": true)", R"(, "add_bos_token": false)"}) {
        CAPTURE(class_name);
        CAPTURE(type);
        CAPTURE(begins);
        CAPTURE(flag);
        const std::string named = class_name ? R"(, "tokenizer_class": ")" + std::string(class_name) + "\"" : "";
        const std::string why =
            folder.refusal(R"({"bos_token": "<s>", "eos_token": "<s>")" + named + flag + "}", begins, "", type);
        const bool asks = *flag ? std::string(flag).ends_with("true") : adds;
        CHECK_MESSAGE(why.empty() == (!follows || asks == begins), why);
        if (!why.empty())
          folder.check_says(why, {asks ? "`add_bos_token` is true" : "`add_bos_token` is false",
                                  begins ? "puts a token before a text" : "puts no token before"});
      }
  const std::string llama = R"({"tokenizer_class": "LlamaTokenizer", "eos_token": "<s>")";
  CHECK(folder.refusal(llama + "}", true).empty());  // its bos_token is "<s>" where no file names one
  folder.check_says(folder.refusal(R"({"tokenizer_class": "GemmaTokenizer"})", true), {"puts another token before"});
  folder.check_says(folder.refusal(llama + R"(, "add_eos_token": true})", true),
                    {"`add_eos_token` is true for LlamaTokenizer", "puts no token after a text"});
  folder.check_says(folder.refusal(llama + "}", true, "", "llama", true), {"its template puts 2 tokens"});
  write_file_atomically(folder.path + "/special_tokens_map.json", R"({"bos_token": {"content": "<s>"}})");
  CHECK(folder.refusal(R"({"tokenizer_class": "GemmaTokenizer"})", true).empty());
}

TEST_CASE("open models: text is refused where add_prefix_space contradicts the pre-tokenizer") {
  const TokenizerFolder folder;
  const std::string name = R"({"tokenizer_class": "PreTrainedTokenizerFast")";
  auto byte_level = [](bool adds) {
    return std::string(R"({"type": "ByteLevel", "add_prefix_space": )") + (adds ? "true}" : "false}");
  };
  auto after_digits = [&](bool adds) {
    return R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, )" +
           byte_level(adds) + "]}";
  };
  for (const bool adds : {false, true})
    for (const bool flag : {false, true}) {
      const std::string config = name + R"(, "add_prefix_space": )" + (flag ? "true}" : "false}");
      for (const std::string& pre_tokenizer : {byte_level(adds), after_digits(adds)}) {
        const std::string why = folder.refusal(config, false, pre_tokenizer);
        CHECK_MESSAGE(why.empty() == (adds == flag), why);
        if (!why.empty())
          folder.check_says(why, {flag ? "`add_prefix_space` is true" : "`add_prefix_space` is false",
                                  adds ? "adds a space" : "adds no space"});
      }
    }
  // Without the flag, version 4 sets that of a ByteLevel that is the only pre-tokenizer to false; null changes nothing.
  CHECK(folder.refusal(name + "}", false, byte_level(false)).empty());
  CHECK_FALSE(folder.refusal(name + "}", false, byte_level(true)).empty());
  CHECK(folder.refusal(name + "}", false, after_digits(true)).empty());
  CHECK(folder.refusal(name + R"(, "add_prefix_space": null})", false, byte_level(true)).empty());
}
