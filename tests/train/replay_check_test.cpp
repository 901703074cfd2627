// The replay check: no false alarm on any backend or number of ranks, the alarm for data and weights that change and
// for a rank that always computes the same wrong bits, and which share of single bit flips it sees, in activations and
// in matrix products of the emulated device.
#include "train/replay_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "engine/cuda/emulated/bit_flip.h"
#include "model/all_ablations.h"
#include "tests/support/built_ablations.h"
#include "tests/support/rank_runs.h"
#include "tests/support/subprocess.h"
#include "train/trainer.h"

using namespace sink;

namespace {

RunConfig tiny_config(const char* precision = "f32", bool reference = false, const char* device = "cpu") {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 2;
  config.heads = 2;
  config.width = 32;
  config.feed_forward = 64;
  config.context = 16;
  config.batch = 2;
  config.steps = 4;
  config.warmup = 0;
  config.precision = precision;
  config.reference = reference;
  config.device = device;
  return config;
}

void flip(Tensor tensor, std::int64_t element, int bit) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
  auto* byte = static_cast<unsigned char*>(tensor.raw()) + element * size + bit / 8;
  *byte = static_cast<unsigned char>(*byte ^ (1u << (bit % 8)));
}

// Flips one bit of the embeddings, of q, k or v, or of the output of a sublayer, as chosen at random.
struct FlipHooks final : ForwardHooks {
  std::mt19937_64& random;
  int place, bit;
  std::int64_t layer;
  FlipHooks(std::mt19937_64& random, int bit)
      : random(random),
        place(static_cast<int>(random() % 3)),
        bit(bit),
        layer(static_cast<std::int64_t>(random() % 2)) {}

  void embedding(Var& e) override {
    if (place == 0) flip_in_place(e.value());
  }
  void query_key_value(std::int64_t at, Var& q, Var& k, Var& v) override {
    if (place != 1 || at != layer) return;
    Var* of[] = {&q, &k, &v};
    flip_in_place(of[random() % 3]->value());
  }
  void sublayer_output(std::int64_t at, SublayerKind, Var& f) override {
    if (place == 2 && at == layer) flip_in_place(f.value());
  }
  void flip_in_place(const Tensor& x) {
    flip(x, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(x.size())), bit);
  }
};

// Changes the last element of one parameter's gradient when the backward pass reaches the embedding, after all others.
struct LastElementHooks final : ForwardHooks {
  struct Node {
    Gradient de;
    Tensor gradients;
    std::int64_t element;
    static constexpr const char* name = "last_element";
    void backward(const Tensor& dy) {
      flip(gradients, element, 0);
      de.accumulate(dy);
    }
  };
  const ParameterArena& parameters;
  std::int64_t element;
  LastElementHooks(const ParameterArena& parameters, std::int64_t element) : parameters(parameters), element(element) {}
  void embedding(Var& e) override { e = record<Node>(e.value(), e.gradient(), parameters.gradients(), element); }
};

// Training data of which one token is read wrong: another each time, or, stuck, always the same.
struct FaultyData final : DataSource {
  std::unique_ptr<DataSource> sound;
  std::int64_t first_step;
  bool stuck;
  mutable int reads = 0;
  FaultyData(const RunConfig& config, std::int64_t first_step, bool stuck)
      : sound(make_data_source(config, config.context)), first_step(first_step), stuck(stuck) {}
  std::int64_t vocabulary() const override { return sound->vocabulary(); }
  Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const override {
    const Batch read = sound->train_batch(step, micro, batch);
    if (step < first_step) return read;
    Tensor tokens_BT = read.tokens_BT().clone();
    std::int32_t& id = tokens_BT.data<std::int32_t>()[3];
    id = (id + (stuck ? 1 : ++reads)) % static_cast<std::int32_t>(vocabulary());
    return Batch(tokens_BT, read.targets_BT(), vocabulary());
  }
  Batch validation_batch(std::int64_t first, std::int64_t batch) const override {
    return sound->validation_batch(first, batch);
  }
  std::int64_t validation_sequences() const override { return sound->validation_sequences(); }
  std::string token_text(std::int32_t id) const override { return sound->token_text(id); }
  std::int64_t train_tokens() const override { return sound->train_tokens(); }
};

// How often `seen()` is true, with Wilson's 95 % interval.
double share_seen(const std::string& what, int trials, const std::function<bool()>& seen) {
  int found = 0;
  for (int n = 0; n < trials; ++n) found += seen();
  const double n = trials, p = found / n, z = 1.96, middle = (p + z * z / (2 * n)) / (1 + z * z / n),
               half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  MESSAGE(what, ": ", found, " of ", trials, " seen, ", 100 * (middle - half), " to ", 100 * (middle + half), " %");
  return p;
}

}  // namespace

TEST_CASE("replay check: sound runs have no difference, and are not changed by it") {
  for (const auto& [precision, reference, device] : {
           std::tuple("f32", false, "cpu"),
           std::tuple("bf16", false, "cpu"),
           std::tuple("f64", true, "cpu"),
#ifdef SINK_CUDA
           std::tuple("bf16", false, "cuda"),
#endif
       }) {
    CAPTURE(precision);
    CAPTURE(device);
    RunConfig config = tiny_config(precision, reference, device), checked = config;
    checked.replay_check = 1;
    apply_compute_options(config);
    TrainingRun plain(config, ablation_named("baseline")), run(checked, ablation_named("baseline"));
    CHECK_FALSE(replay_difference(run).has_value());
    CHECK(plain.train({}) == TrainingRun::Ending::complete);
    CHECK(run.train({}) == TrainingRun::Ending::complete);
    const Tensor a = plain.model().parameters().masters().to(Device::cpu),
                 b = run.model().parameters().masters().to(Device::cpu);
    CHECK(std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
  }
  apply_compute_options(RunConfig());
}

TEST_CASE("replay check: a run whose data changes stops before the step, with the reason") {
  RunConfig config = tiny_config();
  config.replay_check = 2;
  TrainingRun run(config, ablation_named("baseline"), std::make_unique<FaultyData>(config, 2, /*stuck=*/false));
  try {
    run.train({});
    FAIL("it was not noticed");
  } catch (const Error& error) {
    CHECK(error.code == Exit::device);
    CHECK(std::string(error.what()).find("before step 3, a micro-batch computed twice has other bits: the loss is") !=
          std::string::npos);
  }
  CHECK(run.state().step == 2);
  config.replay_check = 0;
  TrainingRun unchecked(config, ablation_named("baseline"), std::make_unique<FaultyData>(config, 2, /*stuck=*/false));
  CHECK(unchecked.train({}) == TrainingRun::Ending::complete);
}

TEST_CASE("replay check: the last element of a gradient counts") {
  TrainingRun run(tiny_config(), ablation_named("baseline"));
  const ParameterArena& parameters = run.model().parameters();
  for (std::size_t n = 0; n < parameters.size(); ++n) {
    const std::string name = parameters[n]->name();
    if (name.find("embedding") != std::string::npos) continue;  // its gradient comes last
    CAPTURE(name);
    LastElementHooks hooks(parameters, parameters[n]->segment().end - 1);
    CHECK(replay_difference(run, hooks).value_or("nothing").ends_with("the first is " + name));
  }
}

TEST_CASE("replay check: with several ranks, no false alarm, and the same run") {
  TemporaryFolder folder;
  auto trained = [](std::int64_t replay_check, std::int64_t zero) {
    return [=](Communicator& ranks) {
      RunConfig config = shared_config(ablation_named("baseline"));
      config.replay_check = replay_check;
      config.zero = zero;
      TrainingRun run(config, ablation_named("baseline"), ranks);
      run.train({});
      return bits_of_run(run, 0);
    };
  };
  const std::string one = bits_of_ranks(1, folder, trained(0, 0));
  CHECK(bits_of_ranks(2, folder, trained(1, 1)) == one);
  CHECK(bits_of_ranks(4, folder, trained(1, 0)) == one);
}

TEST_CASE("replay check: a rank that always makes the same error disagrees with both its neighbours") {
  TemporaryFolder folder;
  const std::string found = bits_of_ranks(4, folder, [](Communicator& ranks) {
    RunConfig config = shared_config(ablation_named("baseline"));
    std::unique_ptr<DataSource> data = make_data_source(config, config.context);
    if (ranks.rank() == 2) data = std::make_unique<FaultyData>(config, 0, /*stuck=*/true);
    TrainingRun run(config, ablation_named("baseline"), std::move(data), ranks);
    return replay_difference(run).value_or("nothing");
  });
  CHECK_MESSAGE(found.find("ranks 1 and 2: the loss is") == 0, found);
  CHECK_MESSAGE(found.find("; ranks 2 and 3: the loss is") != std::string::npos, found);
  CHECK_MESSAGE(found.find("ranks 0 and") == std::string::npos, found);
  CHECK_MESSAGE(found.find("ranks 3 and") == std::string::npos, found);
}

// A flip is missed where the value is not used or rounding removes the change.
TEST_CASE("replay check: which share of single bit flips in activations it sees") {
  std::mt19937_64 random(1);
  RunConfig config = tiny_config();
  TrainingRun run(config, ablation_named("baseline"));
  run.step();
  const auto share = [&](const std::string& what, int low, int high) {
    return share_seen(what + " of f32 activations", 300, [&] {
      FlipHooks hooks(random, low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low)));
      return replay_difference(run, hooks).has_value();
    });
  };
  CHECK(share("sign and exponent", 23, 32) > 0.9);
  CHECK(share("upper half of the mantissa", 12, 23) > 0.9);
  CHECK(share("lower half of the mantissa", 0, 12) > 0.3);
}

#ifdef SINK_EMULATED
// Factors are BF16, in the upper half of an F32; sums are F32, and most are rounded to BF16.
TEST_CASE("replay check: which share of single bit flips in matrix products of the emulated device it sees") {
  std::mt19937_64 random(1);
  const auto below = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  };
  RunConfig config = tiny_config("bf16", false, "cuda");
  config.layers = config.batch = 1;
  apply_compute_options(config);
  TrainingRun run(config, ablation_named("baseline"));
  run.step();
  emulated::flip_bit(std::nullopt);
  CHECK_FALSE(replay_difference(run).has_value());
  const std::int64_t products = emulated::counted_products() / 2;  // of one of the two computations
  REQUIRE(products > 10);
  using In = emulated::BitFlip::In;
  const auto share = [&](const std::string& what, std::initializer_list<In> places, int low, int high) {
    return share_seen(what, std::getenv("SINK_ALL_FLIPS") ? 100 : 40, [&] {
      emulated::flip_bit(emulated::BitFlip{.product = products + below(products),
                                           .in = places.begin()[below(std::ssize(places))],
                                           .row = below(1 << 20),
                                           .column = below(1 << 20),
                                           .depth = below(1 << 20),
                                           .bit = low + static_cast<int>(below(high - low))});
      const bool seen = replay_difference(run).has_value();
      emulated::flip_bit(std::nullopt);
      return seen;
    });
  };
  CHECK(share("sign and exponent of BF16 factors", {In::a, In::b}, 23, 32) > 0.7);
  CHECK(share("mantissa of BF16 factors", {In::a, In::b}, 16, 23) > 0.7);
  CHECK(share("sign and exponent of F32 sums", {In::sum}, 23, 32) > 0.7);
  CHECK(share("the mantissa of F32 sums that BF16 has, too", {In::sum}, 16, 23) > 0.7);
  CHECK(share("the rest of the mantissa of F32 sums", {In::sum}, 0, 16) > 0.1);
  CHECK_FALSE(replay_difference(run).has_value());
  apply_compute_options(RunConfig());
}
#endif

TEST_CASE("replay check: as a flag of training") {
  const TemporaryFolder folder;
  Subprocess run(folder,
                 words_of("train_baseline --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward "
                          "16 --batch 2 --steps 4 --replay-check 2 --run " +
                          folder / "run"));
  CHECK_MESSAGE(run.wait() == 0, run.err());
}
