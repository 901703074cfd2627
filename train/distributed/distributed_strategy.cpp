#include "train/distributed/distributed_strategy.h"

#include "train/distributed/data_parallel.h"
#include "train/distributed/single_process.h"
#include "train/run_config.h"

namespace sink {

std::unique_ptr<DistributedStrategy> make_distributed_strategy(ParameterArena& parameters, const RunConfig& config,
                                                               Communicator& ranks) {
  const bool ordered = config.gradient_sum == "ordered";
  if (ranks.is_single_process()) return std::make_unique<SingleProcess>(parameters, config.accumulate, ordered);
  require_ranks_divide(config, ranks.size());
  parameters.pad_sections(ranks.size());
  return std::make_unique<DataParallel>(parameters, ranks, config.accumulate / ranks.size(), ordered,
                                        /*shards_state=*/config.zero == 1);
}

}  // namespace sink
