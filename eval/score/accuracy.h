// The accuracy of the choices of a model, and that of chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sink {

// One question.
struct Choices {
  std::vector<double> logprobs;    // of each choice
  std::vector<std::size_t> bytes;  // of each choice
  std::size_t gold = 0;

  std::size_t by_sum() const;    // the most likely choice, the first of equals
  std::size_t by_bytes() const;  // the same by log-probability per byte: acc_bytes; acc_norm is per character
};

// A share of n questions, with its standard error sqrt(p (1 - p) / (n - 1)); 0 where n is 1.
struct Share {
  double share = 0, error = 0;
};
Share share_of(std::int64_t right, std::int64_t n);

struct Accuracy {
  std::int64_t questions = 0;
  Share by_sum, by_bytes;
  double chance = 0;        // the mean of one over the number of choices
  double chance_error = 0;  // standard error of the accuracy of guesses
};
Accuracy accuracy_of(const std::vector<Choices>& questions);

// As a table, in percent.
std::string accuracy_table(const Accuracy& accuracy);

}  // namespace sink
