// A run on the emulated device is the same run on any number of ranks, to the bit, over a mock of NCCL.
#include <doctest/doctest.h>

#include "tests/support/rank_runs.h"

using namespace sink;

namespace {

// Every fourth: ranks_test has all on the CPU, and training_cuda_test all on the device.
std::function<std::string(Communicator&)> some_ablations_with(std::int64_t zero, const std::string& precision) {
  return [zero, precision](Communicator& ranks) {
    BytesByName bits;
    for (std::size_t n = 0; n < all_ablations().size(); n += 4) {
      const Ablation& ablation = all_ablations()[n];
      RunConfig config = shared_config(ablation);
      config.device = "cuda";
      config.precision = precision;
      config.zero = zero;
      config.eval_sequences = config.batch = 1;
      config.context = 12;
      TrainingRun run(config, ablation, ranks);
      bits[ablation.name] = bits_of_run(run, 1);
    }
    return packed(bits);
  };
}

}  // namespace

TEST_CASE("ranks on the device: ablations train to the same bits on 1, 2 and 4") {
  TemporaryFolder folder;
  const std::string one = bits_of_ranks(1, folder, some_ablations_with(0, "f32"), Device::cuda);
  CHECK(one.size() > 20);
  CHECK(bits_of_ranks(2, folder, some_ablations_with(1, "f32"), Device::cuda) == one);
  CHECK(bits_of_ranks(4, folder, some_ablations_with(0, "f32"), Device::cuda) == one);
}

TEST_CASE("ranks on the device: the optimiser's state sharded or whole, in bf16") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("baseline");
  auto with = [&](std::int64_t zero) {
    return [&, zero](Communicator& ranks) {
      RunConfig config = shared_config(ablation);
      config.device = "cuda";
      config.precision = "bf16";
      config.layers = 4;
      config.zero = zero;
      TrainingRun run(config, ablation, ranks);
      return bits_of_run(run, config.steps);
    };
  };
  const std::string one = bits_of_ranks(1, folder, with(0), Device::cuda);
  CHECK(bits_of_ranks(2, folder, with(0), Device::cuda) == one);
  CHECK(bits_of_ranks(4, folder, with(1), Device::cuda) == one);
}
