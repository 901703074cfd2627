// Verdicts on registered claims, each from runs made for it; and the file of the repository.
#include "tools/sweep/claim_verdicts.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/check.h"
#include "eval/sink/even_attention.h"
#include "tests/support/files.h"
#include "tools/report/results_csv.h"

using namespace sink;

namespace {

const std::string kHead =
    "[choice]\nstudy = \"choice\"\nseeds = [90, 91, 92]\nleast-ratio = 3\nmost-variation = 0.15\n"
    "most-loss-excess = 0.3\n[judged]\nseeds = [1, 2, 3]\n";

std::string claim(const std::string& run, const std::string& expected, const std::string& more = "") {
  return "[[claim]]\nsays = \"It holds.\"\nfamily = \"f\"\nstudy = \"s\"\nrun = \"" + run + "\"\nexpected = \"" +
         expected + "\"\n" + more;
}

Preregistration registered(const std::string& claims) { return preregistration_from_toml(kHead + claims, "p.toml"); }

// A complete run with alpha_1 = ratio x even attention.
report::Run run_of(const std::string& group, std::uint64_t seed, double ratio, double loss = 4,
                   double star = report::kNaN) {
  report::Run run;
  run.name = group + "-" + std::to_string(seed);
  run.seed = seed;
  run.finished = true;
  run.step = run.steps = 10;
  run.context = 64;
  run.settings = {{"window", "0"}, {"prefix", "0"}, {"layers", "2"}, {"global-every", "0"}};
  report::Evaluation e;
  e.extra = std::isnan(star) ? "none" : "key";
  const EvenAttention even = even_attention({.T = 64, .extra_key = !std::isnan(star)});
  e.scalar = {{"alpha_1", ratio * even.alpha_1}, {"val_loss", loss}};
  if (!std::isnan(star)) e.scalar["alpha_star"] = star * even.alpha_star;
  run.evaluation = e;
  return run;
}

// baseline: excess 2.0, 2.1, 1.9 (smallest effect of interest 0.6).
std::vector<report::Run> runs_of(const std::string& group, double a, double b, double c) {
  std::vector<report::Run> runs{run_of("baseline", 1, 3.0), run_of("baseline", 2, 3.1), run_of("baseline", 3, 2.9)};
  for (auto [seed, ratio] : {std::pair(1, a), std::pair(2, b), std::pair(3, c)})
    runs.push_back(run_of(group, static_cast<std::uint64_t>(seed), ratio));
  return runs;
}

ClaimVerdict verdict(const std::string& expected, double a, double b, double c, const std::string& more = "") {
  return judge(registered(claim("x", expected, more)), {{"s", runs_of("x", a, b, c)}}).front().verdict;
}

}  // namespace

TEST_CASE("claims: each verdict") {
  CHECK(verdict("less", 1.0, 1.15, 0.95) == ClaimVerdict::replicated);
  CHECK(verdict("greater", 1.0, 1.15, 0.95) == ClaimVerdict::contradicted);  // significant, the other sign
  CHECK(verdict("less", 2.9, 3.05, 2.85) == ClaimVerdict::contradicted);     // within the smallest effect
  CHECK(verdict("less", 1.0, 3.4, 2.9) == ClaimVerdict::underpowered);       // too wide
  CHECK(verdict("equal", 3.05, 3.1, 2.96) == ClaimVerdict::replicated);
  CHECK(verdict("equal", 1.0, 1.15, 0.95) == ClaimVerdict::contradicted);
  CHECK(verdict("equal", 1.0, 3.4, 2.9) == ClaimVerdict::underpowered);
  CHECK(verdict("less", 1.0, 1.15, 0.95, "not-testable = \"too small\"\n") == ClaimVerdict::not_testable);
  CHECK(verdict("less", 1.0, 1.15, report::kNaN) == ClaimVerdict::not_run);
  CHECK(judge(registered(claim("x", "less")), {}).front().verdict == ClaimVerdict::not_run);
  CHECK(verdict("greater", 4.0, 4.15, 3.95, "against = \"even\"\n") == ClaimVerdict::replicated);
}

TEST_CASE("claims: an unfinished run and a seed that is not registered do not count") {
  std::vector<report::Run> runs = runs_of("x", 1.0, 1.15, 0.95);
  const Preregistration one = registered(claim("x", "less"));
  REQUIRE(judge(one, {{"s", runs}}).front().verdict == ClaimVerdict::replicated);
  runs.back().step = 9;
  CHECK(judge(one, {{"s", runs}}).front().verdict == ClaimVerdict::not_run);
  runs.back() = run_of("x", 4, 1.0);
  CHECK(judge(one, {{"s", runs}}).front().verdict == ClaimVerdict::not_run);
}

TEST_CASE("claims: a table with two runs of one seed, or of other settings or data under one name, is refused") {
  const TemporaryFolder folder;
  const Preregistration one = registered(claim("x", "less"));
  std::vector<report::Run> runs = runs_of("x", 1.0, 1.15, 0.95);
  for (report::Run& run : runs) {
    run.task = "text";
    run.ablation = run.name.substr(0, run.name.size() - 2);
    run.data_sha256 = std::string(64, 'a');
    run.settings["learning-rate"] = "0.01";
  }
  const auto message = [&](const std::vector<report::Run>& of) -> std::string {
    write_bytes(folder / "s-runs.csv", report::results_csv(of));
    try {
      return name_of(judge(one, read_runs_of(one, folder.path)).front().verdict);
    } catch (const Error& error) {
      CHECK(error.code == Exit::bad_input);
      return error.what();
    }
  };
  CHECK(message(runs) == "replicated");
  std::vector<report::Run> changed = runs;
  changed.push_back(runs.back());
  CHECK(contains(message(changed), "two complete runs are named x-3"));
  changed.back().step = 9;  // not complete
  CHECK(message(changed) == "replicated");
  changed = runs;
  changed.back().settings["learning-rate"] = "0.1";
  CHECK(contains(message(changed), "x-3 has learning rate 0.1 instead of 0.01, as in x-1"));
  changed = runs;
  changed.back().data_sha256 = std::string(64, 'b');
  CHECK(contains(message(changed), "x-3 has data bbbbbbbbbbbb... instead of aaaaaaaaaaaa..., as in x-1"));
  changed = runs;
  for (report::Run& run : changed) run.settings["initial"] = "base.h5", run.initial_sha256 = std::string(64, 'a');
  CHECK(message(changed) == "replicated");
  changed.back().initial_sha256 = std::string(64, 'b');
  CHECK(contains(message(changed), "x-3 has initial parameters bbbbbbbbbbbb... instead of aaaaaaaaaaaa..., as in x-1"));
  changed = runs;
  changed.back().context = 32;
  CHECK(contains(message(changed), "x-3 has measured context 32 instead of none"));
  changed = runs;
  changed.back().commit = "another";
  CHECK(message(changed) == "replicated");
}

TEST_CASE("claims: a run that the table of its study does not have is named") {
  const std::vector<report::Run> runs = runs_of("x", 1.0, 1.15, 0.95);
  const Preregistration some =
      registered(claim("x", "less") + claim("y", "less", "against = \"basline\"\n") +
                 claim("x", "less", "against = \"even\"\n") + claim("z", "less", "not-testable = \"too small\"\n"));
  CHECK(unknown_runs(some, {{"s", runs}}) ==
        std::vector<std::string>{"s-runs.csv has no run y", "s-runs.csv has no run basline"});
  CHECK(unknown_runs(some, {}).empty());
}

TEST_CASE("claims: a verdict changes when a value does") {
  std::vector<report::Run> runs = runs_of("x", 1.0, 1.15, 0.95);
  runs.back().evaluation->scalar["alpha_1"] *= 2.5;
  CHECK(judge(registered(claim("x", "less")), {{"s", runs}}).front().verdict == ClaimVerdict::underpowered);
}

TEST_CASE("claims: Holm's correction counts the claims of a family that are not run") {
  const std::vector<report::Run> runs = runs_of("x", 2.1, 2.3, 1.8);
  const JudgedClaim alone = judge(registered(claim("x", "less")), {{"s", runs}}).front();
  std::string more = claim("x", "less");
  for (const char* other : {"y", "z"}) more += claim(other, "less");
  const JudgedClaim of_three = judge(registered(more), {{"s", runs}}).front();
  CHECK(alone.p_of_family == alone.p);
  CHECK(of_three.p_of_family == doctest::Approx(3 * alone.p));
}

TEST_CASE("claims: a sink's lead over the massive activation; what never comes counts as coming at the last step") {
  std::vector<report::Run> runs;
  const double onsets[3][2] = {{2, 9}, {3, 9}, {2, -1}};  // of the sink, of the massive activation; of 10 steps
  for (std::uint64_t seed : {1, 2, 3}) {
    runs.push_back(run_of("baseline", seed, 3.0));
    auto& scalar = runs.back().evaluation->scalar;
    scalar["onset_sink_1"] = onsets[seed - 1][0], scalar["onset_massive"] = onsets[seed - 1][1];
    scalar["massive_ratio"] = 3.5;
  }
  const auto judged = [&](const std::string& expected, const std::string& measure) {
    const std::string more = "against = \"even\"\nsmallest = 1\nmeasure = \"" + measure + "\"\n";
    return judge(registered(claim("baseline", expected, more)), {{"s", runs}}).front();
  };
  const JudgedClaim lead = judged("greater", "sink_lead");
  CHECK(lead.difference.mean == doctest::Approx((7 + 6 + 8) / 3.0));
  CHECK(lead.verdict == ClaimVerdict::replicated);
  CHECK(judged("less", "excess_massive").difference.mean == doctest::Approx(2.5));
  // The same lead of all seeds: steps are too coarse to show how seeds vary.
  for (report::Run& run : runs) run.evaluation->scalar["onset_sink_1"] = 2, run.evaluation->scalar["onset_massive"] = 9;
  CHECK(judged("greater", "sink_lead").difference.mean == 7);
  CHECK(judged("greater", "sink_lead").p == 1);
  CHECK(judged("greater", "sink_lead").verdict == ClaimVerdict::underpowered);
  runs.back().evaluation->scalar.erase("onset_massive");
  CHECK(judged("greater", "sink_lead").verdict == ClaimVerdict::not_run);
}

TEST_CASE("claims: the loss without the first token's share, and the part of it that a constant does not restore") {
  std::vector<report::Run> runs{run_of("baseline", 1, 3.0), run_of("baseline", 2, 3.1), run_of("baseline", 3, 2.9)};
  for (report::Run& run : runs) {
    run.evaluation->scalar["change_removed_1"] = 0.2 + 0.01 * static_cast<double>(run.seed);
    run.evaluation->scalar["change_constant_1"] = 0.5 * run.evaluation->scalar["change_removed_1"];
  }
  const auto judged = [&](const std::string& measure) {
    const std::string more = "against = \"even\"\nsmallest = 0.02\nmeasure = \"" + measure + "\"\n";
    return judge(registered(claim("baseline", "greater", more)), {{"s", runs}}).front();
  };
  CHECK(judged("change_removed_1").difference.mean == doctest::Approx(0.22));
  CHECK(judged("change_removed_1").verdict == ClaimVerdict::replicated);
  CHECK(judged("constant_share").difference.mean == doctest::Approx(0.5));
  CHECK(judged("change_w4a4").verdict == ClaimVerdict::not_run);
  for (report::Run& run : runs) run.evaluation->scalar["alpha_fixed_over_even"] = 3;
  CHECK(judged("excess_fixed").difference.mean == doctest::Approx(2));
}

TEST_CASE("claims: the total of an extra key and the first token") {
  std::vector<report::Run> runs{run_of("baseline", 1, 3.0), run_of("baseline", 2, 3.1), run_of("baseline", 3, 2.9)};
  for (std::uint64_t seed : {1, 2, 3}) runs.push_back(run_of("x", seed, 0.5, 4, 4 + 0.01 * static_cast<double>(seed)));
  const JudgedClaim star =
      judge(registered(claim("x", "greater", "measure = \"excess_star\"\nagainst = \"even\"\n")), {{"s", runs}})
          .front();
  CHECK(star.difference.mean == doctest::Approx(3.02));
  CHECK(star.smallest == doctest::Approx(0.6));
  const EvenAttention even = even_attention({.T = 64, .extra_key = true});
  const double total = (0.5 * even.alpha_1 + 4.02 * even.alpha_star) / (even.alpha_1 + even.alpha_star) - 1;
  const JudgedClaim both = judge(registered(claim("x", "equal", "measure = \"total\"\n")), {{"s", runs}}).front();
  CHECK(both.difference.mean == doctest::Approx(total - 2.0));
}

TEST_CASE("claims: the recipe is the largest of those that pass") {
  std::vector<report::Run> runs;
  const auto add = [&](const std::string& group, double a, double b, double c, double loss) {
    for (auto [seed, ratio] : {std::pair(90, a), std::pair(91, b), std::pair(92, c)})
      runs.push_back(run_of(group, static_cast<std::uint64_t>(seed), ratio, loss));
  };
  add("low", 3.1, 3.2, 3.3, 4.0);
  add("middle", 4.1, 4.2, 4.3, 4.2);
  add("high", 5.1, 5.2, 5.3, 4.31);     // loss
  add("unsteady", 3.0, 5.2, 7.3, 4.1);  // variation
  add("small", 2.8, 2.9, 2.9, 4.1);     // ratio
  const std::vector<RecipeCandidate> candidates = recipe_candidates(registered(""), {{"choice", runs}});
  REQUIRE(candidates.size() == 5);
  for (const RecipeCandidate& candidate : candidates)
    CHECK(candidate.passes == (candidate.run == "low" || candidate.run == "middle"));
  CHECK(candidates[1].ratio == doctest::Approx(4.2));
  CHECK(candidates[1].variation == doctest::Approx(0.1 / 4.2));
  const auto text = [&] { return verdicts_text(registered(""), {{"choice", runs}}); };
  CHECK(text().find("Chosen: middle, 10 steps.") != std::string::npos);
  runs.pop_back();
  CHECK(text().find("Not chosen yet: the rule needs all 3 seeds") != std::string::npos);
  runs.pop_back();
  CHECK(text().find("Not chosen yet: the rule needs all 3 seeds") != std::string::npos);  // one seed of `small`
  runs.back().evaluation->scalar["alpha_1"] = report::kNaN;
  CHECK(text().find("Not chosen yet: the rule needs all 3 seeds") != std::string::npos);
}

TEST_CASE("claims: the repository's file is read, and what is wrong in a file is named with its line") {
  CHECK(contains(error_of([] { read_preregistration("/dev/zero"); }), "has more than 1048576 bytes"));
  const Preregistration ours = read_preregistration(SINK_SOURCE_DIR "/train/studies/preregistration.toml");
  CHECK(ours.seeds == std::vector<std::uint64_t>{11, 12, 13, 14, 15});
  CHECK(ours.claims.size() > 40);
  CHECK(ours.choice.study == "recipe_steps");
  const auto message = [](const std::string& text) -> std::string {
    try {
      preregistration_from_toml(text, "p.toml");
    } catch (const Error& error) { return error.what(); }
    return "";
  };
  CHECK(message(kHead + claim("x", "fewer")).find("p.toml: line 14: expected is one of equal, greater, less") == 0);
  CHECK(message(kHead + claim("x", "less", "sed = 1\n")).find("unknown key `sed`") != std::string::npos);
  CHECK(message(kHead + "[[claim]]\nrun = \"x\"\n").find("has no key `says`") != std::string::npos);
  CHECK(message(kHead + claim("x", "less", "measure = \"val_loss\"\n")).find("needs `smallest`") != std::string::npos);
  CHECK(message(kHead + claim("x", "less", "measure = \"sink_lead\"\n")).find("in steps") != std::string::npos);
  CHECK(message(kHead + claim("baseline", "equal")).find("run baseline is compared with itself") != std::string::npos);
  CHECK(message("[judged]\nseeds = [1]\n").find("two or more") != std::string::npos);
  CHECK(message("[judged]\nseeds = [1, 2, 2]\n") == "p.toml: line 2: seed 2 is given twice");
  CHECK(message("[judged]\nseeds = [1, 2]\nlevel = 5\n") ==
        "p.toml: line 3: level is above 0 and below 1, such as 0.05");
}
