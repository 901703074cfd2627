#include "eval/interventions/quantisation.h"

#include <algorithm>
#include <cmath>

#include "engine/check.h"
#include "engine/threads.h"

namespace sink {
namespace {

// The elements of a matrix that share a scale: `rows` times `columns`.
struct Tile {
  std::int64_t rows, columns;
};

// `x`: the first element of a tile in a matrix with rows of `width`.
template <class R>
void quantise_tile(R* x, Tile tile, std::int64_t width, int bits) {
  double largest = 0;
  for (std::int64_t i = 0; i < tile.rows; ++i)
    for (std::int64_t k = 0; k < tile.columns; ++k)
      largest = std::max(largest, std::abs(static_cast<double>(x[i * width + k])));
  for (std::int64_t i = 0; i < tile.rows; ++i)
    for (std::int64_t k = 0; k < tile.columns; ++k)
      store(x[i * width + k], quantised(static_cast<double>(x[i * width + k]), largest, bits));
}

template <class R>
void quantise_values(R* x, std::int64_t height, std::int64_t width, Tile tile, int bits) {
  const std::int64_t across = width / tile.columns, tiles = height / tile.rows * across;
  const std::int64_t at_once = std::max<std::int64_t>(1, 4096 / (tile.rows * tile.columns));
  parallel_chunks(tiles, at_once, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      quantise_tile(x + n / across * tile.rows * width + n % across * tile.columns, tile, width, bits);
  });
}

// The router has a row for each expert.
std::int64_t experts_of(const LanguageModel& model) {
  for (const auto& parameter : model.parameters())
    if (parameter->name().ends_with(".feed_forward.router.weight")) return parameter->info().shape[0];
  return 1;
}

// The matrices of all experts are one parameter, stacked (gate_up) or side by side (down); a tile is of one of them.
Tile tile_of(const Parameter& parameter, std::int64_t experts, Grain grain) {
  SINK_CHECK(grain != Grain::token, "quantisation", "weights have a scale per tensor or channel, tokens are inputs'");
  Tile tile{parameter.info().shape[0], parameter.info().shape[1]};
  if (parameter.name().ends_with(".feed_forward.gate_up.weight")) tile.rows /= experts;
  if (parameter.name().ends_with(".feed_forward.down.weight")) tile.columns /= experts;
  if (grain == Grain::channel) tile.rows = 1;
  return tile;
}

std::shared_ptr<const StoredMatrix> quantised_copy(const StoredMatrix& matrix, Tile tile, int bits) {
  auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(matrix.rows * matrix.columns));
  float* out = values->data();
  for (const StoredPart& part : matrix.parts) {
    parallel_chunks(part.rows, 16, [&](std::int64_t begin, std::int64_t end) {
      decode_rows(part, matrix.columns, begin, end - begin, out + begin * matrix.columns);
    });
    out += part.rows * matrix.columns;
  }
  quantise_values(values->data(), matrix.rows, matrix.columns, tile, bits);
  StoredMatrix copy{matrix.rows, matrix.columns, {{StoredType::F32, false, matrix.rows, {}}}, matrix.times, values};
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    copy.parts[0].lines.push_back(reinterpret_cast<const unsigned char*>(values->data() + row * matrix.columns));
  return std::make_shared<const StoredMatrix>(std::move(copy));
}

}  // namespace

double quantised(double x, double largest, int bits) {
  if (largest == 0) return 0;
  double steps = std::exp2(bits - 1) - 1;
  return std::nearbyint(x / largest * steps) / steps * largest;
}

void quantise_tiles(Tensor& x, std::int64_t rows, std::int64_t columns, int bits) {
  const std::int64_t width = x.dim(-1);
  with_real(x.dtype(), [&](auto zero) {
    quantise_values(x.data<decltype(zero)>(), x.size() / width, width, {rows, columns}, bits);
  });
}

QuantisedMatrices::QuantisedMatrices(LanguageModel& model, int bits, Grain grain)
    : model_(model), saved_(model.parameters().masters().clone()) {
  const std::int64_t experts = experts_of(model);
  for (const auto& parameter : model.parameters()) {
    if (!parameter->name().starts_with("blocks.") || parameter->info().role != ParameterRole::weight) continue;
    const Tile tile = tile_of(*parameter, experts, grain);
    if (parameter->stored())
      replaced_.emplace_back(parameter.get(),
                             parameter->exchange_stored(quantised_copy(*parameter->stored(), tile, bits)));
    else
      quantise_tiles(parameter->mutable_master(), tile.rows, tile.columns, bits);
  }
  model.parameters().refresh();
}

QuantisedMatrices::~QuantisedMatrices() {
  for (auto& [parameter, matrix] : replaced_) parameter->exchange_stored(std::move(matrix));
  model_.parameters().masters().copy_from(saved_);
  model_.parameters().refresh();
}

}  // namespace sink
