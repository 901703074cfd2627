#include "engine/ops/stored_product/stored_expert_product.h"

#include <algorithm>
#include <optional>

#include "engine/implementation.h"
#include "engine/ops/add/add.h"
#include "engine/ops/stored_product/stored_product.h"

namespace sink {
namespace {

std::optional<StoredMatrix> expert_of_rows(const StoredMatrix& w, std::int64_t E, std::int64_t e) {
  const std::int64_t N = w.rows / E;
  const bool part_each =
      std::ssize(w.parts) == E && std::ranges::all_of(w.parts, [&](const StoredPart& part) { return part.rows == N; });
  if (!part_each) return std::nullopt;
  return StoredMatrix{N, w.columns, {w.parts[static_cast<std::size_t>(e)]}, w.times, w.owner};
}

// A line is a column of the matrix where its part is transposed, else a piece of a row.
std::optional<StoredMatrix> expert_of_columns(const StoredMatrix& w, std::int64_t E, std::int64_t e) {
  StoredMatrix expert{w.rows, w.columns / E, {}, w.times, w.owner};
  for (const StoredPart& part : w.parts) {
    const std::int64_t lines = part.transposed ? w.columns : part.pieces, own = lines / E;
    if (lines % E != 0) return std::nullopt;
    StoredPart part_e{part.type, part.transposed, part.rows, {}, part.transposed ? 1 : own};
    for (std::int64_t first = e * own; first < std::ssize(part.lines); first += lines)
      part_e.lines.insert(part_e.lines.end(), part.lines.begin() + first, part.lines.begin() + first + own);
    expert.parts.push_back(std::move(part_e));
  }
  return expert;
}

// These rows of x, whose last axis has `width` elements, from a column on.
Tensor gather(const Tensor& x, const std::vector<std::int64_t>& rows, std::int64_t width, std::int64_t first,
              std::int64_t columns) {
  Tensor gathered = x.new_empty({std::ssize(rows), columns}, x.dtype());
  for (std::int64_t i = 0; i < std::ssize(rows); ++i)
    gathered.rows(i, i + 1).copy_from(x.slice(rows[static_cast<std::size_t>(i)] * width + first, {columns}));
  return gathered;
}

// f(e, rows, W_e) for all experts e that have rows among the M of x for which is_needed(row, e), or false if the
// weights cannot be separated, as in a hand-made matrix. `expert_of` is one of the above.
template <class ExpertOf, class IsNeeded, class F>
bool for_each_expert(const StoredMatrix& w, std::int64_t E, std::int64_t M, ExpertOf&& expert_of, IsNeeded&& is_needed,
                     F&& f) {
  for (std::int64_t e = 0; e < E; ++e) {
    const std::optional<StoredMatrix> expert = expert_of(w, E, e);
    if (!expert) return false;
    std::vector<std::int64_t> rows;
    for (std::int64_t m = 0; m < M; ++m)
      if (is_needed(m, e)) rows.push_back(m);
    if (!rows.empty()) f(e, rows, *expert);
  }
  return true;
}

// Elements [first, first + count) are not all 0.
bool has_nonzero(const Tensor& x, std::int64_t first, std::int64_t count) {
  return with_real(x.dtype(), [&](auto zero) {
    const auto* begin = x.data<decltype(zero)>() + first;
    return std::any_of(begin, begin + count, [](auto value) { return static_cast<double>(value) != 0; });
  });
}

}  // namespace

void stored_expert_product(const Tensor& x, const Tensor& p, const StoredMatrix& w, Tensor& y) {
  const std::int64_t K = w.columns, E = p.rank() > 0 ? p.dim(-1) : 0, M = E > 0 ? p.size() / E : 0;
  SINK_CHECK(M > 0 && w.rows % E == 0 && x.rank() > 0 && y.rank() > 0 && x.dim(-1) == K && y.dim(-1) == w.rows &&
                 x.size() == M * K && y.size() == M * w.rows && x.dtype() == y.dtype() && p.dtype() == x.dtype(),
             "stored_expert_product",
             "x is " + x.str() + ", p is " + p.str() + ", w is " + w.str() + ", y is " + y.str());
  const std::int64_t N = w.rows / E;
  const Tensor chosen = p.to(Device::cpu);
  auto is_chosen = [&](std::int64_t m, std::int64_t e) { return chosen.item(m * E + e) != 0; };
  y.fill(0);
  const bool done =
      for_each_expert(w, E, M, expert_of_rows, is_chosen, [&](std::int64_t e, const auto& rows, const auto& w_e) {
        Tensor y_e = y.new_empty({std::ssize(rows), N}, y.dtype());
        stored_product(gather(x, rows, K, 0, K), w_e, y_e);
        for (std::int64_t i = 0; i < std::ssize(rows); ++i)
          y.slice(rows[static_cast<std::size_t>(i)] * w.rows + e * N, {N}).copy_from(y_e.rows(i, i + 1));
      });
  if (!done) stored_product(x, w, y);
}

void stored_expert_sum(const Tensor& x, std::int64_t E, const StoredMatrix& w, Tensor& y) {
  SINK_CHECK(E > 0 && w.columns > 0 && w.columns % E == 0 && x.rank() > 0 && y.rank() > 0 && x.dim(-1) == w.columns &&
                 y.dim(-1) == w.rows && x.size() / w.columns * w.rows == y.size() && x.dtype() == y.dtype(),
             "stored_expert_sum",
             "x is " + x.str() + ", experts are " + std::to_string(E) + ", w is " + w.str() + ", y is " + y.str());
  const std::int64_t K = w.columns / E, N = w.rows, M = x.size() / w.columns;
  const Tensor values = x.to(Device::cpu);
  auto is_nonzero = [&](std::int64_t m, std::int64_t e) { return has_nonzero(values, m * w.columns + e * K, K); };
  Tensor sum = y.new_zeros(y.shape(), accumulate_type(y.dtype()));
  const bool done =
      for_each_expert(w, E, M, expert_of_columns, is_nonzero, [&](std::int64_t e, const auto& rows, const auto& w_e) {
        Tensor y_e = y.new_empty({std::ssize(rows), N}, sum.dtype());
        stored_product(gather(x, rows, w.columns, e * K, K), w_e, y_e);
        for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
          Tensor row = sum.slice(rows[static_cast<std::size_t>(i)] * N, {1, N});
          add_into(row, y_e.rows(i, i + 1));
        }
      });
  done ? y.copy_from(sum) : stored_product(x, w, y);
}

}  // namespace sink
