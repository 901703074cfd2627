// Runs of tests on any number of ranks, and their bits.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/comm/host_communicator.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tests/support/files.h"
#include "tests/support/forked_ranks.h"
#include "train/distributed/sharded_state.h"

namespace sink {

inline RunConfig shared_config(const Ablation& ablation) {
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

inline std::unique_ptr<Communicator> communicator_of(const RankPlace& place, Device device) {
  if (place.size == 1) return make_single_process();
  auto host = std::make_unique<HostCommunicator>(std::make_unique<SocketLinks>(place, 60));
  return device == Device::cpu ? std::move(host) : device_communicator(std::move(host), 60);
}

inline void append(std::string& bits, const void* data, std::size_t bytes) {
  bits.append(static_cast<const char*>(data), bytes);
}

// Losses, norms and what was measured, and at the end every parameter and the optimiser's state by name; the writer's.
inline std::string bits_of_run(TrainingRun& run, std::int64_t steps) {
  std::string bits;
  for (std::int64_t step = 0; step < steps; ++step) {
    StepResult result = run.step();
    append(bits, &result.loss, sizeof result.loss);
    append(bits, &result.gradient_norm, sizeof result.gradient_norm);
  }
  Evaluation evaluation = run.evaluate();
  for (double x : {evaluation.loss, evaluation.proxy.alpha_1, evaluation.entropy, evaluation.hidden_norm[1][2],
                   evaluation.first_key_cosine[0][0]})
    append(bits, &x, sizeof x);
  for (const auto& parameter : run.model().parameters()) {
    if (!run.ranks().is_writer()) break;
    Tensor values = parameter->master().to(Device::cpu);
    append(bits, values.raw(), values.bytes());
  }
  for (const OptimizerState& state : gather_optimizer_state(run)) {
    Tensor values = state.values;
    bits += state.name;
    append(bits, values.raw(), values.bytes());
  }
  return bits;
}

// What `run(ranks)` gave the writer of `size` ranks.
inline std::string bits_of_ranks(int size, const TemporaryFolder& folder,
                                 const std::function<std::string(Communicator&)>& run, Device device = Device::cpu) {
  const std::string file = folder / ("bits-" + std::to_string(size));
  std::vector<int> codes = in_ranks(size, [&](const RankPlace& place) {
    set_thread_count(1);
    auto ranks = communicator_of(place, device);
    std::string bits = run(*ranks);
    if (ranks->is_writer()) write_bytes(file, bits);
    ranks->exchange("done");
    return 0;
  });
  CHECK(codes == std::vector<int>(static_cast<std::size_t>(size), 0));
  return read_bytes(file);
}

// Bits by name, as one text in which a difference can be found.
using BytesByName = std::map<std::string, std::string>;
inline std::string packed(const BytesByName& named) {
  std::string text;
  for (const auto& [name, bits] : named) text += name + " " + std::to_string(std::hash<std::string>{}(bits)) + "\n";
  return text;
}

}  // namespace sink
