#include "eval/convert/logits_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <span>

#include "engine/implementation.h"
#include "engine/io/file.h"
#include "engine/io/hdf5_file.h"
#include "engine/io/hdf5_reader.h"
#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "eval/vector_statistics.h"

namespace sink {
namespace {

constexpr const char* kFormat = "sinklab-logits";

// Datasets of all sequences, filled batch by batch.
class Datasets {
 public:
  Datasets(std::int64_t sequences, DType type) : N_(sequences), type_(type) {}

  void begin_batch(std::int64_t first_sequence) { first_ = first_sequence; }
  // The values of this batch's sequences, which are the first axis.
  void write(const std::string& path, const std::string& axes, const Tensor& batch) {
    auto& [tensor, its_axes] = datasets_[path];
    if (!tensor.defined()) {
      Shape shape{N_};
      for (int axis = 1; axis < batch.rank(); ++axis) shape.append(batch.dim(axis));
      tensor = Tensor::empty(shape, type_);
      its_axes = axes;
    }
    tensor.rows(first_, first_ + batch.dim(0)).copy_from(batch);
  }
  void add_to(Hdf5Image& image) {
    for (auto& [path, dataset] : datasets_) {
      image.add_tensor(path, dataset.tensor, dataset.axes);
      dataset.tensor = Tensor();  // twice in memory only one at a time
    }
  }

 private:
  struct Dataset {
    Tensor tensor;
    std::string axes;
  };
  std::int64_t N_, first_ = 0;
  DType type_;
  std::map<std::string, Dataset> datasets_;
};

struct Capture final : HiddenStateHooks {
  Capture(Datasets& datasets, std::set<std::int64_t> layers) : datasets(datasets), layers(std::move(layers)) {}

  void hidden_state(std::int64_t l, const Tensor& x_BTC) override {
    if (layers.contains(l) || layers.contains(l - 1)) datasets.write("hidden/" + std::to_string(l), "N P C", x_BTC);
  }
  void residual_before_norm(std::int64_t layer, const Tensor& x_BTC) override {
    if (layers.contains(layer)) datasets.write("hidden_before_norm/" + std::to_string(layer + 1), "N P C", x_BTC);
  }
  void attention(AttentionPoint& point) override {
    extra_key = point.has_extra_key;
    if (!layers.contains(point.layer)) return;
    std::string block = "blocks/" + std::to_string(point.layer) + "/";
    datasets.write(block + "query", "N H P D", point.q_BHTD);
    datasets.write(block + "key", "N G P D", point.k_BGTD);
    datasets.write(block + "value", "N G P D", point.v_BGTD);
    std::int64_t B = point.q_BHTD.dim(0), H = point.q_BHTD.dim(1), P = point.q_BHTD.dim(2),
                 keys = P + point.has_extra_key;
    Tensor maps = Tensor::empty({B, H, P, keys}, DType::F64);
    for (std::int64_t bh = 0; bh < B * H; ++bh)
      maps.slice(bh * P * keys, {P, keys}).copy_from(point.pattern(bh / H, bh % H));
    datasets.write(block + "attention", point.has_extra_key ? "N H P 1+P" : "N H P P", maps);
  }

  Datasets& datasets;
  std::set<std::int64_t> layers;
  bool extra_key = false;
};

// -log softmax(logits)[next token], (B, T - 1), in double.
Tensor token_losses(const Tensor& logits, const Tensor& tokens) {
  std::int64_t B = logits.dim(0), T = logits.dim(1), V = logits.dim(2);
  Tensor losses = Tensor::empty({B, T - 1}, DType::F64);
  auto tokens_BT = view<std::int32_t, 2>(tokens);
  auto loss_BT = view<double, 2>(losses);
  with_real(logits.dtype(), [&](auto zero) {
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t t = 0; t + 1 < T; ++t) {
        const std::span z_V(logits.data<decltype(zero)>() + (b * T + t) * V, static_cast<std::size_t>(V));
        const auto next = static_cast<std::size_t>(tokens_BT(b, t + 1));
        loss_BT(b, t) = log_sum_exp(z_V) - static_cast<double>(z_V[next]);
      }
  });
  return losses;
}

std::set<std::int64_t> checked_layers(const std::vector<std::int64_t>& layers, std::int64_t count) {
  for (std::int64_t layer : layers)
    if (layer < 0 || layer >= count)
      throw Error("expected layers from 0 to " + std::to_string(count - 1) + ", got " + std::to_string(layer),
                  Exit::usage);
  return {layers.begin(), layers.end()};
}

}  // namespace

void write_logits_file(const std::string& path, LanguageModel& model, const Tensor& tokens_NT,
                       const std::vector<std::int64_t>& layers, std::int64_t batch, DType type,
                       const std::map<std::string, std::string>& attributes) {
  std::int64_t N = tokens_NT.dim(0), T = tokens_NT.dim(1);
  Datasets datasets(N, accumulate_type(type));
  Capture capture(datasets, checked_layers(layers, model.sizes().layers));
  Batch sequences = given_tokens(tokens_NT, model.sizes().vocabulary, model.sizes().prefix);
  double loss = 0;
  for (std::int64_t first = 0; first < N; first += batch) {
    std::int64_t last = std::min(N, first + batch);
    Batch part = sequences.rows(first, last);
    datasets.begin_batch(first);
    // The loss as training computes it, which never sees the logits; all sequences have as many targets.
    loss += model.loss(part, 1, {.hooks = &capture}).value().item() * static_cast<double>(part.sequences()) /
            static_cast<double>(N);
    Tensor logits_BTV = model.logits(part.tokens_BT()).to(Device::cpu);
    datasets.write("logits", "N T V", logits_BTV);
    datasets.write("token_loss", "N T-1", token_losses(logits_BTV, part.tokens_BT()));
    std::fprintf(stderr, "%lld of %lld sequences\n", static_cast<long long>(last), static_cast<long long>(N));
  }
  try {
    Hdf5Image image(0);
    std::map<std::string, std::string> all = attributes;
    const Sizes& s = model.sizes();
    all["format"] = kFormat;
    all["version"] = "1";
    all["loss_unit"] = "nats per token";
    all["extra_tokens"] = std::to_string(model.extra_tokens());
    all["extra_key"] = capture.extra_key ? "column 0 of blocks/*/attention" : "none";
    all["axes_legend"] = "N sequence, T token, P position (" + std::to_string(T + model.extra_tokens()) +
                         ": the model's extra tokens first, then T), H head (" + std::to_string(s.heads) +
                         "), G key and value head (" + std::to_string(s.key_heads()) +
                         "), D head width, C width, V vocabulary";
    for (const auto& [name, text] : all) image.add_text_attribute(name, text);
    image.add_tensor("tokens", tokens_NT, "N T");
    image.add_tensor("loss", Tensor::full({1}, loss, DType::F64), "1");
    datasets.add_to(image);
    auto [bytes, size] = image.bytes();
    write_file_atomically(path, {bytes, size});
  } catch (const Hdf5Failure& failure) { throw Error("cannot write " + path + ": " + failure.what(), Exit::io); }
}

bool is_logits_file(const std::string& path) {
  try {
    // The attributes stand anywhere in the file, behind the numbers of a large one too.
    auto attributes = Hdf5Reader(path).text_attributes();
    return std::find(attributes.begin(), attributes.end(), std::pair(std::string("format"), std::string(kFormat))) !=
           attributes.end();
  } catch (const Hdf5Failure&) { return false; }
}

}  // namespace sink
