// eval_<ablation> logits: everything that a model computes on these tokens, as HDF5.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/implementation.h"
#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/io/file.h"
#include "engine/io/hdf5_file.h"
#include "engine/io/hdf5_reader.h"
#include "engine/io/output_kind.h"
#include "engine/precision.h"
#include "engine/tensor_view.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/input_options.h"
#include "eval/input_tokens.h"
#include "eval/vector_statistics.h"
#include "model/language_model.h"

namespace sink {
namespace {

constexpr const char* kFormat = "sinklab-logits";

// Datasets over all sequences, filled batch by batch.
class Datasets {
 public:
  Datasets(std::int64_t sequences, DType type) : N_(sequences), type_(type) {}

  void begin_batch(std::int64_t first_sequence) { first_ = first_sequence; }
  // The values of this batch, whose sequences are the first axis.
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
      dataset.tensor = Tensor();  // only one dataset at a time is in memory twice
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

// Of losses (B, T - 1); a target that is -1 has none.
double sum_over_targets(const Tensor& losses, const Tensor& targets_BT) {
  auto loss_BT = view<double, 2>(losses);
  auto target_BT = view<std::int32_t, 2>(targets_BT);
  double sum = 0;
  for (std::size_t b = 0; b < loss_BT.shape(0); ++b)
    for (std::size_t t = 0; t < loss_BT.shape(1); ++t)
      if (target_BT(b, t) >= 0) sum += loss_BT(b, t);
  return sum;
}

// Runs the model over N sequences of T tokens, `batch` sequences at a time, and writes tokens, logits and, if T > 1,
// losses, and for each of `layers` (from 0) its input and output hidden states, queries, keys, values and attention
// patterns.
// Values are stored as F64 if `type` is F64, else as F32. `attributes` are added to those that describe the contents.
// The file is built in memory and written atomically. Throws Error (Exit::io) for the disk.
void write_logits_file(const std::string& path, LanguageModel& model, const Batch& sequences,
                       const std::set<std::int64_t>& layers, std::int64_t batch, DType type,
                       const std::map<std::string, std::string>& attributes) {
  const std::int64_t N = sequences.sequences(), T = sequences.context();
  Datasets datasets(N, accumulate_type(type));
  Capture capture(datasets, layers);
  double loss = 0;
  for (std::int64_t first = 0; first < N; first += batch) {
    std::int64_t last = std::min(N, first + batch);
    Batch part = sequences.rows(first, last);
    datasets.begin_batch(first);
    const Tensor logits_BTV = model.logits(part.tokens_BT(), {.hooks = &capture}).to(Device::cpu);
    datasets.write("logits", "N T V", logits_BTV);
    if (T > 1) {
      const Tensor losses = token_losses(logits_BTV, part.tokens_BT());
      datasets.write("token_loss", "N T-1", losses);
      loss += sum_over_targets(losses, part.targets_BT()) / static_cast<double>(sequences.predicted());
    }
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
    image.add_tensor("tokens", sequences.tokens_BT(), "N T");
    if (T > 1) image.add_tensor("loss", Tensor::full({1}, loss, DType::F64), "1");
    datasets.add_to(image);
    auto [bytes, size] = image.bytes();
    write_file_atomically(path, {bytes, size});
  } catch (const Hdf5Failure& failure) { throw Error("cannot write " + path + ": " + failure.what(), Exit::io); }
}

bool is_logits_file(const std::string& path) {
  try {
    // The attributes can be at any offset of the file.
    auto attributes = Hdf5Reader(path).text_attributes();
    return std::find(attributes.begin(), attributes.end(), std::pair(std::string("format"), std::string(kFormat))) !=
           attributes.end();
  } catch (const Hdf5Failure&) { return false; }
}

const OutputKind kLogitsFile = {"a file of eval_<ablation> logits", is_logits_file};

struct LogitsOptions {
  std::string checkpoint, out;
  InputOptions given;
  ComputeOptions compute;
  std::vector<std::int64_t> layers;
  bool force = false;
};

// Those of --layers, or all `count`.
std::set<std::int64_t> layers_of(const LogitsOptions& options, std::int64_t count) {
  std::set<std::int64_t> layers(options.layers.begin(), options.layers.end());
  if (layers.empty())
    for (std::int64_t layer = 0; layer < count; ++layer) layers.insert(layer);
  for (const std::int64_t layer : layers)
    if (layer < 0 || layer >= count)
      throw Error("--layers must be from 0 to " + std::to_string(count - 1) + ", the layers of the model, got " +
                      std::to_string(layer),
                  Exit::usage);
  return layers;
}

int run_logits(const LogitsOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("logits needs --tokens FILE, --text or --text-file; see --help", Exit::usage);
  auto [checkpoint, model] = load_evaluated(options.checkpoint, ablation, options.compute);
  const Sizes& sizes = model->sizes();
  const Batch sequences = given_tokens(options.given.sequences(checkpoint, sizes), sizes.vocabulary, sizes.prefix, 1);
  require_output(options.out, kLogitsFile, options.force);
  const std::set<std::int64_t> layers = layers_of(options, sizes.layers);
  print_header(*model, options.checkpoint, ablation, options.compute);
  write_logits_file(options.out, *model, sequences, layers, options.compute.batch_of(sequences.context(), sizes.width),
                    stored_type(options.compute.precision),
                    {{"ablation", ablation.name},
                     {"policies", ablation.policies},
                     {"checkpoint", options.checkpoint},
                     {"precision", options.compute.precision},
                     {"commit", build_commit()}});
  std::printf("%s\n", options.out.c_str());
  return 0;
}

}  // namespace

EvalCommand logits_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<LogitsOptions>();
  options->given.min_tokens = 1;
  CLI::App* logits = app.add_subcommand(
      "logits",
      "Writes the logits and activations of tokens. The HDF5 file holds logits, losses (of one token none) and, of "
      "chosen layers, "
      "hidden states, queries, keys, values and attention patterns; engine/io/CHECKPOINT.md describes it.");
  logits->add_option("--checkpoint,--model,model", options->checkpoint, kWhatIsEvaluated)->required();
  add_tokens_option(logits, options->given, add_text_options(logits, options->given));
  logits->add_option("--data", options->given.data, "data folder of the tokenizer; for checkpoints without one");
  logits->add_option("--out", options->out, "HDF5 file to write; all of it is in memory until it is written")
      ->required();
  logits->add_flag("--force", options->force, "let --out replace a file that is no such HDF5");
  logits->add_option("--layers", options->layers, "layers of patterns and states, from 0, such as 0,3 [all]")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_compute_options(logits, options->compute, {"f32", "int8", "tf32", "f64"});
  return {logits, [options, ablation] { return run_logits(*options, ablation); }};
}

}  // namespace sink
