// Folders with quantized weights, against the logits of transformers in float64 or of the formulas of their kinds
// (tests/golden/open/make_quantized.py).
#include "model/open/quantized.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "engine/io/file.h"
#include "model/open/open_model.h"
#include "tests/model/open_golden.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "tests/support/weight_bytes.h"

using namespace sink;
using namespace sink::test;

namespace {

const std::string kFolders = std::string(SINK_SOURCE_DIR) + "/tests/golden/open/quantized/";

struct Kind {
  const char *name, *family;
  StoredType type;
};
constexpr Kind kKinds[] = {
    {"mxfp4", "gpt_oss", StoredType::MXFP4},
    {"fp8", "llama", StoredType::ScaledF8},
    {"compressed_fp8", "llama", StoredType::ScaledF8},
    {"compressed_4", "llama", StoredType::Scaled4},
    {"gptq", "llama", StoredType::Scaled4},
    {"gptq_v2", "llama", StoredType::Scaled4},
    {"awq", "llama", StoredType::Scaled4},
};

// A copy of a folder with `from` in one of its files replaced by `to`.
std::string edited(const TemporaryFolder& folder, const std::string& name, const std::string& file,
                   const std::string& from, const std::string& to) {
  const std::string copy = folder.path + "/" + name;
  std::filesystem::remove_all(copy);
  std::filesystem::copy(kFolders + name, copy);
  std::string bytes = read_file("test", copy + "/" + file);
  const std::size_t at = bytes.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  write_file_atomically(copy + "/" + file, bytes.replace(at, from.size(), to));
  return copy;
}

// The bytes of a safetensors file with one more vector of 64 F16.
std::string with_vector(const std::string& bytes, const std::string& name, const std::string& numbers) {
  REQUIRE(numbers.size() == 128);
  std::uint64_t size;
  std::memcpy(&size, bytes.data(), sizeof size);
  const std::string header = bytes.substr(sizeof size, size), data = bytes.substr(sizeof size + size);
  const std::string offsets = std::to_string(data.size()) + "," + std::to_string(data.size() + 128);
  const std::string entry =
      "{\"" + name + R"(":{"dtype":"F16","shape":[64],"data_offsets":[)" + offsets + "]}," + header.substr(1);
  return safetensors_bytes(entry, data + numbers);
}

// The bytes of all tensors, in the order of their names.
std::string bytes_of(const OpenModel& model) {
  std::map<std::string, std::string> all;
  for (const StoredTensor& tensor : model.file->tensors())
    all[tensor.name] = {reinterpret_cast<const char*>(tensor.data), tensor.bytes};
  std::string bytes;
  for (const auto& [name, one] : all) bytes += name + one;
  return bytes;
}

}  // namespace

TEST_CASE("quantized: the logits of each kind are those of its weights, in place and as numbers") {
  const ExpectedValues expected("open/quantized/logits.safetensors");
  for (const Kind& kind : kKinds) {
    const Ablation* program = program_of(kind.family);
    if (!program) continue;
    CAPTURE(std::string(kind.name));
    const OpenModel open = open_model(kFolders + kind.name);
    const Tensor tokens_BT = expected.tensor(std::string(kind.name) + "/tokens");
    const Tensor logits_BTV = expected.tensor(std::string(kind.name) + "/logits");
    int quantized = 0;
    for (const StoredTensor& tensor : open.file->tensors()) quantized += tensor.type == kind.type;
    CHECK(quantized == (kind.type == StoredType::MXFP4 ? 2 : 7));
    const double narrow = open.config.sizes.experts > 0 ? 0.25 : 0.1;
    for (auto [type, tolerance] : {std::pair{DType::F64, 1e-6}, {DType::F32, 1e-5}, {DType::BF16, narrow}}) {
      CAPTURE(std::string(name_of(type)));
      auto model = open.load(*program, type);
      CHECK(relative_difference(model->logits(tokens_BT).to(DType::F64), logits_BTV) < tolerance);
    }
    CHECK((model_note(open).find("not rounded to FP8") != std::string::npos) == (std::string(kind.name) == "fp8"));
  }
}

TEST_CASE("quantized: what published folders write in other words is the same model") {
  const Ablation* llama = program_of("llama");
  if (!llama) return;
  const TemporaryFolder folder;
  auto same = [&](const std::string& name, const std::string& from, const std::string& to) {
    CAPTURE(to);
    CHECK(bytes_of(open_model(edited(folder, name, "config.json", from, to))) == bytes_of(open_model(kFolders + name)));
  };
  same("gptq_v2", "\"checkpoint_format\"", "\"format\"");
  same("gptq", "\"bits\": 4", "\"bits\": 4, \"format\": \"gptq\", \"checkpoint_format\": \"gptq\"");
  same("awq", "\"version\"", "\"format\"");
  same("awq", "\"group_size\"", "\"q_group_size\"");
  same("fp8", "32,\n      32\n", "32,\n      32\n    ],\n    \"modules_to_not_convert\": [\n      \"lm_head\"\n");
  same("compressed_fp8", "\"kv_cache_scheme\": null",
       "\"kv_cache_scheme\": null, \"sparsity_config\": {\"format\": \"dense\", \"global_sparsity\": 0.1}");
  // Biases of zeros, of a family without.
  const std::string copy = edited(folder, "gptq", "config.json", "\"bits\"", "\"bits\""),
                    file = copy + "/model.safetensors";
  const std::string bytes = read_file("test", file), bias = "model.layers.0.mlp.down_proj.bias";
  write_file_atomically(file, with_vector(bytes, bias, std::string(128, '\0')));
  CHECK(open_model(copy).load(*llama, DType::F32));
  write_file_atomically(file, with_vector(bytes, bias, std::string(127, '\0') + '\x3C'));
  check_refused([&] { open_model(copy).load(*llama, DType::F32); }, {"has no place for", bias},
                Exit::corrupt_checkpoint);
}

TEST_CASE("quantized: what is not computed as config.json says, and what does not fit, is refused by name") {
  if (!program_of("llama") || !program_of("gpt_oss")) return;
  const TemporaryFolder folder;
  auto refused = [&](const std::string& name, const std::string& from, const std::string& to,
                     std::initializer_list<std::string> parts, const char* file = "config.json") {
    CAPTURE(name);
    CAPTURE(to);
    const std::string path = edited(folder, name, file, from, to);
    check_refused([&] { open_model(path); }, parts, Exit::corrupt_checkpoint);
  };
  auto tensors_refused = [&](const std::string& name, const std::string& from, const std::string& to,
                             std::initializer_list<std::string> parts) {
    REQUIRE(from.size() == to.size());
    refused(name, from, to, parts, "model.safetensors");
  };
  refused("gptq", "\"bits\": 4", "\"bits\": 3", {"`bits` must be 4", "got 3"});
  refused("gptq", "\"group_size\": 32", "\"group_size\": 16", {"`group_size`", "multiple of 32"});
  refused("gptq", "\"group_size\": 32", "\"group_size\": 64", {"scales", "a scale for each 64 of 96 rows"});
  refused("gptq", "\"bits\": 4", "\"bits\": 4, \"checkpoint_format\": \"marlin\"", {"`checkpoint_format`", "marlin"});
  refused("gptq", "\"bits\": 4", "\"bits\": 4, \"format\": \"gptq\", \"checkpoint_format\": \"gptq_v2\"",
          {"`format` must be \"gptq_v2\" or null, got \"gptq\"; expected the model before it was quantized"});
  refused("gptq", "\"bits\": 4", "\"bits\": 4, \"rotation\": \"hadamard\"", {"`rotation`", "hadamard"});
  refused("gptq", "\"sym\": false", "\"sym\": true", {"qzeros", "a zero of", "`checkpoint_format` must be gptq_v2"});
  refused("gptq", "\"sym\": false,", "", {"qzeros", "by `sym`"});
  refused("awq", "\"gemm\"", "\"gemv\"", {"`version`", "gemv"});
  refused("awq", "\"version\": \"gemm\"", "\"format\": \"gemv\"", {"`format`", "gemv"});
  refused("awq", "\"version\": \"gemm\"", "\"backend\": \"llm-awq\"", {"`backend` is llm-awq"});
  refused("awq", "\"zero_point\": true", "\"zero_point\": false", {"`zero_point`"});
  refused("fp8", "\"dynamic\"", "\"static\"", {"`activation_scheme`", "static"});
  refused("fp8", "\"e4m3\"", "\"e5m2\"", {"`fmt`", "e5m2"});
  refused("fp8", "32,\n      32\n", "32,\n      48\n", {"down_proj.weight", "multiple of 32"});
  refused("fp8", "32,\n      32\n", "64,\n      32\n", {"_scale_inv", "(2, 3)", "expected (1, 3)", "get the folder"});
  refused("fp8", "32,\n      32\n", "9223372036854775807,\n      9223372036854775776\n", {"(2, 3)", "expected (1, 1)"});
  refused("fp8", "\"weight_block_size\"", "\"other\"", {"_scale_inv", "expected one scale, or 64 for the rows"});
  refused("compressed_4", "\"num_bits\": 4", "\"num_bits\": 2", {"`num_bits`"});
  refused("compressed_4", "\"symmetric\": true", "\"symmetric\": false", {"`symmetric`"});
  refused("compressed_fp8", "\"input_activations\": null", "\"input_activations\": {\"dynamic\": false}",
          {"`dynamic`"});
  refused("compressed_fp8", "\"input_activations\": null", "\"input_activations\": {\"num_bits\": 8}", {"`dynamic`"});
  refused("compressed_fp8", "\"kv_cache_scheme\": null", "\"kv_cache_scheme\": {\"num_bits\": 8}",
          {"`kv_cache_scheme`", "GGUF"});
  refused("compressed_fp8", "\"kv_cache_scheme\": null", "\"sparsity_config\": {\"format\": \"sparse-24-bitmask\"}",
          {"`format` must be \"dense\""});
  refused("compressed_4", "\"num_bits\": 4,", "", {"`num_bits` must be 4, got 8"});
  refused("compressed_fp8", "\"Linear\"", "\"re:.*q_proj\"", {"`targets`"});
  refused("mxfp4", "\"mxfp4\"", "\"hqq\"", {"the weights are quantized: `hqq`", "GGUF"});
  refused("mxfp4", "\"mxfp4\"", "\"awq\", \"bits\": 4, \"version\": \"gemm\", \"zero_point\": true, \"group_size\": 32",
          {"config.json says", "no tensor is"});
  tensors_refused("gptq", "q_proj.scales", "q_proj.scalez", {"has no tensor", "q_proj.scales"});
  tensors_refused("mxfp4", "down_proj_scales", "down_proj_scalez", {"has no tensor", "down_proj_scales"});
  tensors_refused("compressed_4", "[64,8]", "[8,64]", {"weight_packed"});
  tensors_refused("fp8", "\"shape\":[2,3]", "\"shape\":[3,2]", {"_scale_inv", "(3, 2)", "expected (2, 3)"});
  tensors_refused("compressed_fp8", "\"shape\":[64,1]", "\"shape\":[1,64]",
                  {"_scale", "(1, 64)", "or 64 for the rows"});
  tensors_refused("fp8", "\"F8_E4M3\"", "\"F8_E5M2\"", {"F8_E5M2", "which is not read"});

  // Bytes that are no weights: of E4M3, NaN, of a scale, infinity; GPTQ's columns in another order.
  auto with_bytes = [&](const std::string& name, const std::string& tensor, const std::string& bytes,
                        std::initializer_list<std::string> parts) {
    CAPTURE(tensor);
    const std::string copy = folder.path + "/bytes";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(kFolders + name, copy);
    const WeightFile file = open_weights(kFolders + name);
    const StoredTensor& one = file.tensor(tensor);
    std::string all = read_file("test", copy + "/model.safetensors");
    const std::size_t at = all.find({reinterpret_cast<const char*>(one.data), one.bytes});
    REQUIRE(at != std::string::npos);
    write_file_atomically(copy + "/model.safetensors", all.replace(at, bytes.size(), bytes));
    check_refused([&] { open_model(copy); }, parts, Exit::corrupt_checkpoint);
  };
  const std::string q = "model.layers.0.self_attn.q_proj", down = "model.layers.0.mlp.down_proj";
  with_bytes("fp8", q + ".weight", "\xFF", {q, "NaN at element 0"});
  with_bytes("fp8", q + ".weight_scale_inv", std::string("\0\0\x80\x7F", 4), {q, "not finite"});
  with_bytes("awq", q + ".scales", std::string("\0\x7C", 2), {q, "not finite"});
  with_bytes("gptq", down + ".g_idx", std::string("\1\0\0\0", 4), {down, "`desc_act`"});
  with_bytes("gptq", down + ".qzeros", std::string("\xF1", 1), {down, "a zero of 15"});
  with_bytes("compressed_4", down + ".weight_shape", std::string("\x20", 1), {down, "expected (64, 96)"});
}
