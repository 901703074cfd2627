// A run is the same run on any number of ranks, to the bit: every ablation, every optimiser, however its state is kept,
// and whoever goes on with it.
#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "engine/comm/host_communicator.h"
#include "engine/comm/tcp_links.h"
#include "engine/device.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "tests/support/forked_ranks.h"
#include "train/resume.h"
#include "train/shared_state.h"

using namespace sink;

namespace {

RunConfig shared_config(const Ablation& ablation) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 2;
  const bool wide = ablation.name.starts_with("bias_k_d");  // its key needs a head as wide
  config.heads = wide ? 1 : 4;
  config.width = wide ? 64 : 32;
  config.feed_forward = 48;
  config.context = 21;
  config.batch = 2;
  config.accumulate = 4;
  config.warmup = 0;
  config.seed = 3;
  config.steps = 3;
  config.eval_sequences = 5;
  config.clip = 0.1;  // so that the norm counts
  return config;
}

std::unique_ptr<Communicator> communicator_of(const RankPlace& place) {
  if (place.size == 1) return no_other_rank();
  return std::make_unique<HostCommunicator>(std::make_unique<TcpLinks>(place, 60));
}

void append(std::string& bits, const void* data, std::size_t bytes) {
  bits.append(static_cast<const char*>(data), bytes);
}

// Losses, norms and what was measured, and at the end every parameter and the optimiser's state by name; the writer's.
std::string bits_of_run(TrainingRun& run, std::int64_t steps) {
  std::string bits;
  for (std::int64_t step = 0; step < steps; ++step) {
    StepResult result = run.step();
    append(bits, &result.loss, sizeof result.loss);
    append(bits, &result.gradient_norm, sizeof result.gradient_norm);
  }
  Evaluation evaluation = run.evaluate();
  for (double x : {evaluation.loss, evaluation.proxy.alpha_1(), evaluation.entropy, evaluation.hidden_norm[1][2],
                   evaluation.first_key.cosine[0][0]})
    append(bits, &x, sizeof x);
  const Tensor masters = whole_masters(run);
  for (const auto& parameter : run.model().parameters()) {
    if (!run.ranks().is_writer()) break;
    Tensor values =
        masters.defined() ? ParameterArena::slice(masters, *parameter) : parameter->master().to(Device::cpu);
    append(bits, values.raw(), values.bytes());
  }
  for (const OptimizerState& state : whole_state(run)) {
    Tensor values = state.values;
    bits += state.name;
    append(bits, values.raw(), values.bytes());
  }
  return bits;
}

// What `run(ranks)` gave the writer of `size` ranks.
std::string bits_of_ranks(int size, const TemporaryFolder& folder,
                          const std::function<std::string(Communicator&)>& run) {
  const std::string file = folder / ("bits-" + std::to_string(size));
  std::vector<int> codes = in_ranks(size, [&](const RankPlace& place) {
    set_thread_count(1);
    auto ranks = communicator_of(place);
    std::string bits = run(*ranks);
    if (ranks->is_writer()) write_bytes(file, bits);
    ranks->exchange("done");
    return 0;
  });
  CHECK(codes == std::vector<int>(static_cast<std::size_t>(size), 0));
  return read_bytes(file);
}

// Bits by name, as one text in which a difference can be found.
using Named = std::map<std::string, std::string>;
std::string packed(const Named& named) {
  std::string text;
  for (const auto& [name, bits] : named) text += name + " " + std::to_string(std::hash<std::string>{}(bits)) + "\n";
  return text;
}

}  // namespace

TEST_CASE("ranks: every ablation trains to the same bits on 1, 2 and 4, with its state in parts or whole") {
  TemporaryFolder folder;
  auto all = [](std::int64_t zero) {
    return [zero](Communicator& ranks) {
      Named bits;
      for (const Ablation& ablation : all_ablations()) {
        RunConfig config = shared_config(ablation);
        config.zero = zero;
        TrainingRun run(config, ablation, ranks);
        bits[ablation.name] = bits_of_run(run, config.steps);
      }
      return packed(bits);
    };
  };
  const std::string one = bits_of_ranks(1, folder, all(0));
  CHECK(one.size() > 100);
  CHECK(bits_of_ranks(2, folder, all(0)) == one);
  CHECK(bits_of_ranks(4, folder, all(1)) == one);
  CHECK(bits_of_ranks(2, folder, all(3)) == one);
}

TEST_CASE("ranks: every optimiser and precision, clipped or not, recomputed or not, summed by the reference") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("baseline");
  auto all = [&](std::int64_t zero) {
    return [&, zero](Communicator& ranks) {
      Named bits;
      auto add = [&](const std::string& name, const std::function<void(RunConfig&)>& change, bool shards = true) {
        RunConfig config = shared_config(ablation);
        change(config);
        config.zero = shards ? zero : 0;
        TrainingRun run(config, ablation, ranks);
        bits[name] = bits_of_run(run, config.steps);
      };
      for (std::string optimizer : {"adamw", "sgd", "lion", "muon", "orthoadam"})
        add(
            optimizer, [&](RunConfig& c) { c.optimizer = optimizer; }, optimizer != "muon" && optimizer != "orthoadam");
      for (std::string precision : {"bf16", "f64"}) add(precision, [&](RunConfig& c) { c.precision = precision; });
      add("five blocks", [](RunConfig& c) { c.layers = 5; });
      add("five blocks, recomputed in bf16", [](RunConfig& c) {
        c.layers = 5;
        c.recompute = true;
        c.precision = "bf16";
      });
      add("one block", [](RunConfig& c) { c.layers = 1; });
      add("not clipped", [](RunConfig& c) { c.clip = 0; });
      add("recomputed", [](RunConfig& c) { c.recompute = true; });
      add("matrices decay", [](RunConfig& c) { c.decay = "matrices"; });
      add("targets of another number each", [](RunConfig& c) { c.prefix = 5; });
      return packed(bits);
    };
  };
  const std::string one = bits_of_ranks(1, folder, all(0));
  CHECK(bits_of_ranks(2, folder, all(1)) == one);
  CHECK(bits_of_ranks(4, folder, all(0)) == one);
  CHECK(bits_of_ranks(2, folder, all(3)) == one);
}

TEST_CASE("ranks: micro-batches are summed in their order, which a sum rank by rank is not") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("baseline");
  auto summed = [&](const std::string& how, std::int64_t zero = 0) {
    return [&, how, zero](Communicator& ranks) {
      RunConfig config = shared_config(ablation);
      config.gradient_sum = how;
      config.zero = zero;
      TrainingRun run(config, ablation, ranks);
      return bits_of_run(run, config.steps);
    };
  };
  const std::string ordered = bits_of_ranks(1, folder, summed("ordered"));
  const std::string fast = bits_of_ranks(2, folder, summed("fast"));
  CHECK(bits_of_ranks(2, folder, summed("ordered")) == ordered);
  CHECK(fast != ordered);
  CHECK(bits_of_ranks(2, folder, summed("fast", 1)) == fast);
  // With one micro-batch a rank both are the same sum.
  CHECK(bits_of_ranks(4, folder, summed("fast")) == ordered);
}

TEST_CASE("ranks: a run goes on from 1 to 4 to 2 ranks, its state in parts or whole, as if it had never stopped") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("baseline");
  auto config_with = [&](std::int64_t zero) {
    RunConfig config = shared_config(ablation);
    config.steps = 9;
    config.zero = zero;
    return config;
  };
  const std::string whole = bits_of_ranks(1, folder, [&](Communicator& ranks) {
    TrainingRun run(config_with(0), ablation, ranks);
    for (int step = 0; step < 6; ++step) run.step();
    return bits_of_run(run, 3);
  });
  auto part = [&](std::int64_t zero, const std::string& from, const std::string& to) {
    return [&, zero, from, to](Communicator& ranks) {
      TrainingRun run(config_with(zero), ablation, ranks);
      std::vector<OptimizerState> state;
      if (!from.empty() && ranks.is_writer()) state = resume(folder / from, run);
      spread(run, state);
      if (to.empty()) return bits_of_run(run, 3);
      for (int step = 0; step < 3; ++step) run.step();
      save_run(folder / to, run);
      return std::string();
    };
  };
  bits_of_ranks(1, folder, part(0, "", "three.h5"));
  bits_of_ranks(4, folder, part(1, "three.h5", "six.h5"));
  CHECK(bits_of_ranks(2, folder, part(0, "six.h5", "")) == whole);
  bits_of_ranks(4, folder, part(3, "three.h5", "six-parts.h5"));
  CHECK(bits_of_ranks(2, folder, part(3, "six-parts.h5", "")) == whole);
  bits_of_ranks(4, folder, part(0, "three.h5", "six-whole.h5"));
  CHECK(bits_of_ranks(2, folder, part(1, "six-whole.h5", "")) == whole);
}

TEST_CASE("ranks: as many as divide the micro-batches, and no optimiser in parts that looks at whole matrices") {
  RunConfig config = shared_config(ablation_named("baseline"));
  require_ranks_divide(config, 4);
  check_refused([&] { require_ranks_divide(config, 3); }, {"3 ranks", "4 micro-batches", "--accumulate 3"},
                Exit::usage);
  config.batch = 6, config.accumulate = 1;
  check_refused([&] { require_ranks_divide(config, 3); }, {"--accumulate 3 --batch 2"}, Exit::usage);
}
