// Collectives of tensors on devices: sums in the order of ranks, and work that follows kernels. On GPUs each rank needs
// its own: as many ranks are tried as there are.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "engine/comm/host_communicator.h"
#include "engine/comm/launcher.h"
#include "engine/ops/add/add.h"
#include "tests/support/forked_ranks.h"
#include "tests/support/rank_numbers.h"

namespace sink {
namespace {

// Whether body(ranks) holds on all of them; where there are fewer GPUs than ranks that is said, and it counts as well.
bool holds_on(int size, const std::function<bool(Communicator&)>& body) {
  const std::vector<int> codes = in_ranks(size, [&](const RankPlace& place) {
    local_rank() = place.rank;
    const bool emulated = description_of(Device::cuda) == "cuda (emulated)";
    try {
      auto ranks =
          device_communicator(std::make_unique<HostCommunicator>(std::make_unique<SocketLinks>(place, 60)), 60);
      return body(*ranks) ? 0 : 1;
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return emulated ? 1 : static_cast<int>(error.code);  // each rank has its own emulated device
    }
  });
  const int code = *std::max_element(codes.begin(), codes.end());
  const bool too_few = code == static_cast<int>(Exit::usage);
  if (too_few) MESSAGE("not tried: ", size, " ranks need as many GPUs");
  return code == 0 || too_few;
}

}  // namespace

TEST_CASE("device ranks: sums in the order of ranks, to the bit of the CPU's, of what kernels have computed before") {
  for (int size : {1, 2, 3, 4, 8})
    CHECK(holds_on(size, [size](Communicator& ranks) {
      const std::int64_t count = 512 * size;
      Tensor whole = numbers_of_rank(ranks.rank(), count).to(Device::cuda),
             apart = Tensor::full({512}, 5, DType::F32, Device::cuda);
      Tensor twice = whole.clone();
      add_into(twice, whole);  // a kernel before the collective
      Tensor doubled = ranks.chunk_of(twice), chunk = ranks.chunk_of(whole);
      ranks.reduce_scatter(whole, apart, /*add=*/true);
      ranks.reduce_scatter(whole, chunk, /*add=*/false);
      ranks.all_gather(whole);
      ranks.reduce_scatter(twice, doubled, /*add=*/false);
      ranks.all_gather(twice);
      ranks.wait();
      Tensor found = whole.to(Device::cpu), found_twice = twice.to(Device::cpu), added = apart.to(Device::cpu);
      bool right = true;
      for (std::int64_t i = 0; i < count; ++i) {
        const float sum = sum_of_ranks(size, i);
        right &= found.item(i) == sum && found_twice.item(i) == 2 * sum;
      }
      for (std::int64_t i = 0; i < 512; ++i)
        right &= added.item(i) == sum_of_ranks(size, ranks.rank() * 512 + i, /*first=*/5);
      return expect(right, "sums in order");
    }));
}

TEST_CASE("device ranks: broadcast, gathers of f64 and bf16, and bytes of the host") {
  for (int size : {1, 3})
    CHECK(holds_on(size, [size](Communicator& ranks) {
      Tensor x = Tensor::full({7}, ranks.rank() + 3, DType::F64, Device::cuda);
      ranks.broadcast(x);
      Tensor all = Tensor::full({2 * size}, ranks.rank(), DType::BF16, Device::cuda);
      ranks.all_gather(all);
      ranks.wait();
      Tensor gathered = all.to(Device::cpu);
      bool right = x.to(Device::cpu).item(6) == 3 &&
                   ranks.exchange(std::to_string(ranks.rank())).back() == std::to_string(size - 1);
      for (std::int64_t i = 0; i < 2 * size; ++i) right &= gathered.item(i) == static_cast<double>(i / 2);
      return expect(right, "what came") && expect(ranks.name() == "nccl and sockets", ranks.name());
    }));
}

}  // namespace sink
