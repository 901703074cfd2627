#include "eval/attention/full_heads.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "engine/io/parse_number.h"
#include "eval/attention/view_queries_keys.h"

namespace sink {
namespace {

constexpr double kMostFullBytes = 27e6;    // of queries and keys, before base64
constexpr double kMostAskedBytes = 300e6;  // a browser reads no longer text
constexpr std::size_t kPerRule = 2;

double bytes_of_head(const Sizes& sizes, std::int64_t T) {
  return 2.0 * static_cast<double>(T * (2 * sizes.width_of_head() + 4));
}

double strongest_later_key(const HeadSummary& head) {
  return head.share_T.size() < 2 ? 0 : *std::max_element(head.share_T.begin() + 1, head.share_T.end());
}

struct Rule {
  const char* name;
  double (*score)(const HeadSummary&);
};
const Rule kRules[] = {
    {"largest alpha_1", [](const HeadSummary& head) { return head.alpha_1(); }},
    {"smallest alpha_1", [](const HeadSummary& head) { return -head.alpha_1(); }},
    {"most on a single later key", strongest_later_key},
    {"most on the query's own token", [](const HeadSummary& head) { return head.self; }},
    {"most on the token before", [](const HeadSummary& head) { return head.previous; }},
};

}  // namespace

std::vector<LayerHead> layer_heads(const std::vector<std::string>& texts, const Sizes& sizes) {
  std::vector<LayerHead> heads;
  for (const std::string& text : texts) {
    const std::size_t dot = text.find('.');
    const auto layer = parse_number<std::int64_t>(text.substr(0, dot)),
               head = parse_number<std::int64_t>(dot == text.npos ? "" : text.substr(dot + 1));
    if (!layer || !head || *layer < 0 || *head < 0 || *layer >= sizes.layers || *head >= sizes.heads ||
        !sizes.has_attention(*layer))
      throw Error("--heads expects heads as LAYER.HEAD, layers below " + std::to_string(sizes.layers) +
                      " that have attention and heads below " + std::to_string(sizes.heads) + "; got `" + text + "`",
                  Exit::usage);
    if (std::ranges::find(heads, LayerHead{*layer, *head}) == heads.end()) heads.emplace_back(*layer, *head);
  }
  return heads;
}

FullHeads::FullHeads(const Sizes& sizes, std::int64_t T, std::vector<LayerHead> asked)
    : sizes_(sizes), T_(T), asked_(std::move(asked)) {
  const double bytes = bytes_of_head(sizes_, T_);
  if (bytes * static_cast<double>(asked_.size()) > kMostAskedBytes)
    throw Error("--heads asks for " + std::to_string(asked_.size()) + " heads; of a text of " + std::to_string(T_) +
                    " tokens a page can have " + std::to_string(static_cast<int>(kMostAskedBytes / bytes)),
                Exit::usage);
  if (asked_.empty() && bytes > kMostFullBytes)
    why_not_ = "queries and keys of one head have " + std::to_string(static_cast<int>(bytes / 1e6)) +
               " MB; --heads LAYER.HEAD asks for a head";
}

std::string FullHeads::why_not(const AttentionPoint& point, const AttentionTrace& last) const {
  if (!why_not_.empty()) return why_not_;
  if (!is_softmax(last.operation))
    return std::string("the page cannot compute weights of the operation ") + last.operation;
  if (last.has_bias && sizes_.prefix > 0 && !sizes_.is_global(point.layer))
    return "the page cannot compute weights with a window, a prefix and a bias by distance";
  return "";
}

FullHeads::Vectors FullHeads::rounded(const Tensor& x_BHTD, std::int64_t h, double scale) const {
  const std::int64_t D = x_BHTD.dim(3);
  const Tensor x_TD = x_BHTD.slice(h * T_ * D, {T_, D}).to(Device::cpu).to(DType::F64);
  std::vector<float> scale_T(static_cast<std::size_t>(T_));
  std::vector<std::int16_t> value_TD(static_cast<std::size_t>(T_ * D));
  Vectors vectors;
  for (std::int64_t t = 0; t < T_; ++t) {
    const double* x = x_TD.data<double>() + t * D;
    double largest = 0, length = 0, error = 0;
    for (std::int64_t d = 0; d < D; ++d) largest = std::max(largest, std::abs(x[d]));
    if (largest == 0) continue;
    const float unit = scale_T[static_cast<std::size_t>(t)] = static_cast<float>(scale * largest / 32767);
    for (std::int64_t d = 0; d < D; ++d) {
      const auto value = static_cast<std::int16_t>(std::lround(32767 * x[d] / largest));
      value_TD[static_cast<std::size_t>(t * D + d)] = value;
      length += std::pow(scale * x[d], 2);
      error += std::pow(scale * x[d] - double{unit} * value, 2);
    }
    vectors.length = std::max(vectors.length, std::sqrt(length));
    vectors.error = std::max(vectors.error, std::sqrt(error));
  }
  vectors.text = base64(bytes_of(scale_T) + bytes_of(value_TD));
  return vectors;
}

void FullHeads::add(const AttentionPoint& point, std::span<const HeadSummary> head_H,
                    const std::vector<std::vector<float>>& share_HT) {
  const AttentionPoint::Trace trace = point.trace();
  AttentionTrace last = trace({}, 0, 0, T_ - 1);  // the last query sees every distance
  if (why_not_ = why_not(point, last); !why_not_.empty()) return;
  for (const HeadSummary& head : head_H) {
    const LayerHead place{head.layer, head.head};
    if (!asked_.empty() && std::ranges::find(asked_, place) == asked_.end()) continue;
    Head& added = heads_.emplace_back();
    added.place = place;
    for (const Rule& rule : kRules) added.score.push_back(rule.score(head));
  }
  std::vector<Head> kept;  // of the layers so far, those that may still be in the page
  for (const auto& [n, rule] : order()) kept.push_back(std::move(heads_[n]));
  heads_ = std::move(kept);

  std::map<std::int64_t, std::shared_ptr<Vectors>> keys;  // by key head
  for (Head& head : heads_) {
    if (head.k) continue;
    const std::int64_t h = head.place.second, g = h / (sizes_.heads / sizes_.key_heads());
    head.q = rounded(point.q_BHTD, h, last.scale);
    std::shared_ptr<Vectors>& k = keys[g];
    if (!k) k = std::make_shared<Vectors>(rounded(point.k_BGTD, g, 1));
    head.k = k;
    head.window = sizes_.is_global(point.layer) ? 0 : sizes_.window;
    if (last.has_bias) {
      if (h > 0) last = trace({}, 0, h, T_ - 1);
      std::vector<float> bias_T(static_cast<std::size_t>(T_), 0);
      for (const AttentionTrace::Key& key : last.keys)
        if (key.j >= 0) bias_T[static_cast<std::size_t>(T_ - 1 - key.j)] = static_cast<float>(key.bias);
      head.bias = base64(bytes_of(bias_T));
    }
    if (point.has_extra_key) head.share = base64(bytes_of(share_HT[static_cast<std::size_t>(h)]));
  }
}

std::vector<std::pair<std::size_t, int>> FullHeads::order() const {
  std::vector<std::pair<std::size_t, int>> order;
  std::vector<std::size_t> index(heads_.size());
  std::iota(index.begin(), index.end(), 0);
  if (!asked_.empty()) {
    for (std::size_t n : index) order.emplace_back(n, -1);
    return order;
  }
  const auto most = static_cast<std::size_t>(kMostFullBytes / bytes_of_head(sizes_, T_));
  for (std::size_t rank = 0; rank < std::min(kPerRule, heads_.size()); ++rank)
    for (std::size_t rule = 0; rule < std::size(kRules); ++rule) {
      std::ranges::stable_sort(index, [&](std::size_t a, std::size_t b) {
        return std::pair(-heads_[a].score[rule], heads_[a].place) < std::pair(-heads_[b].score[rule], heads_[b].place);
      });
      const bool is_new = std::ranges::none_of(order, [&](const auto& kept) { return kept.first == index[rank]; });
      if (is_new && order.size() < most) order.emplace_back(index[rank], static_cast<int>(rule));
    }
  return order;
}

nlohmann::json FullHeads::json() const {
  using nlohmann::json;
  json heads = json::array(), keys = json::array();
  std::map<const Vectors*, std::size_t> index_of;
  for (const auto& [n, rule] : order()) {
    if (!why_not_.empty()) break;
    const Head& head = heads_[n];
    const auto [place, is_new] = index_of.emplace(head.k.get(), keys.size());
    if (is_new) keys.push_back(head.k->text);
    // By Cauchy and Schwarz a score is at most this far away, and so is the logarithm of its row's sum.
    const double error = head.q.error * (head.k->length + head.k->error) + head.q.length * head.k->error;
    heads.push_back({{"layer", head.place.first},
                     {"head", head.place.second},
                     {"rule", rule < 0 ? "asked for" : kRules[rule].name},
                     {"q", head.q.text},
                     {"k", place->second},
                     {"window", head.window},
                     {"bias", head.bias},
                     {"share", head.share},
                     {"error", std::expm1(2 * error)}});
  }
  return {{"width", sizes_.width_of_head()},
          {"prefix", sizes_.prefix},
          {"why_not", why_not_},
          {"keys", keys},
          {"heads", heads}};
}

}  // namespace sink
