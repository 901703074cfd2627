// Models of ours as folders of Hugging Face: read again they are the same to the bit, and transformers' logits of the
// tiny models (tests/golden/open/make_golden.py) are those of what was written of them. That transformers itself loads
// such folders, tests/golden/open/check_export.py shows.
#include "model/open/hf_export.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/io/file.h"
#include "model/open/open_model.h"
#include "tests/model/open_golden.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "tests/support/keep_worst.h"
#include "tests/support/orphan_name.h"

using namespace sink;
using namespace sink::test;

namespace {

// Largest difference of two parameters, relative to the larger.
double off(const Parameter& a, const Parameter& b) {
  REQUIRE(a.info().shape == b.info().shape);
  double most = 0;
  for (std::int64_t n = 0; n < a.info().shape.size(); ++n) {
    const double x = a.master().item(n), y = b.master().item(n);
    if (x != y) keep_worst(most, std::abs(x - y) / std::max(std::abs(x), std::abs(y)));
  }
  return most;
}

// The parameters of two models are equal; the embedding of Gemma up to the last bit of F32.
void check_same_numbers(const LanguageModel& a, const LanguageModel& b, bool gemma) {
  REQUIRE(a.parameters().size() == b.parameters().size());
  for (std::size_t n = 0; n < a.parameters().size(); ++n) {
    CAPTURE(a.parameters()[n]->name());
    const bool scaled = gemma && a.parameters()[n]->name() == "embedding.token.weight";
    CHECK(off(*a.parameters()[n], *b.parameters()[n]) <= (scaled ? 1.2e-7 : 0));
  }
}

bool same_bits(const Tensor& x, const Tensor& y) {
  return x.shape() == y.shape() && x.bytes() == y.bytes() && std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

// Gemma's embedding is stored divided by sqrt(C), which rounds it. With the rounded one all other bits are the same.
void copy_embedding(const LanguageModel& from, LanguageModel& to) {
  for (const auto& parameter : from.parameters())
    if (parameter->name() == "embedding.token.weight")
      set(to, parameter->name(), [&](std::int64_t n, double) { return parameter->master().item(n); });
}

// Fills every parameter, including gains and biases, with values that are not special.
void fill(LanguageModel& model) {
  for (const auto& parameter : model.parameters())
    set(model, parameter->name(), [&](std::int64_t n, double) {
      const double x = Rng(11, parameter->name()).normal(static_cast<std::uint64_t>(n));
      return parameter->info().role == ParameterRole::norm_gain ? 1 + 0.15 * x : 0.3 * x;
    });
}

void export_small(const std::string& folder) {
  const auto model = make_model("baseline", small_sizes(), DType::F32);
  export_hf(ablation_named("baseline"), *model, {}, folder);
}

// Command R's class has one norm in a block, and norms have no bias: other models are refused.
void make_one_norm(LanguageModel& model) {
  const TemporaryFolder folder;
  auto refused = [&](const std::string& parameter) {
    check_refused([&] { export_hf(ablation_named("cohere"), model, {.json = "{}"}, folder / "refused"); },
                  {"ForCausalLM", parameter, "must be"}, Exit::usage);
  };
  refused("blocks.0.attention.norm.bias");
  for (const auto& parameter : model.parameters())
    if (parameter->name().ends_with("norm.bias"))
      set(model, parameter->name(), [](std::int64_t, double) { return 0.0; });
  refused("blocks.0.feed_forward.norm.gain");
  for (const auto& norm : model.parameters())
    if (const std::string end = ".attention.norm.gain"; norm->name().ends_with(end))
      set(model, norm->name().substr(0, norm->name().size() - end.size()) + ".feed_forward.norm.gain",
          [&](std::int64_t n, double) { return norm->master().item(n); });
}

// OLMo's norms have neither gains nor biases.
void make_plain_norms(const Ablation& ablation, LanguageModel& model) {
  for (const auto& [end, value] : {std::pair{"norm.gain", 1.0}, {"norm.bias", 0.0}}) {
    check_refused([&] { export_hf(ablation, model, {.json = "{}"}, TemporaryFolder() / "refused"); },
                  {"OlmoForCausalLM", end, "must be"}, Exit::usage);
    for (const auto& parameter : model.parameters())
      if (parameter->name().ends_with(end)) set(model, parameter->name(), [&](std::int64_t, double) { return value; });
  }
}

// Logits of a model whose weights stay in the file, and of one with the same weights in memory. They have the same
// bits, except for a mixture: from a file only the chosen experts are computed, so sums are added in another order.
void check_same_logits(const LanguageModel& in_file, const LanguageModel& in_memory, const Tensor& tokens_BT) {
  const Tensor from_file = in_file.logits(tokens_BT), expected = in_memory.logits(tokens_BT);
  if (in_file.sizes().experts == 0) CHECK(same_bits(from_file, expected));
  CHECK(relative_difference(from_file.to(DType::F64), expected.to(DType::F64)) < 1e-5);
}

// A family of transformers whose models have other weights here.
bool is_folded(const std::string& name) {
  return name.starts_with("granite") || name == "ernie4_5" || name.starts_with("cohere") || name == "falcon_1_norm" ||
         name == "helium" || name == "exaone";
}

std::string failing_folder;  // which the disk does not take

}  // namespace

// In the place of the C library's: a test has no disk that fails there.
extern "C" int fsync(int descriptor) {
  struct stat about, failing;
  if (::stat(failing_folder.c_str(), &failing) == 0 && ::fstat(descriptor, &about) == 0 &&
      about.st_ino == failing.st_ino && about.st_dev == failing.st_dev) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

TEST_CASE("export: what transformers saved, written by us, is the same model again") {
  const TemporaryFolder folder;
  for (const auto& [name, family] : golden_models()) {
    const Ablation* program = program_of(family);
    if (!program) continue;
    CAPTURE(name);
    const Golden golden(name);
    const auto model = open_model(kModels + name).load(*program, DType::F32, Device::cpu, /*in_place=*/false);
    const std::string out = folder / name;
    if (name.starts_with("longrope") || name.ends_with("yarn")) {
      check_refused([&] { export_hf(*program, *model, {}, out); }, {"LongRoPE are not written"}, Exit::usage);
      continue;
    }
    export_hf(*program, *open_model(kModels + name).load(*program, export_type(*program), Device::cpu, false), {}, out);
    const OpenModel again = open_model(out);
    if (is_folded(name)) {  // a LLaMA of other weights
      CHECK(again.config.family == family);
      const Tensor logits = again.load(*program, DType::F64)->logits(golden.tokens_BT);
      CHECK(relative_difference(logits, golden.logits_BTV) < 1e-5);
      continue;
    }
    const WeightFile saved = open_weights(kModels + name);
    for (const StoredTensor& tensor : saved.tensors()) {
      CAPTURE(tensor.name);
      const StoredTensor& written = again.file->tensor(tensor.name);
      CHECK(written.shape == tensor.shape);
      if (tensor.name != "model.decoder.embed_positions.weight")  // without the rows that no token has
        CHECK(std::memcmp(written.data, tensor.data, tensor.bytes) == 0);
    }
    CHECK(again.config.family == family);
    check_same_numbers(*again.load(*program, DType::F32, Device::cpu, false), *model, false);
    const Tensor logits = again.load(*program, DType::F32)->logits(golden.tokens_BT);
    CHECK(same_bits(logits, open_model(kModels + name).load(*program, DType::F32)->logits(golden.tokens_BT)));
    check_same_logits(*again.load(*program, DType::F32), *model, golden.tokens_BT);
    CHECK(relative_difference(logits.to(DType::F64), golden.logits_BTV) < 1e-5);
    auto tied = [](const std::string& path) {
      const std::string config = read_file("test", path + "/config.json");
      return config.find("\"tie_word_embeddings\": true") != std::string::npos;
    };
    CHECK(tied(out) == tied(kModels + name));
    CHECK(entries(out) == 3);
    const std::string adapter = "/transformer_lens_adapter.py";
    CHECK(read_file("test", out + adapter) == read_file("test", SINK_SOURCE_DIR "/model/open" + adapter));
  }
}

TEST_CASE("export: models of ours, of every size that a family there has") {
  const TemporaryFolder folder;
  const Sizes small = small_sizes();
  auto with = [&](auto change) {
    Sizes sizes = small;
    change(sizes);
    return sizes;
  };
  const Sizes grouped = with([](Sizes& s) { s.heads = 4, s.kv_heads = 2, s.head_width = 10; });
  std::vector<std::pair<std::string, Sizes>> cases = {
      {"gpt2", with([](Sizes& s) { s.norm_epsilon = 1e-3; })},
      {"gpt2", with([](Sizes& s) { s.heads = 4, s.kv_heads = 1; })},           // GPT-BigCode
      {"baseline", with([](Sizes& s) { s.window = 4, s.global_every = 2; })},  // Ministral
      {"llama3",
       with([](Sizes& s) { s.window = 4, s.global_every = 2, s.rotary_factor = 8, s.rotary_context = 7; })},  // CWM
      {"op_sink_logit",  // Granite with windows
       with([](Sizes& s) {
         s.window = 4, s.global_every = 2, s.no_rope_every = 2, s.rotary_base = 50, s.kv_heads = 1;
       })},
      {"olmo2", with([](Sizes& s) { s.window = 4, s.global_every = 2, s.rotary_local_base = 50; })},
      {"gpt_neox", with([](Sizes& s) { s.rotary_part = 0.25, s.rotary_base = 300, s.rotary_factor = 2; })},
      {"falcon", with([](Sizes& s) { s.heads = 4, s.kv_heads = 2, s.rotary_base = 300, s.rotary_factor = 2; })},
      {"baseline", with([](Sizes& s) { s.rotary_factor = 4, s.rotary_base = 500, s.norm_epsilon = 1e-6; })},
      {"baseline", with([](Sizes& s) { s.window = 4, s.kv_heads = 1; })},
      {"baseline", with([](Sizes& s) { s.attention_scale = 0.3; })},            // Granite
      {"baseline", with([](Sizes& s) { s.rotary_part = 0.5, s.window = 4; })},  // Phi-3
      {"baseline", with([](Sizes& s) { s.no_rope_every = 2; })},                // SmolLM3
      {"llama3", with([](Sizes& s) { s.rotary_factor = 8, s.rotary_context = 7, s.no_rope_every = 1; })},
      {"llama3", with([](Sizes& s) { s.rotary_factor = 8, s.rotary_context = 7, s.rotary_base = 50; })},
      {"qwen2", with([](Sizes& s) { s.window = 3, s.global_every = 2; })},
      {"qwen2", grouped},                                                      // Seed-OSS
      {"qwen2", with([](Sizes& s) { s.rotary_part = 0.5, s.kv_heads = 1; })},  // GLM
      {"olmo", with([](Sizes& s) { s.kv_heads = 1, s.rotary_factor = 2, s.rotary_base = 50; })},
      {"stablelm", with([](Sizes& s) { s.rotary_part = 0.5, s.kv_heads = 1; })},
      {"nemotron", with([](Sizes& s) { s.rotary_part = 0.5, s.rotary_factor = 2; })},
      {"cohere", with([](Sizes& s) { s.kv_heads = 1, s.rotary_factor = 2, s.rotary_base = 50; })},
      {"cohere", with([](Sizes& s) { s.window = 3, s.global_every = 2, s.no_rope_every = 2; })},
      {"glm4", with([](Sizes& s) { s.rotary_part = 0.5, s.rotary_factor = 2; })},
      {"gemma", grouped},
      {"starcoder2", with([](Sizes& s) { s.window = 3, s.kv_heads = 1, s.rotary_factor = 2; })},
      {"exaone4", with([](Sizes& s) { s.window = 3, s.global_every = 2, s.no_rope_every = 2; })},
      {"exaone4", with([](Sizes& s) { s.no_rope_every = 1, s.rotary_factor = 4, s.rotary_context = 7; })},
      {"qwen3", grouped},
      {"qwen3_5", with([](Sizes& s) {
         s.attention_every = 2, s.delta_heads = 6, s.delta_key_heads = 3, s.delta_key_width = 5, s.convolution = 3,
         s.rotary_part = 0.5, s.kv_heads = 1;
       })},
      {"gemma3", grouped},
      {"gemma2", grouped},
      {"gemma2",
       with([](Sizes& s) { s.window = 3, s.global_every = 2, s.attention_scale = 0.25, s.rotary_factor = 8; })},
      {"olmo2", grouped},
      {"olmo2", with([](Sizes& s) { s.rotary_factor = 4, s.rotary_base = 500; })},
      {"gemma3", with([](Sizes& s) {
         s.window = 3, s.global_every = 2, s.attention_scale = 0.25, s.rotary_local_base = 20, s.rotary_factor = 8;
       })},
      {"gpt_oss",
       with([](Sizes& s) { s.window = 3, s.global_every = 2, s.rotary_factor = 4, s.rotary_context = 200; })},
      {"gpt_oss", with([](Sizes& s) { s.experts = 1, s.chosen_experts = 1; })},
      {"mixtral", with([](Sizes& s) { s.experts = 3, s.chosen_experts = 2, s.window = 4, s.rotary_factor = 2; })},
      {"mixtral", with([](Sizes& s) { s.experts = 1, s.chosen_experts = 1; })},
      {"mixtral", with([](Sizes& s) { s.experts = 3, s.chosen_experts = 2, s.attention_scale = 0.3; })},  // Granite
      {"qwen3_moe", with([](Sizes& s) { s.experts = 3, s.chosen_experts = 2, s.window = 4, s.rotary_factor = 2; })},
      {"qwen2_moe",
       with([](Sizes& s) { s.experts = 3, s.chosen_experts = 2, s.window = 4, s.shared_feed_forward = 5; })},
      {"olmoe", with([](Sizes& s) { s.experts = 4, s.chosen_experts = 3, s.kv_heads = 1, s.rotary_base = 500; })},
  };
  for (const Family& family : families())
    if (const Ablation* program = program_of(family.ablation)) cases.emplace_back(program->name, small);
  int made = 0;
  for (const auto& [name, sizes] : cases) {
    if (!is_built(name)) continue;
    CAPTURE(name);
    const auto model = make_model(name, sizes, DType::F32);
    fill(*model);
    if (name == "cohere") make_one_norm(*model);
    if (name == "olmo" || name == "norm_layer") make_plain_norms(ablation_named(name), *model);
    const std::string out = folder / std::to_string(++made);
    export_hf(ablation_named(name), *model, {.json = "{}", .begin_token = 3}, out);
    const bool gemma = export_type(ablation_named(name)) == DType::F64;
    const OpenModel again = open_model(out);
    const auto loaded = again.load(ablation_named(name), DType::F32, Device::cpu, false);
    check_same_numbers(*loaded, *model, gemma);
    if (gemma) copy_embedding(*loaded, *model);
    const Tensor tokens_BT = random_tokens(2, 12, sizes.vocabulary);
    check_same_logits(*again.load(ablation_named(name), DType::F32), *model, tokens_BT);
    CHECK(read_file("test", out + "/tokenizer.json") == "{}");
  }
}

TEST_CASE("export: the folder's tokenizer adds a space before a text where that of the model does") {
  if (!is_built("baseline")) return;
  const TemporaryFolder folder;
  const auto model = make_model("baseline", small_sizes(), DType::F32);
  for (const bool adds : {false, true}) {
    const std::string out = folder / (adds ? "adds" : "adds_none");
    const std::string flag = adds ? "true" : "false";
    const std::string json = R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": )" + flag +
                             R"(}, "model": {"vocab": {"a": 0, "b": 1}, "merges": []}})";
    export_hf(ablation_named("baseline"), *model, {.json = json}, out);
    const OpenModel again = open_model(out);
    CHECK(text_refusal(again, tokenizer_of(again)).empty());
    CHECK((read_file("test", out + "/tokenizer_config.json").find("\"add_prefix_space\":true") != std::string::npos) ==
          adds);
  }
}

TEST_CASE("export: the temporary folder of a killed export goes with the next one") {
  if (!is_built("baseline")) return;
  const TemporaryFolder folder;
  const std::string dead = orphan_name(folder / "out");
  std::filesystem::create_directory(dead);
  std::filesystem::create_symlink(folder.path, dead + "/model.safetensors");
  export_small(folder / "out");
  CHECK(entries(folder.path) == 1);
}

TEST_CASE("export: a disk that fails in the last flush is Exit::io") {
  if (!is_built("baseline")) return;
  const TemporaryFolder folder;
  std::string message;
  failing_folder = folder.path;
  const Exit code = exit_of([&] { export_small(folder / "out"); }, &message);
  failing_folder.clear();
  CHECK(code == Exit::io);
  CHECK_MESSAGE(contains(message, "cannot flush the folder of " + folder / "out"), message);
}

TEST_CASE("export: what transformers cannot compute is refused by name, and nothing is left behind") {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  auto refused = [&](const char* name, auto change, std::initializer_list<std::string> words) {
    if (!is_built(name)) return;
    Sizes sizes = small_sizes();
    change(sizes);
    const auto model = make_model(name, sizes, DType::F32);
    check_refused([&] { export_hf(ablation_named(name), *model, {}, out); }, words, Exit::usage);
    CHECK(entries(folder.path) == 0);
  };
  refused("op_sigmoid_none", [](Sizes&) {}, {"op_sigmoid_none", "attention=Sigmoid", "gemma3"});
  refused("baseline", [](Sizes& s) { s.prefix = 3; }, {"`llama` has `--prefix 3`; there it would be 0"});
  refused("llama3", [](Sizes& s) { s.attention_scale = 1; }, {"`--attention-scale 1.0`"});
  refused("llama3", [](Sizes& s) { s.rotary_part = 0.5; }, {"`--partial-rotary-factor 0.5`"});
  refused("baseline", [](Sizes& s) { s.rotary_part = 0.5, s.rotary_factor = 2; },
          {"`--partial-rotary-factor 0.5` together with `--rotary-factor 2.0`; each of them alone has one"});
  refused("baseline", [](Sizes& s) { s.window = 4, s.attention_scale = 0.3; },
          {"`llama` has `--window 4` together with `--attention-scale 0.3`; each of them alone has one"});
  refused("gpt2", [](Sizes& s) { s.heads = 4, s.kv_heads = 2; }, {"`gpt2`", "`--kv-heads 2`"});
  refused("gpt2", [](Sizes& s) { s.window = 4; }, {"`--window 4`"});
  refused("falcon", [](Sizes& s) { s.head_width = 12; }, {"`falcon`", "`--head-width 12`"});
  refused("olmo2", [](Sizes& s) { s.window = 4, s.rotary_factor = 2; }, {"`olmo2`", "`--window 4`"});
  refused("qwen3", [](Sizes& s) { s.no_rope_every = 2; }, {"`--no-rope-every 2`"});
  refused("qwen3_5", [](Sizes& s) { s.delta_alternating = true; }, {"export: the order of heads that GGUF files have"});
  refused("opt", [](Sizes& s) { s.norm_epsilon = 1e-3; }, {"`--norm-epsilon 0.001`"});
  refused("gemma3", [](Sizes& s) { s.window = 4, s.rotary_factor = 2; }, {"`--rotary-local-base"});
  std::filesystem::create_directory(out);
  const auto model = make_model("baseline", small_sizes(), DType::F32);
  check_refused([&] { export_hf(ablation_named("baseline"), *model, {}, out + "/"); }, {out, "there already"},
                Exit::usage);
  CHECK(entries(out) == 0);
  check_refused([&] { export_hf(ablation_named("baseline"), *model, {}, folder / "none/out"); }, {"none"}, Exit::io);
}
