#include "eval/sink/all_inputs.h"

#include <algorithm>
#include <cstdio>

#include "engine/check.h"
#include "engine/tensor_view.h"

namespace sink {
namespace {

Batch chosen_rows(const Batch& all, const std::vector<std::int64_t>& rows) {
  const std::int64_t T = all.context();
  Tensor tokens = Tensor::empty({static_cast<std::int64_t>(rows.size()), T}, DType::I32);
  Tensor targets = Tensor::empty_like(tokens);
  for (std::size_t n = 0; n < rows.size(); ++n)
    for (auto [from, to] : {std::pair(&all.tokens_BT(), &tokens), std::pair(&all.targets_BT(), &targets)})
      std::copy_n(from->data<std::int32_t>() + rows[n] * T, T,
                  to->data<std::int32_t>() + static_cast<std::int64_t>(n) * T);
  return {tokens, targets, all.vocabulary()};
}

}  // namespace

std::vector<NamedInput> inputs_by_domain(const Batch& natural, const std::vector<std::string>& domains) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> rows_of;
  for (std::size_t n = 0; n < domains.size(); ++n) {
    auto known = std::find_if(rows_of.begin(), rows_of.end(), [&](const auto& d) { return d.first == domains[n]; });
    if (known == rows_of.end()) known = rows_of.insert(known, {domains[n], {}});
    known->second.push_back(static_cast<std::int64_t>(n));
  }
  std::vector<NamedInput> inputs;
  if (rows_of.size() < 2) return inputs;
  for (const auto& [domain, rows] : rows_of)
    inputs.push_back({"natural/" + (domain.empty() ? "(none)" : domain), chosen_rows(natural, rows)});
  return inputs;
}

Batch with_first_token(const Batch& sequences, std::int32_t first) {
  Tensor tokens = sequences.tokens_BT().clone();
  auto tokens_NT = view<std::int32_t, 2>(tokens);
  for (std::int64_t n = 0; n < sequences.sequences(); ++n) tokens_NT(n, 0) = first;
  return {tokens, sequences.targets_BT(), sequences.vocabulary()};
}

std::string inputs_table(const std::vector<std::pair<std::string, Evaluation>>& measured) {
  std::size_t width = 5;
  for (const auto& [name, e] : measured) width = std::max(width, name.size());
  auto padded = [&](std::string name) { return name.append(width - name.size(), ' '); };
  std::string table = padded("input") +
                      "     N    T    loss | Sink_1 %: >0.2   >0.3   >0.4 raw>0.3 | Sink_2 alpha_1 | v share |v_1|/|v| "
                      "|h_1|/|h| at layer\n";
  for (const auto& [name, e] : measured) {
    const auto largest = std::max_element(e.massive_ratio.begin(), e.massive_ratio.end());
    const SinkScores& s = e.proxy;
    char line[256];
    std::snprintf(line, sizeof line,
                  " %5lld %4lld %7.3f |         %6.2f %6.2f %6.2f %7.2f | %6.2f %7.4f | %7.4f %9.3f "
                  "%9.2f %8td\n",
                  static_cast<long long>(e.sequences), static_cast<long long>(e.context), e.loss, s.sink_k[0][0],
                  s.sink_k[1][0], s.sink_k[2][0], e.raw.sink_k[kStudyEpsilon][0],
                  s.alpha_k.size() > 1 ? s.sink_k[kStudyEpsilon][1] : 0.0, s.alpha_1(), e.value_share,
                  e.first_value_norm_ratio, *largest, largest - e.massive_ratio.begin());
    table += padded(name) + line;
  }
  return table + "Sinks and alpha_1 are of proxy weights, but for raw>0.3.\n";
}

}  // namespace sink
