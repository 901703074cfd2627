// Training on the CUDA device against training on the CPU, for every ablation.
#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/checkpoint.h"
#include "engine/precision.h"
#include "model/all_ablations.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/files.h"
#include "tests/support/schedules.h"
#include "train/interrupt.h"
#include "train/optimizers/optimizers.h"
#include "train/resume.h"
#include "train/training_run.h"

using namespace sink;

namespace {

RunConfig tiny_config(const Ablation& ablation, const std::string& device, const std::string& precision = "f32") {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 2;
  bool wide = ablation.name.starts_with("bias_k_d");  // its key needs a head as wide
  config.heads = wide ? 1 : 4;
  config.width = wide ? 64 : 32;
  config.feed_forward = 48;
  config.context = 21;
  config.batch = 2;
  config.warmup = 0;
  config.seed = 3;
  config.steps = 10;
  config.eval_sequences = 10;
  config.device = device;
  config.precision = precision;
  return config;
}

// Emulated steps take long; a long step is not recorded.
constexpr double kNever = 1e9;

// |found - expected| relative to expected.
double error_of(double found, double expected) { return std::abs(found - expected) / std::abs(expected); }

std::string bits_of(const Tensor& x) {
  Tensor there = x.to(Device::cpu);
  return {static_cast<const char*>(there.raw()), there.bytes()};
}

}  // namespace

TEST_CASE("training on the device: gradients and losses of every ablation are the CPU's") {
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    TrainingRun host(tiny_config(ablation, "cpu"), ablation), device(tiny_config(ablation, "cuda"), ablation);
    CHECK(bits_of(device.model().parameters().masters()) == bits_of(host.model().parameters().masters()));
    for (TrainingRun* run : {&host, &device}) run->add_gradients(run->data().train_batch(0, 0, 2), 1);
    for (std::size_t n = 0; n < host.model().parameters().size(); ++n) {
      const Parameter &expected = *host.model().parameters()[n], &found = *device.model().parameters()[n];
      check_close(expected.name(), found.var().grad().to(Device::cpu), expected.var().grad(), 1e-5, 1e-9);
    }
    for (TrainingRun* run : {&host, &device}) run->optimizer().zero_grad();
    for (int step = 1; step <= 2; ++step) {
      double error = error_of(device.step().loss, host.step().loss);
      CHECK_MESSAGE(error <= 1e-4, "step ", step, " is off by ", error);
    }
  }
}

TEST_CASE("training on the device: bf16 losses of every ablation are near the CPU's") {
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    TrainingRun host(tiny_config(ablation, "cpu", "bf16"), ablation);
    TrainingRun device(tiny_config(ablation, "cuda", "bf16"), ablation);
    for (int step = 1; step <= 2; ++step) {
      double error = error_of(device.step().loss, host.step().loss);
      CHECK_MESSAGE(error <= 1e-2, "step ", step, " is off by ", error);
    }
  }
}

namespace {

struct WithTf32 {
  WithTf32() { use_tf32() = true; }
  ~WithTf32() { use_tf32() = false; }
};

std::vector<double> losses_of(TrainingRun& run, int steps) {
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) losses.push_back(run.step().loss);
  return losses;
}

}  // namespace

TEST_CASE("training on the device: tf32 losses are near those of f32 and other numbers, and runs go on in tf32") {
  TemporaryFolder folder;
  for (std::string name : {"baseline", "op_sigmoid_none", "bias_kv"}) {
    CAPTURE(name);
    const Ablation& ablation = ablation_named(name);
    TrainingRun f32(tiny_config(ablation, "cuda"), ablation), tf32(tiny_config(ablation, "cuda", "tf32"), ablation);
    std::vector<double> expected = losses_of(f32, 5), found;
    WithTf32 on;
    found = losses_of(tf32, 3);
    save_run(folder / "tf32.h5", tf32);
    for (double loss : losses_of(tf32, 2)) found.push_back(loss);
    for (std::size_t step = 0; step < 5; ++step) {
      CHECK(error_of(found[step], expected[step]) <= 1e-2);
      CHECK(error_of(found[step], expected[step]) > 1e-8);
    }
    TrainingRun again(tiny_config(ablation, "cuda", "tf32"), ablation);
    resume(folder / "tf32.h5", again);
    CHECK(losses_of(again, 2) == std::vector<double>(found.begin() + 3, found.end()));
    CHECK(load_checkpoint(folder / "tf32.h5").attribute("precision") == "tf32");
    check_refused([&] { resume(folder / "tf32.h5", f32); }, {"precision = \"tf32\"", "precision = \"f32\""},
                  Exit::usage);
  }
}

TEST_CASE("training on the device: the same bits in every run and under every schedule") {
  for (const char* name : {"baseline", "bias_kv", "pos_t5", "op_clipped", "bias_sinktoken"}) {
    CAPTURE(name);
    const Ablation& ablation = ablation_named(name);
    std::string first;
    for (unsigned schedule : {0u, 0u, 1u, 7u}) {
      cuda::Schedule only(schedule);
      TrainingRun run(tiny_config(ablation, "cuda", "bf16"), ablation);
      for (int step = 0; step < 3; ++step) run.step();
      std::string bits = bits_of(run.model().parameters().masters());
      if (first.empty()) first = bits;
      CHECK(bits == first);
    }
  }
}

TEST_CASE("training on the device: with every optimiser the same bits under every schedule, recorded or not") {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.name == RunConfig().optimizer) continue;  // which trains in the other cases
    CAPTURE(kind.name);
    const Ablation& ablation = ablation_named("baseline");
    RunConfig config = tiny_config(ablation, "cuda", "bf16");
    config.optimizer = kind.name;
    config.decay = "matrices";
    config.warmup = 3;
    std::string first;
    for (const char* graph : {"on", "off"})
      for (unsigned schedule : {0u, 7u}) {
        cuda::Schedule only(schedule);
        config.graph = graph;
        TrainingRun run(config, ablation);
        run.long_step_seconds = kNever;
        for (int step = 0; step < 4; ++step) run.step();
        CHECK(run.recording().replays() == (config.graph == "on"));
        std::string bits = bits_of(run.model().parameters().masters());
        for (const OptimizerState& state : run.optimizer().state()) bits += bits_of(state.values);
        if (first.empty()) first = bits;
        CHECK(bits == first);
      }
  }
}

TEST_CASE("training on the device: with --recompute the same bits") {
  for (std::string name : {"baseline", "bias_kv", "pos_t5"}) {
    CAPTURE(name);
    const Ablation& ablation = ablation_named(name);
    RunConfig config = tiny_config(ablation, "cuda", "bf16");
    TrainingRun kept(config, ablation);
    config.recompute = true;
    TrainingRun again(config, ablation);
    for (int step = 0; step < 2; ++step) CHECK(kept.step().loss == again.step().loss);
    CHECK(bits_of(kept.model().parameters().masters()) == bits_of(again.model().parameters().masters()));
  }
}

TEST_CASE("training on the device: a recorded step has the bits of one launched kernel by kernel") {
  for (std::string name : {"baseline", "bias_kv", "pos_t5", "norm_layer", "bias_sinktoken"}) {
    CAPTURE(name);
    const Ablation& ablation = ablation_named(name);
    RunConfig config = tiny_config(ablation, "cuda", "bf16");
    config.accumulate = name == "baseline" ? 3 : 1;
    config.recompute = name == "pos_t5";
    config.eval_sequences = 2;
    config.warmup = 3;  // so that the learning rate differs from step to step
    TrainingRun recorded(config, ablation);
    recorded.long_step_seconds = kNever;
    config.graph = "off";
    TrainingRun launched(config, ablation);
    for (int step = 1; step <= 4; ++step) {
      CHECK(recorded.step().loss == launched.step().loss);
      CHECK(recorded.recording().replays() == (step > 1));
      CHECK(!launched.recording().replays());
      if (step == 2) CHECK(recorded.evaluate().loss == launched.evaluate().loss);  // takes memory of its own
    }
    CHECK(bits_of(recorded.model().parameters().masters()) == bits_of(launched.model().parameters().masters()));
  }
}

TEST_CASE(
    "training on the device: a signal is heard between the micro-batches of a long step, whose bits are the same") {
  const Ablation& ablation = ablation_named("baseline");
  RunConfig config = tiny_config(ablation, "cuda");
  config.accumulate = 3;
  config.steps = 4;
  config.eval_sequences = 2;
  TrainingRun whole(config, ablation), run(config, ablation);
  whole.long_step_seconds = kNever;
  run.long_step_seconds = 0;
  CHECK(whole.train({}) == TrainingRun::Ending::complete);
  {
    InterruptGuard listening;
    run.step();
    run.step();
    CHECK_FALSE(run.recording().replays());
    const Tensor before = run.model().parameters().masters().to(Device::cpu).clone();
    std::raise(SIGTERM);
    CHECK_THROWS_AS(run.step(), Stopped);  // before its second micro-batch
    run.optimizer().zero_grad();
    CHECK(run.state().step == 2);
    CHECK(bits_of(run.model().parameters().masters()) == bits_of(before));
  }
  CHECK(run.train({}) == TrainingRun::Ending::complete);
  CHECK(bits_of(run.model().parameters().masters()) == bits_of(whole.model().parameters().masters()));
}

namespace {

// The task of a configuration, whose training batches `change(step, batch)` may make others of.
class ChangedData : public DataSource {
 public:
  using Change = std::function<Batch(std::int64_t step, const Batch& batch)>;
  ChangedData(const RunConfig& config, Change change)
      : source_(make_data_source(config, config.context, config.prefix)), change_(std::move(change)) {}
  std::int64_t vocabulary() const override { return source_->vocabulary(); }
  Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const override {
    return change_(step, source_->train_batch(step, micro, batch));
  }
  Batch validation_batch(std::int64_t first, std::int64_t batch) const override {
    return source_->validation_batch(first, batch);
  }
  std::int64_t validation_sequences() const override { return source_->validation_sequences(); }
  std::string token_text(std::int32_t id) const override { return source_->token_text(id); }
  std::int64_t train_tokens() const override { return source_->train_tokens(); }

 private:
  std::unique_ptr<DataSource> source_;
  Change change_;
};

// Every third step predicts another number of tokens.
Batch uneven(std::int64_t step, const Batch& whole) {
  Tensor targets_BT = whole.targets_BT().clone();
  if (step % 3 == 0) targets_BT.rows(0, 1).fill(-1);
  return {whole.tokens_BT(), targets_BT, whole.vocabulary()};
}

// At each step the documents begin elsewhere.
Batch of_documents(std::int64_t step, const Batch& whole) {
  std::int64_t B = whole.sequences(), T = whole.context();
  DocumentPlaces documents{Tensor::empty({B, T}, DType::I32), Tensor::empty({B, T}, DType::I32)};
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0, start = 0; t < T; ++t) {
      if ((t + step) % (5 + b) == 0) start = t;
      documents.starts_BT.data<std::int32_t>()[b * T + t] = static_cast<std::int32_t>(start);
      documents.positions_BT.data<std::int32_t>()[b * T + t] = static_cast<std::int32_t>(t - start);
    }
  return {whole.tokens_BT(), whole.targets_BT(), whole.vocabulary(), documents};
}

}  // namespace

TEST_CASE("training on the device: steps that predict other numbers of tokens are not taken from a recording") {
  const Ablation& ablation = ablation_named("baseline");
  RunConfig config = tiny_config(ablation, "cuda");
  TrainingRun recorded(config, ablation, std::make_unique<ChangedData>(config, uneven));
  recorded.long_step_seconds = kNever;
  config.graph = "off";
  TrainingRun launched(config, ablation, std::make_unique<ChangedData>(config, uneven));
  for (int step = 1; step <= 7; ++step) {
    CHECK(recorded.step().loss == launched.step().loss);
    CHECK(recorded.recording().replays() == (step % 3 == 0));  // the second of two that are alike
  }
}

TEST_CASE("training on the device: documents that lie elsewhere in each step, from a recording and as on the CPU") {
  for (std::string name : {"baseline", "pos_learnable", "bias_k"}) {
    CAPTURE(name);
    const Ablation& ablation = ablation_named(name);
    RunConfig config = tiny_config(ablation, "cuda");
    TrainingRun recorded(config, ablation, std::make_unique<ChangedData>(config, of_documents));
    recorded.long_step_seconds = kNever;
    config.graph = "off";
    TrainingRun launched(config, ablation, std::make_unique<ChangedData>(config, of_documents));
    config.device = "cpu";
    TrainingRun host(config, ablation, std::make_unique<ChangedData>(config, of_documents)), plain(config, ablation);
    for (int step = 1; step <= 4; ++step) {
      double loss = recorded.step().loss, expected = host.step().loss;
      CHECK(loss == launched.step().loss);
      CHECK(error_of(loss, expected) < 1e-5);
      CHECK(recorded.recording().replays() == (step > 1));
      CHECK(error_of(plain.step().loss, expected) > 1e-5);
    }
  }
}

TEST_CASE("training on the device: a run goes on bit by bit, and from one device to the other") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("bias_kv");
  TrainingRun whole(tiny_config(ablation, "cuda"), ablation), begun(tiny_config(ablation, "cuda"), ablation);
  for (int step = 0; step < 3; ++step) whole.step(), begun.step();
  save_run(folder / "begun.h5", begun);
  TrainingRun on_device(tiny_config(ablation, "cuda"), ablation), on_host(tiny_config(ablation, "cpu"), ablation);
  resume(folder / "begun.h5", on_device);
  resume(folder / "begun.h5", on_host);
  for (int step = 0; step < 3; ++step) {
    double expected = whole.step().loss;
    CHECK(on_device.step().loss == expected);
    CHECK(error_of(on_host.step().loss, expected) < 1e-4);
  }
  CHECK(bits_of(on_device.model().parameters().masters()) == bits_of(whole.model().parameters().masters()));

  save_run(folder / "host.h5", on_host);
  TrainingRun back(tiny_config(ablation, "cuda"), ablation);
  resume(folder / "host.h5", back);
  CHECK(error_of(back.step().loss, whole.step().loss) < 1e-4);
}

TEST_CASE("measuring on the device: loss and sinks are the CPU's") {
  for (const char* name : {"baseline", "op_sigmoid_none", "bias_kv", "bias_sinktoken", "kern_mlp_none", "norm_post"}) {
    CAPTURE(name);
    const Ablation& ablation = ablation_named(name);
    TrainingRun host(tiny_config(ablation, "cpu"), ablation), device(tiny_config(ablation, "cuda"), ablation);
    Evaluation expected = host.evaluate(true), found = device.evaluate(true);
    CHECK(error_of(found.loss, expected.loss) < 1e-6);
    CHECK(error_of(found.entropy, expected.entropy) < 1e-5);
    CHECK(error_of(found.row_sum, expected.row_sum) < 1e-5);
    CHECK(std::abs(found.zero_score_alpha_1_raw - expected.zero_score_alpha_1_raw) < 1e-5);
    CHECK(std::isnan(found.margin) == std::isnan(expected.margin));
    if (!std::isnan(expected.margin)) CHECK(error_of(found.margin, expected.margin) < 1e-4);
    for (std::size_t k = 0; k < expected.raw.alpha_k.size(); ++k) {
      CHECK(std::abs(found.raw.alpha_k[k] - expected.raw.alpha_k[k]) < 1e-5);
      CHECK(std::abs(found.proxy.alpha_k[k] - expected.proxy.alpha_k[k]) < 1e-5);
    }
    for (std::size_t n = 0; n < expected.patterns.weights.size(); ++n)
      if (expected.patterns.weights[n].defined())
        check_close("map", found.patterns.weights[n], expected.patterns.weights[n], 1e-5, 1e-6);
  }
}
