// The paper's claims that runs can speak to, each with a verdict (verdict.h) and the values that it rests on.
#pragma once

#include <string>
#include <vector>

#include "tools/report/findings.h"
#include "tools/report/verdict.h"

namespace sink::report {

struct Claim {
  std::string claim;  // a sentence, HTML
  Verdict verdict = Verdict::not_tested;
  std::string words;   // verdict_text of it; where several groups were asked, also how they differ
  std::string values;  // HTML; of each group of runs that was asked
  std::string paper;   // what the paper found on the same kind of input, or that it has no such row; HTML
};

// The claims of which the task's runs on their own text say something: a sink of softmax, none of sigmoid without
// normalization, an extra key that takes it, its growth with the learning rate and with weight decay up to 0.5, a fixed
// token that carries it. Each is asked of every group of runs that differ in their seed alone, of finished runs or, in
// a group that has none, of the last measurements. Groups that are not tested do not count where another is; the others
// must agree, or the claim is undecided.
std::vector<Claim> claims(const Group& group);

// The claims of a task as a table, empty without any.
std::string claims_table(const Group& group);

// For the first screen: "Claims of the paper: 2 not tested: one run each."; "" without claims.
std::string claims_summary(const Group& group);

}  // namespace sink::report
