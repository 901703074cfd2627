#include "eval/sink_score.h"

namespace sink {

AlphaTable::AlphaTable(std::int64_t sequences, std::int64_t layers, std::int64_t heads, std::int64_t T, std::int64_t K)
    : N_(sequences),
      L_(layers),
      H_(heads),
      T_(T),
      K_(K),
      alpha_NLHK_(static_cast<std::size_t>(N_ * L_ * H_ * K_)),
      alpha_star_NLH_(static_cast<std::size_t>(N_ * L_ * H_)) {}

void AlphaTable::put(std::int64_t sequence, std::int64_t layer, const Tensor& column_BHK, std::int64_t extra_tokens,
                     bool extra_key, const Tensor& extra_BH) {
  SINK_CHECK(column_BHK.rank() == 3 && column_BHK.dim(1) == H_ && column_BHK.dim(2) == extra_tokens + K_ &&
                 sequence + column_BHK.dim(0) <= N_,
             "sink_score",
             "expected column sums of at most " + std::to_string(N_ - sequence) + " sequences, " + std::to_string(H_) +
                 " heads and " + std::to_string(extra_tokens + K_) + " keys, got " + column_BHK.str());
  star_ = extra_key || extra_tokens > 0;
  double star_rows = static_cast<double>(T_ + 1);
  for (std::int64_t b = 0; b < column_BHK.dim(0); ++b)
    for (std::int64_t h = 0; h < H_; ++h) {
      std::int64_t bh = b * H_ + h, nlh = ((sequence + b) * L_ + layer) * H_ + h;
      const double* column_k = column_BHK.data<double>() + bh * column_BHK.dim(2);
      for (std::int64_t k = 0; k < K_; ++k)
        alpha_NLHK_[static_cast<std::size_t>(nlh * K_ + k)] =
            column_k[extra_tokens + k] / static_cast<double>(T_ - k);  // k counts from 0 here
      if (extra_tokens > 0)
        alpha_star_NLH_[static_cast<std::size_t>(nlh)] = column_k[0] / star_rows;
      else if (extra_key)
        alpha_star_NLH_[static_cast<std::size_t>(nlh)] = (1 + extra_BH.data<double>()[bh]) / star_rows;
    }
}

SinkScores AlphaTable::scores() const {
  SinkScores scores;
  std::size_t N = static_cast<std::size_t>(N_), LH = static_cast<std::size_t>(L_ * H_),
              K = static_cast<std::size_t>(K_), H = static_cast<std::size_t>(H_);
  double all = static_cast<double>(N * LH), sequences = static_cast<double>(N);
  scores.alpha_k.assign(K, 0);
  for (auto& sink : scores.sink_k) sink.assign(K, 0);
  scores.alpha_layer_head_k.assign(LH / H, NumberTable(H, std::vector<double>(K, 0)));
  for (std::size_t i = 0; i < alpha_NLHK_.size(); ++i) {
    double alpha = alpha_NLHK_[i];
    std::size_t k = i % K, lh = i / K % LH;
    scores.alpha_k[k] += alpha / all;
    scores.alpha_layer_head_k[lh / H][lh % H][k] += alpha / sequences;
    // The indicator of each sample first, the mean afterwards.
    for (std::size_t e = 0; e < kSinkEpsilons.size(); ++e) scores.sink_k[e][k] += alpha > kSinkEpsilons[e];
  }
  for (auto& sink : scores.sink_k)
    for (double& share : sink) share *= 100 / all;
  for (const NumberTable& heads : scores.alpha_layer_head_k) {
    scores.alpha_1_layer_head.emplace_back();
    for (const auto& alpha_k : heads) scores.alpha_1_layer_head.back().push_back(alpha_k.front());
  }

  if (!star_) return scores;
  scores.star.emplace();
  scores.star->alpha_layer_head.assign(LH / H, std::vector<double>(H, 0));
  for (std::size_t i = 0; i < alpha_star_NLH_.size(); ++i) {
    double alpha = alpha_star_NLH_[i];
    scores.star->alpha += alpha / all;
    scores.star->alpha_layer_head[i % LH / H][i % H] += alpha / sequences;
    for (std::size_t e = 0; e < kSinkEpsilons.size(); ++e)
      scores.star->sink[e] += (alpha > kSinkEpsilons[e]) * 100 / all;
  }
  return scores;
}

}  // namespace sink
