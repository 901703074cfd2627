// Reading part by part on the CUDA device.
#include <doctest/doctest.h>

#include "model/key_value_cache.h"
#include "tests/model/model_support.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

TEST_CASE("key and value cache: the CUDA device reads part by part as the CPU does at once") {
  constexpr std::int64_t T = 13, V = 31;
  const Tensor tokens = random_tokens(2, T, V);
  for (const char* name : {"baseline", "pos_learnable", "pos_alibi", "bias_k", "bias_sinktoken", "op_relu"}) {
    if (!is_built(name)) continue;
    CAPTURE(name);
    Sizes sizes = small_sizes();
    sizes.head_width = 16;
    const Tensor at_once = make_model(name, sizes, DType::F32)->logits(tokens);
    auto model = ablation_named(name).make_model(sizes, InitScheme::torch, 5, DType::F32, Device::cuda);
    for (auto positions : {KeyValueCache::Positions::of_text, KeyValueCache::Positions::of_cache}) {
      KeyValueCache cache(T + model->extra_tokens(), positions);
      double worst = 0;
      for (std::int64_t begin = 0, n = 5; begin < T; begin += n, n = std::min<std::int64_t>(4, T - begin)) {
        const Tensor part = Tensor::table<std::int32_t>(
            2, n, [&](std::int64_t b, std::int64_t t) { return tokens.data<std::int32_t>()[b * T + begin + t]; });
        const Tensor logits = model->logits(part, {.cache = &cache}).to(Device::cpu);
        for (std::int64_t b = 0; b < 2; ++b)
          for (std::int64_t i = 0; i < n * V; ++i)
            keep_worst(worst, std::abs(logits.item(b * n * V + i) - at_once.item((b * T + begin) * V + i)));
      }
      CHECK(worst < 1e-5);
    }
  }
}
