// llama2.c on disk: seven i32 (dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len; vocab_size is
// negative where the unembedding is not the embedding), which become metadata of these names; then f32, each kind of
// tensor for all layers together, with LLaMA's own names (parse_llama2c). The size of the file must match exactly.

#include "engine/io/weights/weight_file.h"

namespace sink {
namespace {

constexpr const char* kLlama2cNumbers[] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                           "n_kv_heads", "vocab_size", "seq_len"};

// Takes the tensors in the order of the file.
class Llama2cTensors {
 public:
  Llama2cTensors(ByteReader& reader, WeightFile& file, std::int64_t layers)
      : reader_(reader), file_(file), layers_(layers) {}

  void one(const std::string& name, const Shape& shape) {
    StoredTensor tensor{.name = name, .type = StoredType::F32, .shape = shape};
    tensor.bytes = stored_bytes(name, tensor.type, shape);
    tensor.data = reinterpret_cast<const unsigned char*>(reader_.take(tensor.bytes, name.c_str()).data());
    file_.add(std::move(tensor));
  }
  void of_each_layer(const char* name, const Shape& shape) {
    for (std::int64_t layer = 0; layer < layers_; ++layer) one("layers." + std::to_string(layer) + "." + name, shape);
  }

 private:
  ByteReader& reader_;
  WeightFile& file_;
  std::int64_t layers_;
};

void parse_llama2c(std::string_view bytes, WeightFile& file) {
  ByteReader reader(bytes);
  std::int64_t sizes[std::size(kLlama2cNumbers)];
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    MetadataValue value{kLlama2cNumbers[i], MetadataType::i32, reader.take(4, kLlama2cNumbers[i])};
    sizes[i] = value.integer();
    file.add(value);
  }
  bool shared = sizes[5] > 0;
  if (!shared) sizes[5] = -sizes[5];
  for (std::size_t i = 0; i < std::size(sizes); ++i)
    if (sizes[i] <= 0)
      throw WeightFailure(std::string("its ") + kLlama2cNumbers[i] + " is " + std::to_string(sizes[i]) +
                          "; expected a number above 0 (is it a file of llama2.c's version 0?)");
  auto [C, F, layers, heads, kv_heads, V, T] = sizes;
  if (C % heads != 0 || heads % kv_heads != 0)
    throw WeightFailure("its dim, n_heads and n_kv_heads are " + std::to_string(C) + ", " + std::to_string(heads) +
                        " and " + std::to_string(kv_heads) + "; expected each to divide the one before it");
  std::int64_t D = C / heads, G = kv_heads * D;

  Llama2cTensors tensors(reader, file, layers);
  tensors.one("tok_embeddings.weight", {V, C});
  tensors.of_each_layer("attention_norm.weight", {C});
  tensors.of_each_layer("attention.wq.weight", {C, C});
  tensors.of_each_layer("attention.wk.weight", {G, C});
  tensors.of_each_layer("attention.wv.weight", {G, C});
  tensors.of_each_layer("attention.wo.weight", {C, C});
  tensors.of_each_layer("ffn_norm.weight", {C});
  tensors.of_each_layer("feed_forward.w1.weight", {F, C});
  tensors.of_each_layer("feed_forward.w2.weight", {C, F});
  tensors.of_each_layer("feed_forward.w3.weight", {F, C});
  tensors.one("norm.weight", {C});
  tensors.one("freq_cis_real", {T, D / 2});
  tensors.one("freq_cis_imag", {T, D / 2});
  if (!shared) tensors.one("output.weight", {V, C});
  if (reader.left() > 0)
    throw WeightFailure("its sizes make " + std::to_string(reader.at()) + " bytes, and it has " +
                        std::to_string(bytes.size()));
}

}  // namespace

WeightFile read_llama2c(const std::string& path) { return read_weights(path, "llama2.c", parse_llama2c); }

}  // namespace sink
