#include "engine/ops/stored_product/stored_expert_product.h"

#include <algorithm>
#include <optional>

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

std::vector<std::int64_t> rows_that_choose(const Tensor& p, std::int64_t E, std::int64_t e) {
  std::vector<std::int64_t> rows;
  for (std::int64_t m = 0; m < p.size() / E; ++m)
    if (p.item(m * E + e) != 0) rows.push_back(m);
  return rows;
}

// These rows of x, whose last axis has `width` elements, from a column on.
Tensor gather(const Tensor& x, const std::vector<std::int64_t>& rows, std::int64_t width, std::int64_t first,
              std::int64_t columns) {
  Tensor gathered = x.new_empty({std::ssize(rows), columns}, x.dtype());
  for (std::int64_t i = 0; i < std::ssize(rows); ++i)
    gathered.rows(i, i + 1).copy_from(x.slice(rows[static_cast<std::size_t>(i)] * width + first, {columns}));
  return gathered;
}

// f(e, the rows of x that choose expert e, its matrix) for all experts that any row chooses, or false if the weights
// cannot be separated, as in a hand-made matrix. `expert_of` is one of the above.
template <class ExpertOf, class F>
bool for_each_chosen(const Tensor& p, const StoredMatrix& w, ExpertOf&& expert_of, F&& f) {
  const Tensor chosen = p.to(Device::cpu);
  const std::int64_t E = p.dim(-1);
  for (std::int64_t e = 0; e < E; ++e) {
    const std::optional<StoredMatrix> expert = expert_of(w, E, e);
    if (!expert) return false;
    if (const std::vector<std::int64_t> rows = rows_that_choose(chosen, E, e); !rows.empty()) f(e, rows, *expert);
  }
  return true;
}

void check(const Tensor& x, std::int64_t K, const Tensor& p, const StoredMatrix& w, const Tensor& y, std::int64_t N) {
  const std::int64_t M = p.rank() > 0 ? p.size() / std::max<std::int64_t>(1, p.dim(-1)) : 0;
  SINK_CHECK(M > 0 && x.rank() > 0 && y.rank() > 0 && x.dim(-1) == K && y.dim(-1) == N && x.size() == M * K &&
                 y.size() == M * N && x.dtype() == y.dtype() && p.dtype() == x.dtype() &&
                 (w.rows * w.columns) % p.dim(-1) == 0,
             "stored_expert_product",
             "x is " + x.str() + ", p is " + p.str() + ", w is " + w.str() + ", y is " + y.str());
}

}  // namespace

void stored_expert_product(const Tensor& x, const Tensor& p, const StoredMatrix& w, Tensor& y) {
  check(x, w.columns, p, w, y, w.rows);
  const std::int64_t K = w.columns, N = w.rows / p.dim(-1);
  y.fill(0);
  const bool done = for_each_chosen(p, w, expert_of_rows, [&](std::int64_t e, const auto& rows, const auto& w_e) {
    Tensor y_e = y.new_empty({std::ssize(rows), N}, y.dtype());
    stored_product(gather(x, rows, K, 0, K), w_e, y_e);
    for (std::int64_t i = 0; i < std::ssize(rows); ++i)
      y.slice(rows[static_cast<std::size_t>(i)] * w.rows + e * N, {N}).copy_from(y_e.rows(i, i + 1));
  });
  if (!done) stored_product(x, w, y);
}

void stored_expert_sum(const Tensor& x, const Tensor& p, const StoredMatrix& w, Tensor& y) {
  check(x, w.columns, p, w, y, w.rows);
  const std::int64_t K = w.columns / p.dim(-1), N = w.rows;
  Tensor sum = y.new_zeros(y.shape(), accumulate_type(y.dtype()));
  const bool done = for_each_chosen(p, w, expert_of_columns, [&](std::int64_t e, const auto& rows, const auto& w_e) {
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
