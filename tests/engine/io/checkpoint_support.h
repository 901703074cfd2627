// The small checkpoint that the checkpoint tests save, damage and load.
#pragma once

#include "engine/io/checkpoint.h"
#include "tests/support/files.h"

namespace sink {

inline Tensor ramp(const Shape& shape, DType dtype = DType::F32) {
  Tensor tensor = Tensor::zeros(shape, DType::F64);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.data<double>()[i] = 1.0 / static_cast<double>(i + 3) - 0.1;
  return tensor.to(dtype);
}

inline Checkpoint small_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.attributes = {{"ablation", "sigmoid"},
                           {"policies", "position=Rotary norm=RMSNorm attention=Sigmoid"},
                           {"layers", "2"},
                           {"step", "1500"},
                           {"config_toml", "layers = 2\nrun = \"caf\xc3\xa9\"\n"},
                           {"note", ""},
                           {"tokenizer_json", std::string(70000, 'x') + "end"}};
  checkpoint.tensors = {{"parameters/embedding.token.weight", ramp({11, 8})},
                        {"parameters/blocks.0.attention.qkv.weight", ramp({24, 8})},
                        {"parameters/blocks.10.attention.norm.gain", ramp({8})},
                        {"optimizer/first_moment/embedding.token.weight", ramp({11, 8}, DType::F64)},
                        {"optimizer/second_moment/empty", ramp({0, 8})},
                        {"optimizer/scale", ramp({})}};
  checkpoint.axes = {{"parameters/embedding.token.weight", "V C"},
                     {"parameters/blocks.0.attention.qkv.weight", "3HD C"}};
  return checkpoint;
}

}  // namespace sink
