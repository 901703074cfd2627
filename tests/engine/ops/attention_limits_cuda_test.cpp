// Batches that a grid of the CUDA device cannot count.
#include <doctest/doctest.h>

#include "engine/ops/attention/cuda/attention_hopper_cuda.h"
#include "tests/engine/ops/attention_case.h"
#include "tests/support/check_refused.h"

using namespace sink;
using namespace sink::test;

TEST_CASE("attention in BF16: more sequences than a grid has rows of blocks are refused, with the limit") {
  if (cuda::has_hopper()) return;  // whose kernels count them with the heads
  AttentionCase c = AttentionCase(65536, 1, 1, 8, DType::BF16).to(Device::cuda);
  check_refused([&] { c.forward<Softmax>(); }, {"at most 65535 sequences", "got 65536 of 1", "--batch"}, Exit::usage);
}
