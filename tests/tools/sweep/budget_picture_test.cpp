// The figure of all designs: its values from runs made by hand, and where they are drawn.
#include "tools/sweep/budget_picture.h"

#include <doctest/doctest.h>

#include "tests/support/files.h"
#include "tools/sweep/budget_rows.h"

using namespace sink;

namespace {

report::Run run_of(const std::string& ablation, std::uint64_t seed, double first, double row_sum, double loss,
                   const std::string& extra = "none", double on_extra = 0) {
  report::Run run;
  run.task = "text";
  run.ablation = ablation;
  run.name = ablation + "-" + std::to_string(seed);
  run.seed = seed;
  run.finished = true;
  run.step = run.steps = 10;
  run.context = 64;
  run.settings = {{"window", "0"}, {"prefix", "0"}, {"layers", "2"}, {"fixed-token", "1"}};
  report::Evaluation e;
  e.extra = extra;
  e.sink_epsilon = {0.3};
  e.sink_1 = e.sink_1_raw = {40};
  e.scalar = {{"alpha_1", first}, {"alpha_1_raw", first}, {"row_mass", row_sum}, {"val_loss", loss}};
  if (extra == "key") e.scalar["extra_key_mass"] = on_extra;
  if (extra == "token") e.scalar["alpha_star_raw"] = on_extra;
  run.evaluation = e;
  return run;
}

Preregistration registered() {
  return preregistration_from_toml(
      "[choice]\nstudy = \"choice\"\nseeds = [90]\nleast-ratio = 3\nmost-variation = 0.15\nmost-loss-excess = 0.3\n"
      "[judged]\nseeds = [1, 2, 3]\n[[claim]]\nsays = \"It holds.\"\nfamily = \"f\"\nstudy = \"s\"\nrun = \"bias_k\"\n"
      "expected = \"less\"\n",
      "p.toml");
}

RunsOfStudies runs() {
  std::vector<report::Run> all;
  for (std::uint64_t seed : {1, 2, 3}) {
    const double change = 0.01 * (static_cast<double>(seed) - 2);
    all.push_back(run_of("baseline", seed, 0.3 + change, 1, 5));
    all.push_back(run_of("bias_k", seed, 0.05 + change / 10, 0.6, 4.9 + change, "key", 0.4));
    all.push_back(run_of("op_sigmoid_none", seed, 0.5, 10, 5.1));
  }
  all.push_back(run_of("gate_head", 1, 0.07, 1, 4.8));
  all.push_back(run_of("bias_sinktoken", 1, 0.1, 1, 4.8, "token", 0.4));
  all.push_back(run_of("pos_nope", 4, 0.1, 1, 4.8));  // a seed that judges nothing
  return {{"s", all}};
}

const BudgetRow& row_of(const std::vector<Mechanism>& mechanisms, const std::string& group) {
  for (const Mechanism& mechanism : mechanisms)
    for (const BudgetRow& row : mechanism.rows)
      if (row.group == group) return row;
  throw std::runtime_error(group + " has no row");
}

}  // namespace

TEST_CASE("budget: first token, extra key, others and what is missing make one") {
  const std::vector<Mechanism> mechanisms = budget_rows(registered(), runs(), "s");
  const BudgetRow softmax = row_of(mechanisms, "baseline"), key = row_of(mechanisms, "bias_k"),
                  sigmoid = row_of(mechanisms, "op_sigmoid_none"), token = row_of(mechanisms, "bias_sinktoken");
  CHECK(softmax.on_first == doctest::Approx(0.3));
  CHECK(softmax.on_others == doctest::Approx(0.7));
  CHECK(softmax.missing == doctest::Approx(0));
  CHECK(softmax.even_first == doctest::Approx(0.0741).epsilon(0.001));  // H_64 / 64
  CHECK(softmax.loss_difference.mean.n == 0);
  CHECK(softmax.paper_sink_1 == 74.11);  // data-fix1: the same kind of input
  CHECK_FALSE(softmax.verdict.has_value());
  CHECK(key.on_extra == doctest::Approx(0.4));  // row_mass leaves the key out
  CHECK(key.on_others == doctest::Approx(0.55));
  CHECK(key.missing == doctest::Approx(0));
  CHECK(key.first_and_extra.mean.mean == doctest::Approx(0.45));
  CHECK(key.loss_difference.mean.mean == doctest::Approx(-0.1));
  CHECK_FALSE(key.paper_sink_1.has_value());
  CHECK(key.verdict == ClaimVerdict::replicated);
  CHECK(sigmoid.missing == doctest::Approx(-9));
  CHECK(sigmoid.on_others == doctest::Approx(9.5));
  CHECK(token.on_extra == doctest::Approx((0.4 * 65 - 1) / 64));  // without the row of the token itself
  CHECK(mechanisms.front().title == "Softmax");
  CHECK_THROWS(row_of(mechanisms, "pos_nope"));
  CHECK(budget_rows(registered(), runs(), "another").empty());
}

TEST_CASE("budget picture: bars are at their values, and single seeds are grey and judge nothing") {
  const std::string svg = budget_svg(registered(), runs(), "s");
  CHECK(svg == budget_svg(registered(), runs(), "s"));
  CHECK(budget_svg(registered(), runs(), "another").empty());
  // The scale of weights is 330 pixels from 360 on. softmax: 0.3 and 0.7; bias_k: 0.05, 0.4 and 0.55.
  for (const char* bar : {"class=\"first\" x=\"360.0\" y=\"158.5\" width=\"99.0\"",
                          "class=\"others\" x=\"459.0\" y=\"158.5\" width=\"231.0\"",
                          "class=\"extra\" x=\"376.5\" y=\"250.5\" width=\"132.0\"",
                          "class=\"first\" x=\"360.0\" y=\"315.5\" width=\"16.5\""})  // sigmoid: 0.5 of 10
    CHECK_MESSAGE(contains(svg, bar), bar);
  CHECK(contains(svg, "\u00d7 10<"));
  CHECK(contains(svg, ">replicated</text>"));
  CHECK(contains(svg, "<g class=\"one\"><title>gate_head</title>"));
  CHECK(contains(svg, "<g><title>bias_k</title>"));
  CHECK(contains(svg, ">1 of 3 seeds</text>"));
  CHECK(contains(svg, "class=\"paper\""));
  CHECK_FALSE(contains(svg, "nan"));

  RunsOfStudies tampered = runs();
  tampered["s"][1].evaluation->scalar["alpha_1"] = 0.9;
  CHECK_FALSE(contains(budget_svg(registered(), tampered, "s"), ">replicated</text>"));
}
