#include "model/open/quantized.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/stored/stored_type.h"
#include "engine/threads.h"

namespace sink {
namespace {

using Kind = Quantization::Kind;
constexpr std::int64_t kBlockSize = 32;  // elements of a block of all types that are made here
const std::string kInstead = "; expected the model before it was quantized, or a GGUF file of it";

// "MLX with 4 bits": what an object of quantization is, by its `quant_method`; MLX writes none.
std::string quantization_in(const ConfigJson& json) {
  const nlohmann::json& object = json.json();
  auto is_true = [&](const char* key) { return object.contains(key) && object[key] == true; };
  const std::string method = object.contains("quant_method") && object["quant_method"].is_string()
                                 ? object["quant_method"].get<std::string>()
                             : is_true("load_in_4bit") || is_true("load_in_8bit") ? "bitsandbytes"
                             : json.holds("group_size") && json.holds("bits")     ? "MLX"
                                                                                  : "";
  const bool is_name = method == "bitsandbytes" || method == "MLX";
  std::string text = method.empty() ? "a type that is not named" : is_name ? method : in_quotes(method);
  const char* bits = json.holds("bits") ? "bits" : "w_bit";
  if (json.holds(bits) && object[bits].is_number_integer()) text += " with " + counted(json.integer(bits), "bit");
  if (is_true("load_in_4bit")) text += " with 4 bits";
  if (is_true("load_in_8bit")) text += " with 8 bits";
  return text;
}

Quantization read_mxfp4(const ConfigJson&) { return {.kind = Kind::mxfp4}; }

void take_scale_sizes(const ConfigJson& json, const char* key, Quantization& how) {
  const std::vector<std::int64_t> size = json.integers(key);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) json.refuse(in_quotes(key) + " must be two sizes of at least 1");
  how.scale_rows = size[0];
  how.scale_columns = size[1];
}

Quantization read_fp8(const ConfigJson& json) {
  json.expect("fmt", {"e4m3", nullptr});
  json.expect("activation_scheme", {"dynamic", nullptr});
  Quantization how{.kind = Kind::fp8, .rounds_inputs = true};
  if (json.has("weight_block_size")) take_scale_sizes(json, "weight_block_size", how);
  return how;
}

std::int64_t group_in(const ConfigJson& json, const char* key) {
  const std::int64_t group = json.integer(key);
  if (group != -1 && (group < kBlockSize || group % kBlockSize != 0))
    json.refuse(in_quotes(key) + " must be a multiple of 32, or -1 for a row, got " + std::to_string(group));
  return group;
}

Quantization read_gptq(const ConfigJson& json) {
  json.expect("bits", {4});
  for (const char* key : {"checkpoint_format", "format"}) json.expect(key, {"gptq", "gptq_v2", "", nullptr});
  const std::string format = json.text("checkpoint_format", json.text("format", "gptq"));
  json.expect("format", {format, nullptr});
  json.expect("lm_head", {false, nullptr});
  json.expect("dynamic", {nlohmann::json::object(), nullptr});
  json.expect("pack_dtype", {"int32", nullptr});
  json.expect("rotation", {nullptr});
  return {.kind = Kind::gptq,
          .group = group_in(json, "group_size"),
          .zero = !json.has("sym") || json.flag("sym") ? 8 : 0,
          .zero_less = format == "gptq_v2" ? 0 : 1};
}

Quantization read_awq(const ConfigJson& json) {
  json.expect("bits", {4});
  json.expect("w_bit", {4});
  for (const char* key : {"version", "format", "checkpoint_format"}) json.expect(key, {"gemm", "GEMM", nullptr});
  if (json.text("backend", "") == "llm-awq") json.refuse("`backend` is llm-awq, whose order of codes is not read");
  json.expect("zero_point", {true});
  return {.kind = Kind::awq, .group = group_in(json, json.holds("q_group_size") ? "q_group_size" : "group_size")};
}

// One group of weights for all linear layers. What is missing is what compressed-tensors takes then.
Quantization read_compressed(const ConfigJson& json) {
  json.expect("format", {"pack-quantized", "float-quantized"});
  json.expect("quantization_status", {"compressed", "frozen", nullptr});
  for (const char* key : {"kv_cache_scheme", "transform_config"}) json.expect(key, {nlohmann::json::object(), nullptr});
  json.object("sparsity_config").expect("format", {"dense"});
  const ConfigJson groups = json.object("config_groups");
  if (groups.keys().size() != 1)
    json.refuse("`config_groups` must have one group, got " + std::to_string(groups.keys().size()));
  const ConfigJson group = groups.object(groups.keys()[0].c_str());
  const ConfigJson weights = group.object("weights").completed({{"num_bits", 8}, {"type", "int"}, {"symmetric", true}});
  group.expect("targets", {{"Linear"}});
  group.expect("format", {json.text("format"), nullptr});
  group.expect("output_activations", {nullptr});
  weights.expect("symmetric", {true});
  weights.expect("actorder", {nullptr, "static", "weight"});
  if (json.text("format") == "pack-quantized") {
    weights.expect("num_bits", {4});
    weights.expect("type", {"int"});
    weights.expect("strategy", {"group", "channel"});
    group.expect("input_activations", {nullptr});
    return {.kind = Kind::packed, .group = weights.text("strategy") == "group" ? group_in(weights, "group_size") : -1};
  }
  weights.expect("num_bits", {8});
  weights.expect("type", {"float"});
  weights.expect("strategy", {"tensor", "channel", "block"});
  if (group.has("input_activations"))
    group.object("input_activations").completed({{"dynamic", false}}).expect("dynamic", {true});
  Quantization how{.kind = Kind::fp8, .rounds_inputs = group.has("input_activations")};
  if (weights.text("strategy") == "block") take_scale_sizes(weights, "block_structure", how);
  return how;
}

// The tensors of a file with quantized weights, joined.
class Joining {
 public:
  Joining(const WeightFile& file, const Quantization& how) : file_(file), how_(how) {}

  void run() {
    for (const StoredTensor& tensor : file_.tensors()) {
      const std::string& name = tensor.name;
      auto stem = [&](const char* end) { return name.substr(0, name.size() - std::strlen(end)); };
      if (how_.kind == Kind::mxfp4 && name.ends_with("_blocks")) {
        join_mxfp4(stem("_blocks"), tensor);
      } else if (how_.kind == Kind::fp8 && tensor.type == StoredType::F8_E4M3) {
        join_fp8(tensor);
      } else if (how_.kind == Kind::gptq && name.ends_with(".qweight")) {
        join_gptq(stem(".qweight"), tensor);
      } else if (how_.kind == Kind::awq && name.ends_with(".qweight")) {
        join_awq(stem(".qweight"), tensor);
      } else if (how_.kind == Kind::packed && name.ends_with(".weight_packed")) {
        join_packed(stem(".weight_packed"), tensor);
      }
    }
    if (tensors_.empty())
      throw Error(printable(file_.path()) +
                      ": config.json says by `quantization_config` that weights are quantized, and "
                      "no tensor is; expected the config.json of these files",
                  Exit::corrupt_checkpoint);
    for (const StoredTensor& tensor : file_.tensors())
      if (!used_.contains(&tensor)) tensors_.push_back(tensor);
  }
  void give_to(WeightFile& file) { file.exchange(std::move(tensors_), std::move(owned_)); }

 private:
  void join_mxfp4(const std::string& name, const StoredTensor& blocks) {
    const StoredTensor& scales = part(name + "_scales");
    Shape shape = scales.shape, of_blocks = scales.shape;
    if (shape.rank() == 0 || shape.rank() == Shape::kMaxRank)
      refuse(scales, "expected a scale for each block of a row");
    of_blocks.append(16);
    expect(blocks, StoredType::U8, of_blocks);
    expect(scales, StoredType::U8, scales.shape);
    shape[-1] *= kBlockSize;
    join(name, StoredType::MXFP4, shape, {&blocks, &scales}, [&](std::int64_t i, unsigned char* block) {
      const unsigned char* pairs = blocks.data + 16 * i;  // codes 2 j and 2 j + 1
      auto code = [&](int j) { return pairs[j / 2] >> (j % 2 * 4) & 15; };
      block[0] = scales.data[i];
      for (int j = 0; j < 16; ++j) block[1 + j] = static_cast<unsigned char>(code(j) | code(j + 16) << 4);
    });
  }

  void join_fp8(const StoredTensor& codes) {
    const StoredTensor* inverse = file_.find(codes.name + "_scale_inv");
    const StoredTensor& scales = inverse ? *inverse : part(codes.name + "_scale");
    if (codes.shape.rank() != 2 || codes.shape.size() == 0 || !codes.name.ends_with(".weight"))
      refuse(codes, "expected matrices only to be F8_E4M3");
    const std::int64_t N = codes.shape[0], K = codes.shape[1];
    const bool in_blocks = how_.scale_rows > 0;
    const std::int64_t rows = in_blocks ? std::min(how_.scale_rows, N) : scales.shape.size() == 1 ? N : 1;
    const std::int64_t columns = in_blocks ? std::min(how_.scale_columns, K) : K;
    const std::int64_t of_rows = (N + rows - 1) / rows, of_columns = (K + columns - 1) / columns;
    if (columns % kBlockSize != 0) refuse(codes, "expected scales for a multiple of 32 elements of a row");
    if (in_blocks && scales.shape != Shape{of_rows, of_columns})
      refuse(scales, "expected " + Shape{of_rows, of_columns}.str() + " by the size of its blocks and of " +
                         in_quotes(codes.name) + " " + codes.shape.str());
    if (!in_blocks && scales.shape.size() != 1 && scales.shape != Shape{N} && scales.shape != Shape{N, 1})
      refuse(scales, "expected one scale, or " + std::to_string(N) + " for the rows of " + in_quotes(codes.name) + " " +
                         codes.shape.str() + ", because config.json has no size of blocks");
    expect_real(scales);
    for (std::int64_t i = 0; i < codes.shape.size(); ++i)
      if ((codes.data[i] & 0x7f) == 0x7f) refuse(codes, "is NaN at element " + std::to_string(i));
    join(codes.name, StoredType::ScaledF8, codes.shape, {&codes, &scales}, [&](std::int64_t i, unsigned char* block) {
      const std::int64_t n = kBlockSize * i / K, k = kBlockSize * i % K;
      const float scale = real_at(scales, n / rows * of_columns + k / columns);
      std::memcpy(block, &scale, 4);
      std::memcpy(block + 4, codes.data + kBlockSize * i, kBlockSize);
    });
  }

  void join_gptq(const std::string& name, const StoredTensor& words) {
    const StoredTensor &zeros = part(name + ".qzeros"), &scales = part(name + ".scales");
    const auto [N, K, group] = sizes_by_scales(words, scales, words.shape.rank() == 2 ? 8 * words.shape[0] : 0);
    expect(words, StoredType::I32, {K / 8, N});
    expect(zeros, StoredType::I32, {K / group, N / 8});
    const StoredTensor& order = part(name + ".g_idx");
    expect(order, StoredType::I32, {K});
    used_.insert(&order);
    for (std::int64_t k = 0; k < K; ++k)
      if (word_at(order, k) != k / group)
        refuse(order, "has columns in the order of their activations (`desc_act`), which is not read");
    for (std::int64_t i = 0; i < N * (K / group); ++i) {
      const std::int64_t stored = code_at(zeros, i / 8, i % 8), zero = stored + how_.zero_less;
      if (zero == 16) refuse(zeros, "has a zero of 15, which some programs take as 16 and some as 0");
      if (how_.zero > 0 && zero != how_.zero)
        refuse(zeros, "has a zero of " + std::to_string(stored) + " for " + std::to_string(zero) +
                          ", and by `sym` of config.json all are 8: where 8 is stored for it, `checkpoint_format` must "
                          "be gptq_v2");
    }
    join_codes(
        name, {N, K}, group, {&words, &zeros, &scales},
        [&, N = N](std::int64_t n, std::int64_t k) { return code_at(words, k / 8 * N + n, k % 8); },
        [&, N = N](std::int64_t n, std::int64_t g) { return real_at(scales, g * N + n); },
        [&, N = N](std::int64_t n, std::int64_t g) {
          return code_at(zeros, g * (N / 8) + n / 8, n % 8) + how_.zero_less;
        });
  }

  void join_awq(const std::string& name, const StoredTensor& words) {
    const StoredTensor &zeros = part(name + ".qzeros"), &scales = part(name + ".scales");
    const auto [N, K, group] = sizes_by_scales(words, scales, words.shape.rank() == 2 ? words.shape[0] : 0);
    expect(words, StoredType::I32, {K, N / 8});
    expect(zeros, StoredType::I32, {K / group, N / 8});
    constexpr int kPlace[] = {0, 4, 1, 5, 2, 6, 3, 7};  // of the code of each column in a word
    auto at = [&, N = N](const StoredTensor& tensor, std::int64_t row, std::int64_t n) {
      return code_at(tensor, row * (N / 8) + n / 8, kPlace[n % 8]);
    };
    join_codes(
        name, {N, K}, group, {&words, &zeros, &scales}, [&](std::int64_t n, std::int64_t k) { return at(words, k, n); },
        [&, N = N](std::int64_t n, std::int64_t g) { return real_at(scales, g * N + n); },
        [&](std::int64_t n, std::int64_t g) { return at(zeros, g, n); });
  }

  void join_packed(const std::string& name, const StoredTensor& words) {
    const StoredTensor &scales = part(name + ".weight_scale"), &shape = part(name + ".weight_shape");
    if (words.shape.rank() != 2 || words.shape.size() == 0) refuse(words, "expected rows of eight codes a word");
    const std::int64_t N = words.shape[0], K = 8 * words.shape[1], group = how_.group == -1 ? K : how_.group;
    expect(words, StoredType::I32, words.shape);
    if (shape.shape.size() != 2 || integer_at(shape, 0) != N || integer_at(shape, 1) != K)
      refuse(shape, "expected " + Shape{N, K}.str() + ", the sizes of " + in_quotes(words.name));
    if (K % group != 0 || scales.shape != Shape{N, K / group})
      refuse(scales,
             "expected a scale for each " + std::to_string(group) + " elements of a row of " + std::to_string(K));
    expect_real(scales);
    join_codes(
        name, {N, K}, group, {&words, &scales, &shape},
        [&](std::int64_t n, std::int64_t k) { return code_at(words, (n * K + k) / 8, k % 8); },
        [&](std::int64_t n, std::int64_t g) { return real_at(scales, n * (K / group) + g); },
        [](std::int64_t, std::int64_t) { return std::int64_t{8}; });
  }

  struct Sizes {
    std::int64_t N, K, group;
  };
  // Of scales (K / group, N).
  Sizes sizes_by_scales(const StoredTensor& words, const StoredTensor& scales, std::int64_t K) const {
    if (words.shape.rank() != 2 || scales.shape.rank() != 2) refuse(words, "expected a matrix, and one of scales");
    const std::int64_t N = scales.shape[1], group = how_.group == -1 ? K : how_.group;
    if (N % 8 != 0 || K == 0 || K % group != 0 || scales.shape[0] != K / group)
      refuse(scales, "expected a scale for each " + std::to_string(group) + " of " + std::to_string(K) +
                         " rows, and columns in eights");
    expect_real(scales);
    return {N, K, group};
  }

  // weight[n, k] = scale(n, group of k) * (code(n, k) - zero(n, group of k))
  template <class Code, class Scale, class Zero>
  void join_codes(const std::string& name, const Shape& shape, std::int64_t group,
                  std::initializer_list<const StoredTensor*> parts, Code code, Scale scale, Zero zero) {
    const std::int64_t K = shape[1];
    join(name + ".weight", StoredType::Scaled4, shape, parts, [&](std::int64_t i, unsigned char* block) {
      const std::int64_t n = kBlockSize * i / K, k = kBlockSize * i % K, g = k / group;
      const float d = scale(n, g), m = -d * static_cast<float>(zero(n, g));
      std::memcpy(block, &d, 4);
      std::memcpy(block + 4, &m, 4);
      for (int j = 0; j < 16; ++j) block[8 + j] = static_cast<unsigned char>(code(n, k + j) | code(n, k + j + 16) << 4);
    });
  }

  // Adds a tensor of blocks, each written by write(number, bytes), in the place of `parts`.
  template <class Write>
  void join(const std::string& name, StoredType type, const Shape& shape,
            std::initializer_list<const StoredTensor*> parts, Write write) {
    used_.insert(parts);
    const StoredTensor& first = **parts.begin();
    if (file_.find(name) && file_.find(name) != &first) refuse(first, "is there next to " + in_quotes(name));
    std::uint64_t bytes = 0;
    try {
      bytes = stored_bytes(name, type, shape);
    } catch (const WeightFailure& failure) { refuse(first, failure.what()); }
    auto& owned = owned_.emplace_back(new unsigned char[bytes]);
    const std::int64_t size = layout_of(type).bytes, blocks = static_cast<std::int64_t>(bytes) / size;
    parallel_for(blocks / 64 + 1, [&](std::int64_t piece) {
      for (std::int64_t i = 64 * piece; i < std::min(blocks, 64 * (piece + 1)); ++i) write(i, owned.get() + i * size);
    });
    tensors_.push_back({name, type, shape, owned.get(), static_cast<std::size_t>(bytes)});
  }

  const StoredTensor& part(const std::string& name) const { return file_.tensor(name); }
  static std::int64_t word_at(const StoredTensor& tensor, std::int64_t i) {
    std::int32_t word;
    std::memcpy(&word, tensor.data + 4 * i, sizeof word);
    return word;
  }
  static std::int64_t code_at(const StoredTensor& tensor, std::int64_t word, std::int64_t i) {
    return word_at(tensor, word) >> (4 * i) & 15;
  }
  static float real_at(const StoredTensor& tensor, std::int64_t i) {
    float value;
    decode(tensor.type, tensor.data + i * layout_of(tensor.type).bytes, 1, &value);
    return value;
  }
  static std::int64_t integer_at(const StoredTensor& tensor, std::int64_t i) {
    return tensor.type == StoredType::I32 || tensor.type == StoredType::I64
               ? static_cast<std::int64_t>(real_at(tensor, i))
               : -1;
  }

  void expect(const StoredTensor& tensor, StoredType type, const Shape& shape) const {
    if (tensor.type != type || tensor.shape != shape)
      refuse(tensor, "expected " + std::string(layout_of(type).name) + " " + shape.str());
  }
  void expect_real(const StoredTensor& scales) const {
    using enum StoredType;
    if (scales.type != F32 && scales.type != F16 && scales.type != BF16)
      refuse(scales, "expected scales in F32, F16 or BF16");
    if (first_not_finite(scales.type, scales.data, scales.shape.size()) >= 0)
      refuse(scales, "has scales that are not finite");
  }
  [[noreturn]] void refuse(const StoredTensor& tensor, const std::string& why) const {
    throw Error(printable(file_.path()) + ": the tensor " + in_quotes(tensor.name) + ", " +
                    layout_of(tensor.type).name + " " + tensor.shape.str() + ", is of quantized weights: " + why +
                    "; get the folder again from where it is from, or the model before it was quantized",
                Exit::corrupt_checkpoint);
  }

  const WeightFile& file_;
  const Quantization& how_;
  std::set<const StoredTensor*> used_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::unique_ptr<unsigned char[]>> owned_;
};

}  // namespace

// `compression_config` is the older name of compressed-tensors, `quantization` that of MLX.
std::optional<Quantization> quantization_of(const ConfigJson& json) {
  static const std::map<std::string, Quantization (*)(const ConfigJson&)> readers{
      {"mxfp4", read_mxfp4},
      {"fp8", read_fp8},
      {"gptq", read_gptq},
      {"awq", read_awq},
      {"compressed-tensors", read_compressed}};
  for (const char* key : {"quantization_config", "compression_config", "quantization"}) {
    if (!json.has(key)) continue;
    const bool is_named = json.is_object(key) && json.object(key).json().contains("quant_method") &&
                          json.object(key).json()["quant_method"].is_string();
    const auto reader = is_named ? readers.find(json.object(key).text("quant_method")) : readers.end();
    if (reader != readers.end()) return reader->second(json.object(key).with_advice(kInstead));
    const std::string what =
        json.is_object(key) ? quantization_in(json.object(key)) : std::string("a type that is not named");
    json.refuse("the weights are quantized: " + what + " (`" + key + "`), which is not read from a folder" + kInstead);
  }
  return std::nullopt;
}

void join_quantized(WeightFile& file, const Quantization& how) {
  Joining joining(file, how);
  joining.run();
  joining.give_to(file);
}

}  // namespace sink
