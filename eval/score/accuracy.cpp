#include "eval/score/accuracy.h"

#include <algorithm>
#include <cmath>

#include "engine/io/str_format.h"

namespace sink {
namespace {

std::size_t first_of_largest(const std::vector<double>& x) {
  return static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

}  // namespace

std::size_t Choices::by_sum() const { return first_of_largest(logprobs); }

std::size_t Choices::by_bytes() const {
  std::vector<double> each(logprobs);
  for (std::size_t i = 0; i < each.size(); ++i) each[i] /= static_cast<double>(bytes[i]);
  return first_of_largest(each);
}

Share share_of(std::int64_t right, std::int64_t n) {
  const double p = static_cast<double>(right) / static_cast<double>(n);
  return {p, n > 1 ? std::sqrt(p * (1 - p) / static_cast<double>(n - 1)) : 0};
}

Accuracy accuracy_of(const std::vector<Choices>& questions) {
  Accuracy accuracy;
  accuracy.questions = static_cast<std::int64_t>(questions.size());
  std::int64_t by_sum = 0, by_bytes = 0;
  double variance = 0;
  for (const Choices& question : questions) {
    by_sum += question.by_sum() == question.gold;
    by_bytes += question.by_bytes() == question.gold;
    const double guess = 1 / static_cast<double>(question.logprobs.size());
    accuracy.chance += guess;
    variance += guess * (1 - guess);
  }
  const auto n = static_cast<double>(questions.size());
  accuracy.by_sum = share_of(by_sum, accuracy.questions);
  accuracy.by_bytes = share_of(by_bytes, accuracy.questions);
  accuracy.chance /= n;
  accuracy.chance_error = std::sqrt(variance) / n;
  return accuracy;
}

std::string accuracy_table(const Accuracy& accuracy) {
  std::string table = std::to_string(accuracy.questions) + " questions\n";
  auto row = [&](const char* name, double share, double error) {
    table += str_format("%-34s %6.2f %% +- %.2f\n", name, 100 * share, 100 * error);
  };
  row("right, by log-probability", accuracy.by_sum.share, accuracy.by_sum.error);
  row("right, by log-probability per byte", accuracy.by_bytes.share, accuracy.by_bytes.error);
  row("chance", accuracy.chance, accuracy.chance_error);
  return table;
}

}  // namespace sink
