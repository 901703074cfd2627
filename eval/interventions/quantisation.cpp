#include "eval/interventions/quantisation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/check.h"
#include "engine/threads.h"

namespace sink {
namespace {

// `count` elements with stride `step`, which share a scale.
template <class R>
void quantise_line(R* x, std::int64_t count, std::int64_t step, int bits) {
  double largest = 0;
  for (std::int64_t n = 0; n < count; ++n) largest = std::max(largest, std::abs(static_cast<double>(x[n * step])));
  for (std::int64_t n = 0; n < count; ++n)
    store(x[n * step], quantised(static_cast<double>(x[n * step]), largest, bits));
}

template <class R>
void quantise_values(R* x, std::int64_t blocks, std::int64_t rows, std::int64_t columns, ScalePer scale, int bits) {
  const std::int64_t size = rows * columns;
  const std::int64_t lines = scale == ScalePer::block ? 1 : scale == ScalePer::row ? rows : columns;  // of a block
  parallel_chunks(blocks * lines, scale == ScalePer::block ? 1 : 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      if (scale == ScalePer::column)
        quantise_line(x + n / columns * size + n % columns, rows, columns, bits);
      else
        quantise_line(x + n * (size / lines), size / lines, 1, bits);
    }
  });
}

ScalePer scale_of_matrix(Grain grain) {
  SINK_CHECK(grain != Grain::token, "quantisation", "weights have a scale per tensor or channel, tokens are inputs'");
  return grain == Grain::tensor ? ScalePer::block : ScalePer::row;
}

std::shared_ptr<const StoredMatrix> quantised_copy(const StoredMatrix& matrix, int bits, Grain grain) {
  auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(matrix.rows * matrix.columns));
  float* out = values->data();
  for (const StoredPart& part : matrix.parts) {
    parallel_chunks(part.rows, 16, [&](std::int64_t begin, std::int64_t end) {
      decode_rows(part, matrix.columns, begin, end - begin, out + begin * matrix.columns);
    });
    out += part.rows * matrix.columns;
  }
  quantise_values(values->data(), 1, matrix.rows, matrix.columns, scale_of_matrix(grain), bits);
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

void quantise_blocks(Tensor& x, std::int64_t rows, std::int64_t columns, ScalePer scale, int bits) {
  with_real(x.dtype(), [&](auto zero) {
    quantise_values(x.data<decltype(zero)>(), x.size() / (rows * columns), rows, columns, scale, bits);
  });
}

QuantisedMatrices::QuantisedMatrices(LanguageModel& model, int bits, Grain grain)
    : model_(model), saved_(model.parameters().masters().clone()) {
  for (const auto& parameter : model.parameters()) {
    const Shape& shape = parameter->info().shape;
    if (!parameter->name().starts_with("blocks.") || parameter->info().role != ParameterRole::weight) continue;
    if (parameter->stored())
      replaced_.emplace_back(parameter.get(),
                             parameter->exchange_stored(quantised_copy(*parameter->stored(), bits, grain)));
    else
      quantise_blocks(parameter->mutable_master(), shape[0], shape[1], scale_of_matrix(grain), bits);
  }
  model.parameters().refresh();
}

QuantisedMatrices::~QuantisedMatrices() {
  for (auto& [parameter, matrix] : replaced_) parameter->exchange_stored(std::move(matrix));
  model_.parameters().masters().copy_from(saved_);
  model_.parameters().refresh();
}

}  // namespace sink
