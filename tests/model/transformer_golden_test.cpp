// The whole two-layer model against an independent PyTorch float64 implementation (tests/golden/model/make_golden.py):
// logits, loss, every gradient, ten optimiser steps and the sink metrics, for every ablation.
#include <doctest/doctest.h>

#include "autograd/tape.h"
#include "engine/reference_switch.h"
#include "eval/sink_score.h"
#include "model/ablations.h"
#include "model/transformer.h"
#include "tests/support/compare.h"
#include "tests/support/golden_file.h"
#include "train/optimizer.h"

using namespace sink;

namespace {

template <class Spec>
std::string name_of_ablation();
#define SINK_NAMED(spec)                            \
  template <>                                       \
  std::string name_of_ablation<ablations::spec>() { \
    return #spec;                                   \
  }
SINK_NAMED(baseline)
SINK_NAMED(sigmoid)
SINK_NAMED(relu)
SINK_NAMED(learned)
SINK_NAMED(learned_sigmoid)
SINK_NAMED(learned_relu)

#define SINK_ALL_ABLATIONS                                                                                  \
  ablations::baseline, ablations::sigmoid, ablations::relu, ablations::learned, ablations::learned_sigmoid, \
      ablations::learned_relu

template <class Spec>
struct Golden {
  GoldenFile file{std::string(SINK_SOURCE_DIR) + "/tests/golden/model/" + name_of_ablation<Spec>() + ".h5"};
  Tensor tokens = file.tensor("tokens"), targets = file.tensor("targets");

  std::unique_ptr<LanguageModel> model(DType type) const {
    auto size = [&](const char* name) { return static_cast<std::int64_t>(file.attribute(name)); };
    Sizes sizes{size("layers"),       size("heads"),   size("width"),
                size("feed_forward"), size("context"), size("vocabulary")};
    auto model = std::make_unique<Transformer<Spec>>(sizes, InitScheme::torch, 0, type);
    CHECK(file.names("parameters").size() == model->parameters().size());
    for (const auto& parameter : model->parameters())
      parameter->mutable_master().copy_from(file.tensor("parameters/" + parameter->name()));
    model->refresh_parameters();
    return model;
  }
};

// Loss and all gradients within `relative` of the golden ones.
template <class Spec>
void check_gradients(DType type, double relative) {
  Golden<Spec> golden;
  auto model = golden.model(type);
  Tape tape;
  Var loss = model->loss(golden.tokens, golden.targets);
  check_close("loss", Tensor::full({1}, loss.value().item(), DType::F64),
              Tensor::full({1}, golden.file.tensor("loss").item(), DType::F64), relative);
  tape.backward(loss);
  for (const auto& parameter : model->parameters())
    check_close("gradient of " + parameter->name(), parameter->var().grad(),
                golden.file.tensor("gradients/" + parameter->name()), relative);
}

}  // namespace

TEST_CASE_TEMPLATE("golden model: logits, loss and every gradient in double equal PyTorch's to 1e-10", Spec,
                   SINK_ALL_ABLATIONS) {
  Golden<Spec> golden;
  check_close("logits", golden.model(DType::F64)->logits(golden.tokens), golden.file.tensor("logits"), 1e-10);
  check_gradients<Spec>(DType::F64, 1e-10);
}

TEST_CASE_TEMPLATE("golden model: the fast path in f32 agrees to 1e-5", Spec, SINK_ALL_ABLATIONS) {
  check_gradients<Spec>(DType::F32, 1e-5);
}

TEST_CASE_TEMPLATE("golden model: --reference agrees, f32 to 1e-5", Spec, SINK_ALL_ABLATIONS) {
  use_reference() = true;
  check_gradients<Spec>(DType::F32, 1e-5);
  use_reference() = false;
}

TEST_CASE_TEMPLATE("golden training: ten AdamW steps with clipping equal PyTorch's to 1e-10", Spec,
                   SINK_ALL_ABLATIONS) {
  Golden<Spec> golden;
  auto model = golden.model(DType::F64);
  auto setting = [&](const char* name) { return golden.file.attribute(name); };
  RunConfig config;
  config.beta1 = setting("beta1");
  config.beta2 = setting("beta2");
  config.adam_epsilon = setting("adam_eps");
  config.weight_decay = setting("weight_decay");
  config.clip = setting("clip");
  Optimizer optimizer(*model, config);
  Tensor losses = Tensor::empty({10}, DType::F64), norms = Tensor::empty({10}, DType::F64);
  for (std::int64_t step = 1; step <= 10; ++step) {
    Tape tape;
    Var loss = model->loss(golden.tokens, golden.targets);
    tape.backward(loss);
    losses.data<double>()[step - 1] = loss.value().item();
    norms.data<double>()[step - 1] = optimizer.gradient_norm();
    optimizer.step(setting("learning_rate"), optimizer.gradient_norm(), step);
  }
  check_close("losses", losses, golden.file.tensor("training/loss"), 1e-10);
  check_close("gradient norms", norms, golden.file.tensor("training/grad_norm"), 1e-10);
  for (const auto& parameter : model->parameters())
    check_close("final " + parameter->name(), parameter->master(),
                golden.file.tensor("training/parameters/" + parameter->name()), 1e-7);  // stored as float
}

TEST_CASE_TEMPLATE("golden metrics: alpha, Sink_k, row mass and norms equal PyTorch's on full maps", Spec,
                   SINK_ALL_ABLATIONS) {
  Golden<Spec> golden;
  auto model = golden.model(DType::F64);
  Evaluation e = evaluate(*model, golden.tokens, golden.targets, /*batch=*/2, /*with_map=*/true);
  CHECK(e.loss == doctest::Approx(golden.file.tensor("loss").item()).epsilon(1e-10));
  CHECK(e.row_mass == doctest::Approx(golden.file.tensor("metrics/row_mass").item()).epsilon(1e-10));

  auto check_scores = [&](const char* kind, const SinkScores& scores) {
    Tensor alpha = golden.file.tensor(std::string("metrics/alpha_") + kind);  // B, L, H, K
    Tensor sink = golden.file.tensor(std::string("metrics/sink_") + kind);    // epsilon, K
    std::int64_t K = alpha.dim(3), L = alpha.dim(1), H = alpha.dim(2), B = alpha.dim(0);
    for (std::int64_t k = 0; k < K; ++k) {
      double mean = 0;
      for (std::int64_t i = k; i < alpha.size(); i += K) mean += alpha.item(i) / static_cast<double>(B * L * H);
      CHECK(scores.alpha_k[static_cast<std::size_t>(k)] == doctest::Approx(mean).epsilon(1e-9));
      for (std::size_t eps = 0; eps < 3; ++eps)
        CHECK(scores.sink_k[eps][static_cast<std::size_t>(k)] ==
              doctest::Approx(sink.item(static_cast<std::int64_t>(eps) * K + k)).epsilon(1e-9));
    }
    for (std::int64_t l = 0; l < L; ++l)
      for (std::int64_t h = 0; h < H; ++h) {
        double mean = 0;
        for (std::int64_t b = 0; b < B; ++b) mean += alpha.item(((b * L + l) * H + h) * K) / static_cast<double>(B);
        CHECK(scores.alpha_1_layer_head[static_cast<std::size_t>(l)][static_cast<std::size_t>(h)] ==
              doctest::Approx(mean).epsilon(1e-9));
      }
  };
  check_scores("raw", e.raw);
  check_scores("proxy", e.proxy);

  // Norms: the golden file has them per sequence (and head), averaged here.
  auto check_norms = [&](const char* name, const std::vector<std::vector<double>>& norms) {
    Tensor golden_norms = golden.file.tensor(std::string("metrics/") + name);
    std::int64_t T = golden_norms.dim(-1), B = golden_norms.dim(0), rows = golden_norms.dim(1);
    std::int64_t H = golden_norms.rank() == 4 ? golden_norms.dim(2) : 1;
    for (std::int64_t l = 0; l < rows; ++l)
      for (std::int64_t t = 0; t < T; ++t) {
        double mean = 0;
        for (std::int64_t b = 0; b < B; ++b)
          for (std::int64_t h = 0; h < H; ++h)
            mean += golden_norms.item(((b * rows + l) * H + h) * T + t) / static_cast<double>(B * H);
        CHECK(norms[static_cast<std::size_t>(l)][static_cast<std::size_t>(t)] == doctest::Approx(mean).epsilon(1e-9));
      }
  };
  check_norms("hidden_norm", e.hidden_norm);
  check_norms("key_norm", e.key_norm);
  check_norms("value_norm", e.value_norm);

  Tensor maps = golden.file.tensor("attention_map");  // L, B, H, T, T
  std::int64_t T = maps.dim(4), B = maps.dim(1), H = maps.dim(2);
  for (std::int64_t i = 0; i < T; ++i)
    for (std::int64_t j = 0; j < T; ++j)
      CHECK(e.map.weights[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] ==
            doctest::Approx(maps.item(((e.map.layer * B * H + e.map.head) * T + i) * T + j)).epsilon(1e-9));
}
