// The study's claims that code can decide from runs, each with a verdict and the numbers it rests on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/findings.h"
#include "tools/report/statistics.h"

namespace sink::report {

enum class Verdict { holds, fails, open };

// Whether the values lie above `bound` (holds) or below it (fails): all of the 95 % interval or, of one value alone,
// that value. Open where the interval holds the bound, or there is no value.
Verdict above(const Estimate& interval, double bound);

// A sink, for a verdict: more than 2 % of heads at eps 0.3. Attention that is spread evenly has 0 %; the study's
// clearest case without a sink has 0.44 %, its softmax 18.18 %.
constexpr double kSinkPercent = 2;

struct Claim {
  std::string claim;  // a sentence, HTML
  Verdict verdict = Verdict::open;
  bool one_seed = false;  // some arm that decides has one seed alone
  std::string numbers;    // HTML; why, of each arm that was asked
  std::string paper;      // what the study found, HTML
};

// The claims of which the task's finished runs on their own text say something: a sink of softmax, none of sigmoid
// without normalisation, an extra key that takes it, its growth with the learning rate and with the weight decay up to
// 0.5, a fixed token that carries it. A claim holds where it holds of every arm that was asked, and fails where it
// fails of every one.
std::vector<Claim> claims(const Group& group);

// The claims of a task as a table, empty without any.
std::string claims_table(const Group& group);

}  // namespace sink::report
