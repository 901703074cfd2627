// Linear bias policies: which products of a block add a learned bias, initially zero. The models of the paper have
// none.
#pragma once

#include <string>

namespace sink {

struct NoLinearBias {
  static std::string name() { return "NoLinearBias"; }
  static constexpr bool kQkv = false, kOut = false, kFeedForward = false;
};

// Only queries, keys and values (Qwen2, Yang et al. 2024, section 2.2.1).
struct QkvLinearBias {
  static std::string name() { return "Qkv"; }
  static constexpr bool kQkv = true, kOut = false, kFeedForward = false;
};

// Every product (GPT-2, Radford et al. 2019; GPT-NeoX, Black et al. 2022).
struct AllLinearBias {
  static std::string name() { return "All"; }
  static constexpr bool kQkv = true, kOut = true, kFeedForward = true;
};

}  // namespace sink
