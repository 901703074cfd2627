// The report of a study, many runs and seeds: its lines and their CSV, its claims and verdicts, what is not known.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/report/report_support.h"

using namespace sink;

namespace {

// One run of a study, whose config.toml is `settings` more than the usual.
struct StudyRun {
  std::string attention = "Softmax", ablation = "baseline", settings = {};
  int seed = 0;
  double sink = 20, raw = 20, star = -1;  // percents
  std::vector<double> alpha = {0.3, 0.1, 0.1, 0.1};
  double entropy = -1;  // -1: not measured
};

std::string make_study_run(const TemporaryFolder& place, const std::string& name, const StudyRun& r) {
  json e = evaluation(name, "text", r.ablation, r.attention, r.seed, 0.3, r.attention == "Sigmoid" ? 0.5 : 1);
  e["sink_1"] = {r.sink, r.sink, r.sink};
  e["sink_1_raw"] = {r.raw, r.raw, r.raw};
  e["alpha_k"] = e["alpha_k_raw"] = r.alpha;
  e.erase("map");
  if (r.entropy >= 0) e["entropy"] = r.entropy;
  if (r.star >= 0)
    e.update({{"extra", "key"},
              {"extra_key_mass", 0.2},
              {"row_mass", 0.8},
              {"alpha_star", 0.2},
              {"alpha_star_raw", 0.2},
              {"sink_star", {r.star, r.star, r.star}},
              {"sink_star_raw", {r.star, r.star, r.star}}});
  const std::string toml = "task = \"text\"\nablation = \"" + r.ablation + "\"\nseed = " + std::to_string(r.seed) +
                           "\nsteps = 20\ncontext = 4\n" + r.settings;
  e["config_toml"] = toml;
  const std::string folder = make_run(place, name, e);
  write_bytes(place / name + "/config.toml", toml);
  return folder;
}

std::string page_of(const TemporaryFolder& place, const std::string& arguments) {
  const Subprocess program = run_report(place, "--out " + place / "r.html" + " " + arguments);
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
  return read_bytes(place / "r.html");
}

// The n-th cell after a claim, without its marks: 0 the verdict, 2 what the paper found; "" where the page does not
// make the claim.
std::string cell_of(const std::string& html, const std::string& claim, int n) {
  std::size_t at = html.find(claim + "</th>");
  if (at == std::string::npos) return "";
  for (int i = 0; i <= n; ++i) at = html.find("<td", at) + 3;
  at = html.find('>', at) + 1;
  std::string cell = html.substr(at, html.find("</td>", at) - at);
  for (const char* mark : {"<b>", "</b>"})
    if (const std::size_t found = cell.find(mark); found != std::string::npos)
      cell.erase(found, std::string(mark).size());
  return cell;
}
std::string verdict(const std::string& html, const std::string& claim) { return cell_of(html, claim, 0); }
std::string paper(const std::string& html, const std::string& claim) { return cell_of(html, claim, 2); }

std::string first_screen(const std::string& html) {
  const std::size_t at = html.find("<h2 class=\"headline\">");
  return html.substr(at, html.find("class=\"toolbar\"", at) - at);
}

constexpr const char* kSoftmax = "Softmax attention has a sink on the first token.";
constexpr const char* kSigmoid = "Sigmoid attention without normalisation has no sink.";
constexpr const char* kExtra = "An extra key or sink token takes the sink from the first token.";
constexpr const char* kRate = "The sink of softmax grows with the learning rate.";
constexpr const char* kDecay = "The sink of softmax grows with weight decay, up to 0.5.";
constexpr const char* kFixed = "A fixed token carries the sink at the position where it is.";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE("report study: seeds are one line, their mean, least and greatest at every step that one of them has") {
  const TemporaryFolder place;
  const std::string a = make_study_run(place, "a", {}), b = make_study_run(place, "b", {.seed = 1});
  write_bytes(place / "a/metrics.jsonl",
              "{\"step\": 2, \"val_loss\": 4}\n{\"step\": 6, \"val_loss\": 2}\n{\"step\": 8, \"val_loss\": 1}\n");
  write_bytes(place / "b/metrics.jsonl",
              "{\"step\": 3, \"val_loss\": 5}\n{\"step\": 6, \"val_loss\": 4}\n{\"step\": 7, \"val_loss\": \"nan\"}\n");
  const json data = embedded_data(page_of(place, "--csv " + place / "csv/" + " " + a + b));
  CHECK(data["groups"][0]["arms"].size() == 1);
  CHECK(data["groups"][0]["arms"][0]["runs"] == json({0, 1}));
  // By hand: a is 3.5 at step 3; b is known from 3 to 6; at 8 a is alone.
  CHECK(lines_of(read_bytes(place / "csv/text-val_loss.csv")) ==
        std::vector<std::string>{"line,step,value,least,greatest,runs", "\"softmax, 2 seeds\",2,4,4,4,1",
                                 "\"softmax, 2 seeds\",3,4.25,3.5,5,2", "\"softmax, 2 seeds\",6,3,2,4,2",
                                 "\"softmax, 2 seeds\",8,1,1,1,1"});
  CHECK(lines_of(read_bytes(place / "csv/text-scatter.csv"))[2] == "b,\"softmax, 2 seeds\",4.123457,20");
  CHECK(contains(read_bytes(place / "csv/results.csv"), "run,task,"));
  const Subprocess blocked = run_report(place, "--out " + place / "r.html" + " --csv " + place / "csv" + " " + a + b);
  CHECK(blocked.wait() == 0);  // its own tables are replaced
  write_bytes(place / "csv/text-val_loss.csv", "my notes");
  CHECK(run_report(place, "--out " + place / "r.html" + " --csv " + place / "csv" + " " + a + b).wait() == 2);
  CHECK(read_bytes(place / "csv/text-val_loss.csv") == "my notes");
}

TEST_CASE("report study: of runs with one seed the figures count one, a finished one if there is one") {
  const TemporaryFolder place;
  const std::string policies = "policies = \"position=Learned norm=RMSNorm attention=Softmax\"\n",
                    a = make_study_run(place, "a", {}), again = make_study_run(place, "again", {}),
                    b = make_study_run(place, "b", {.seed = 1}),
                    open = make_study_run(place, "open", {.settings = policies, .seed = 1});
  fs::remove(place / "open/evaluation.json");
  const auto log = [&](const std::string& name, const char* loss) {
    write_bytes(place / name + "/metrics.jsonl", "{\"step\": 2, \"val_loss\": " + std::string(loss) + "}\n");
  };
  log("a", "2"), log("again", "2"), log("b", "5"), log("open", "8");
  const std::string arguments = "--csv " + place / "csv/" + " " + open + a + again + b;
  const json data = embedded_data(page_of(place, arguments));
  CHECK(data["runs"].size() == 4);
  CHECK(data["groups"][0]["arms"][0]["runs"] == json({1, 3}));
  CHECK(lines_of(read_bytes(place / "csv/text-val_loss.csv")) ==
        std::vector<std::string>{"line,step,value,least,greatest,runs", "\"softmax, 2 seeds\",2,3.5,2,5,2"});
}

TEST_CASE("report study: fewer runs or steps than the recipe test nothing, which the first screen says, too") {
  const TemporaryFolder place;
  std::string recipe = read_bytes(std::string(SINK_SOURCE_DIR) + "/tools/quickstart_bigram.toml");
  const auto run = [&](const std::string& name, const std::string& attention, int seed, int steps, double sink) {
    json e = evaluation(name, "bigram-backcopy", "baseline", attention, seed, 0.3, attention == "Sigmoid" ? 0.5 : 1);
    e.erase("map");
    e["sink_1"] = {sink, sink, sink};
    e["step"] = e["steps"] = steps;
    const std::string folder = make_run(place, name, e);
    std::string toml = recipe;
    toml.replace(toml.find("steps = 6000"), 12, "steps = " + std::to_string(steps));
    write_bytes(place / name + "/config.toml", "ablation = \"baseline\"\nseed = " + std::to_string(seed) + "\n" + toml);
    return folder;
  };
  // As tried: neither claim holds after a quarter of the steps.
  std::string html = page_of(place, run("a", "Softmax", 0, 1500, 0) + run("b", "Sigmoid", 0, 1500, 30));
  CHECK(verdict(html, kSoftmax) == "not tested: one run, 1,500 of 6,000 steps");
  CHECK(verdict(html, kSigmoid) == "not tested: one run, 1,500 of 6,000 steps");
  CHECK(contains(first_screen(html), "not tested: one run, 1,500 of 6,000 steps"));
  CHECK_FALSE(contains(html, "not true"));
  CHECK(contains(html, "<td class=\"word\">not tested: one run, "));  // no bold
  CHECK(paper(html, kSoftmax) == "no matching row for Bigram-Backcopy");

  // The quickstart: whole runs, one of each model.
  html = page_of(place, run("c", "Softmax", 0, 6000, 50) + run("d", "Sigmoid", 0, 6000, 0));
  CHECK(verdict(html, kSoftmax) == "not tested: one run");
  CHECK(contains(html, "Sink<sub>1</sub> (raw = proxy) 50.0 % (seed 0, no interval)"));
  CHECK(contains(first_screen(html), "The paper\u2019s claims: 2 not tested: one run each."));

  // Three seeds are enough; one of them short of its steps is not.
  std::string seeds = run("e", "Softmax", 0, 6000, 50) + run("f", "Softmax", 1, 6000, 50);
  CHECK(verdict(page_of(place, seeds), kSoftmax) == "not tested: 2 runs");
  CHECK(verdict(page_of(place, seeds + run("g", "Softmax", 2, 6000, 0.0)), kSoftmax) == "undecided [-38.4, 105.0]");
  CHECK(verdict(page_of(place, seeds + run("h", "Softmax", 2, 6000, 49.0)), kSoftmax) == "supported");
  html = page_of(
      place, run("i", "Softmax", 0, 5999, 50) + run("j", "Softmax", 1, 5999, 50) + run("k", "Softmax", 2, 5999, 49));
  CHECK(verdict(html, kSoftmax) == "not tested: 3 runs, 5,999 of 6,000 steps");

  // A run that still trains.
  const std::string open = make_run(place, "open", json());
  write_bytes(place / "open/config.toml",
              "ablation = \"baseline\"\npolicies = \"position=Rotary attention=Softmax\"\n" + recipe);
  write_bytes(place / "open/metrics.jsonl",
              "{\"step\": 300, \"val_loss\": 5, \"sink_1\": 1, \"sink_1_raw\": 1, \"alpha_1\": 0.1}\n");
  CHECK(contains(page_of(place, open), "not tested: one run, 300 of 6,000 steps"));
}

TEST_CASE("report study: claims of the paper get a verdict from intervals over seeds") {
  const TemporaryFolder place;
  std::string runs;
  int count = 0;
  const auto add = [&](const StudyRun& run) { runs += make_study_run(place, "r" + std::to_string(count++), run); };
  const auto fresh = [&] { runs.clear(); };

  add({.sink = 20});
  std::string html = page_of(place, runs);
  for (const char* claim : {kSigmoid, kExtra, kRate, kDecay, kFixed}) CHECK(verdict(html, claim).empty());

  // 10, 20, 30: mean 20, s = 10, t = 4.303, half = 4.303 * 10 / sqrt(3) = 24.84: the interval holds 2 %.
  add({.seed = 1, .sink = 10});
  add({.seed = 2, .sink = 30});
  html = page_of(place, runs);
  CHECK(verdict(html, kSoftmax) == "undecided [-4.8, 44.8]");
  CHECK(contains(html, "20.0 [-4.8, 44.8] % (seeds 0, 1, 2)"));
  CHECK(contains(first_screen(html), "The paper\u2019s claim: undecided."));
  fresh();
  for (int seed = 0; seed < 3; ++seed) add({.seed = seed, .sink = 19.0 + seed});
  CHECK(verdict(page_of(place, runs), kSoftmax) == "supported");
  fresh();
  for (int seed = 0; seed < 3; ++seed) add({.seed = seed, .sink = 0});
  CHECK(verdict(page_of(place, runs), kSoftmax) == "contradicted");
  // Even rows of 1 to 4 keys have the entropy ln(4!) / 4 = 0.7945.
  for (const auto& [entropy, words] : {std::pair{0.74, "contradicted"}, {0.75, "not tested: nearly even attention"}}) {
    fresh();
    for (int seed = 0; seed < 3; ++seed) add({.seed = seed, .sink = 0, .entropy = entropy});
    CHECK(verdict(page_of(place, runs), kSoftmax) == words);
  }

  // By proxy, whatever the raw weights are.
  fresh();
  for (int seed = 0; seed < 3; ++seed)
    add({.attention = "Sigmoid", .ablation = "op_sigmoid_none", .seed = seed, .sink = 0, .raw = 40});
  html = page_of(place, runs);
  CHECK(verdict(html, kSigmoid) == "supported");
  CHECK(contains(html, "raw 40.0 [40.0, 40.0] %"));
  add({.attention = "Sigmoid", .ablation = "third", .sink = 9});
  CHECK(verdict(page_of(place, runs), kSigmoid) == "supported; 1 of 2 not tested");
  for (int seed = 0; seed < 3; ++seed) add({.attention = "Sigmoid", .ablation = "other", .seed = seed, .sink = 9});
  CHECK(verdict(page_of(place, runs), kSigmoid) ==
        "undecided: supported by 1 of 2 groups of runs, contradicted by 1; 1 of 3 not tested");

  fresh();
  for (int seed = 0; seed < 3; ++seed)
    add({.attention = "Softmax extra=LearnedKey", .ablation = "bias_k", .seed = seed, .sink = 0, .star = 40});
  html = page_of(place, runs);
  CHECK(verdict(html, kExtra) == "supported");
  CHECK(verdict(html, kSoftmax).empty());  // which is asked of softmax alone
  for (int seed = 0; seed < 3; ++seed)
    add({.attention = "Softmax extra=LearnedKey", .ablation = "bias_kv", .seed = seed, .sink = 30, .star = 40});
  CHECK(verdict(page_of(place, runs), kExtra) == "undecided: supported by 1 of 2 groups of runs, contradicted by 1");
}

TEST_CASE("report study: growth with a setting is asked seed by seed, of runs that differ in nothing else") {
  const TemporaryFolder place;
  std::string runs;
  int count = 0;
  const auto add = [&](const std::string& settings, int seed, double sink) {
    runs += make_study_run(place, "r" + std::to_string(count++), {.settings = settings, .seed = seed, .sink = sink});
  };
  for (int seed = 0; seed < 3; ++seed) {  // seeds differ more than rates do
    add("learning-rate = 0.001\n", seed, 10 + 20 * seed);
    add("learning-rate = 0.01\n", seed, 13 + 20 * seed + 0.1 * (seed == 1));
  }
  std::string html = page_of(place, runs);
  CHECK(verdict(html, kRate) == "supported");
  CHECK(contains(html, "seed by seed: 3.0 [2.9, 3.2] (seeds 0, 1, 2)"));  // 3, 3.1, 3: half 4.303 * 0.0577 / sqrt 3
  CHECK(verdict(html, kDecay).empty());
  runs.clear();
  add("learning-rate = 0.001\nheads = 2\n", 0, 10);
  add("learning-rate = 0.01\nheads = 4\n", 0, 20);
  CHECK(verdict(page_of(place, runs), kRate).empty());  // heads differ, too
  runs.clear();
  for (int seed = 0; seed < 3; ++seed) {
    add("weight-decay = 0.0\n", seed, 10 + seed);
    add("weight-decay = 0.5\n", seed, 5 + 0.9 * seed);
    add("weight-decay = 2.0\n", seed, 90);  // beyond what the claim is of
  }
  html = page_of(place, runs);
  CHECK(verdict(html, kDecay) == "contradicted");
  CHECK(contains(html, "seed by seed: -5.1 [-5.3, -4.9]"));  // -5, -5.1, -5.2: half 4.303 * 0.1 / sqrt 3
  runs.clear();
  for (int seed = 0; seed < 3; ++seed) {
    add("weight-decay = 0.0\n", seed, 10);
    add("weight-decay = 0.5\n", seed, 11 + 0.1 * seed);
  }
  CHECK(verdict(page_of(place, runs), kDecay) == "too small to tell");  // 1, 1.1, 1.2: [0.85, 1.35], all below 2
  runs.clear();
  for (int seed = 0; seed < 3; ++seed) {
    add("learning-rate = 0.005\n", seed, 11 + seed);
    add("learning-rate = 0.01\n", seed, 61 + seed);
    add("learning-rate = 0.02\n", seed, 22 + 1.1 * seed);
  }
  CHECK(verdict(page_of(place, runs), kRate) == "undecided: it falls between 0.01 and 0.02");
}

// Even attention with 4 tokens: 25/48, 13/36, 7/24 and 1/4, the means of 1/i over the queries i >= k.
TEST_CASE("report study: a fixed token carries the sink where its alpha is most above even attention") {
  const TemporaryFolder place;
  std::string runs;
  for (int seed = 0; seed < 3; ++seed)
    runs +=
        make_study_run(place, "f" + std::to_string(seed),
                       {.settings = "fixed-first-token = 7\n", .seed = seed, .alpha = {0.6, 0.1, 0.1 + 0.2 * seed}});
  const std::string html = page_of(place, runs);
  CHECK(verdict(html, kFixed) ==
        "undecided [-0.426, 0.568]");  // leads of 0.271, 0.071 and -0.129: 0.071 +- 4.303 * 0.2 / sqrt 3
  CHECK(contains(html, "0.071 [-0.426, 0.568]"));
  runs.clear();
  for (int seed = 0; seed < 3; ++seed)
    runs += make_study_run(place, "e" + std::to_string(seed),
                           {.settings = "fixed-first-token = 7\n",
                            .seed = seed,
                            .alpha = {25.0 / 48 + 1e-4 * seed, 13.0 / 36, 7.0 / 24, 0.25}});
  CHECK(verdict(page_of(place, runs), kFixed) == "too small to tell");  // even attention
  runs = make_study_run(place, "g", {.settings = "fixed-first-token = 7\n", .alpha = {0.1, 0.6, 0.1}});
  CHECK(verdict(page_of(place, runs), kFixed) == "not tested: one run");
  // Two models: the claim is about both, the others about one each, and the reason is given once.
  runs += make_study_run(place, "h",
                         {.attention = "Sigmoid",
                          .ablation = "op_sigmoid_none",
                          .settings = "fixed-first-token = 7\n",
                          .alpha = {0.1, 0.6, 0.1}});
  const std::string two = page_of(place, runs);
  CHECK(verdict(two, kFixed) == "not tested: one run each");
  CHECK(contains(first_screen(two), "3 not tested: one run each."));
}

TEST_CASE("report study: the paper's value next to a claim is of the same kind of input, or there is none") {
  const TemporaryFolder place;
  int count = 0;
  const auto found = [&](const StudyRun& run, const char* claim) {
    return paper(page_of(place, make_study_run(place, "p" + std::to_string(count++), run)), claim);
  };
  const std::string fixed = "fixed-token = 1\n", second = "fixed-token = 1\nfixed-position = 2\n";
  CHECK(found({}, kSoftmax) == "18.18 % on natural text");
  CHECK(found({.settings = fixed}, kSoftmax) == "74.11 % on text with a fixed first token");
  CHECK(found({.settings = second}, kSoftmax) == "0.00 % on text with a fixed token at position 2");
  CHECK(found({.settings = "random-from = 1\nrandom-to = 1\n"}, kSoftmax) ==
        "27.03 % on text with random tokens at position 1");
  CHECK(found({.settings = "window = 2\n"}, kSoftmax) == "no matching row for natural text, window 2");
  const StudyRun sigmoid{.attention = "Sigmoid", .ablation = "op_sigmoid_none"};
  StudyRun other = sigmoid;
  CHECK(found(sigmoid, kSigmoid) == "0.44 % (proxy) on natural text");
  other.settings = fixed;
  CHECK(found(other, kSigmoid) == "no matching row for text with a fixed first token");
  StudyRun key{.attention = "Softmax extra=LearnedKey", .ablation = "bias_k", .star = 40};
  CHECK(found(key, kExtra) == "sink token 74.12 %, K biases 73.34 % on *; 0.00 % on token 1, on natural text");
  key.settings = fixed;
  CHECK(found(key, kExtra) == "no matching row for text with a fixed first token");
  CHECK(found({.settings = second}, kFixed) ==
        "69.03 % there, 0.00 % on token 1 on text with a fixed token at position 2");
  // The paper's table on the page marks the row that these runs may be set next to.
  const auto page = [&](const StudyRun& run) {
    return page_of(place, make_study_run(place, "q" + std::to_string(count++), run));
  };
  CHECK(contains(page({}), "softmax, natural text</th><td>18.18</td><td>3.73</td><td class=\"word\">these runs"));
  const std::string html = page({.settings = fixed});
  CHECK(contains(
      html, "softmax, text with a fixed first token</th><td>74.11</td><td>n.r.</td><td class=\"word\">these runs"));
  CHECK(contains(html, "softmax, natural text</th><td>18.18</td><td>3.73</td><td class=\"word\">other input"));
}

TEST_CASE("report study: what an older run was not measured for is not known, and no zero") {
  const TemporaryFolder place;
  json older = evaluation("older", "text", "baseline", "Softmax", 0, 0.6, 1), newer = older;
  newer["run"] = "newer";
  newer["seed"] = 1;
  newer["hidden_kurtosis_layer_position"] = {{3, 3, 3, 3}, {40, 3, 3, 3}, {50, 3, 3, 3}};
  newer["value_share_layer_head"] = {{0.1, 0.2}, {0.3, 0.4}};
  newer["loss_position"] = {4, 3, 2, "nan"};
  const std::string a = make_run(place, "a", older), b = make_run(place, "b", newer);
  // What the page says of it: browser_check.py.
  const json data = embedded_data(page_of(place, "--csv " + place / "csv/" + " " + a + b));
  CHECK_FALSE(data["runs"][0].contains("hidden_kurtosis"));
  CHECK(data["runs"][1]["loss_position"] == json({4, 3, 2, nullptr}));
  const std::vector<std::string> share = lines_of(read_bytes(place / "csv/text-value_share.csv"));
  REQUIRE(share.size() == 3);
  CHECK(share[1] == "\"softmax, 2 seeds\",0,0.15,,,1");
  CHECK(share[2] == "\"softmax, 2 seeds\",1,0.35,,,1");
  newer["value_share_layer_head"] = {{0.1, 0.2}};
  write_bytes(place / "b/evaluation.json", newer.dump());
  const Subprocess bad = run_report(place, "--out " + place / "x.html " + b);
  CHECK(bad.wait() == 3);
  CHECK(contains(bad.err(), "value_share_layer_head"));
}

TEST_CASE("report study: settings are said once where runs agree, and filters know all of them, hostile ones too") {
  const TemporaryFolder place;
  const std::string hostile = "</script><b>\u202e${1}`";
  json odd = evaluation(hostile, "text", hostile, "Softmax", 0, 0.6, 1);
  const std::string a = make_run(place, "a", odd),
                    b = make_run(place, "b", evaluation("=1+1", "text", "baseline", "Softmax", 0, 0.6, 1));
  write_bytes(place / "b/config.toml", "task = \"text\"\nseed = 7\nsteps = 20\ncontext = 4\nlearning-rate = 0.5\n");
  const json data = embedded_data(page_of(place, "--csv " + place / "csv/" + " " + a + b));
  CHECK(data["common"]["context"] == "4");
  CHECK(data["common"]["attention"] == "Softmax");
  CHECK(data["runs"][0]["settings"]["name"] == hostile);
  CHECK(data["runs"][1]["settings"]["learning-rate"] == "0.5");
  CHECK_FALSE(data["runs"][1]["settings"].contains("context"));
  CHECK_FALSE(data["common"].contains("learning-rate"));
  CHECK(contains(read_bytes(place / "csv/text-scatter.csv"), "\n'=1+1,"));
}

TEST_CASE("report study: a hundred runs with long curves and maps stay under 5 MB, with the same bytes each time") {
  const TemporaryFolder place;
  std::string lines, runs;
  for (int step = 1; step <= 400; ++step) {
    lines += "{\"step\": " + std::to_string(step) + ", \"train_loss\": " + std::to_string(3 + std::sin(step)) +
             ", \"grad_norm\": " + std::to_string(1 + std::cos(step));
    if (step % 2 == 0)
      lines += ", \"val_loss\": " + std::to_string(std::sqrt(step)) +
               ", \"sink_1\": 12.3456, \"sink_1_raw\": 23.4567, " + "\"alpha_1\": " + std::to_string(1.0 / step) +
               ", \"alpha_1_raw\": " + std::to_string(1.1 / step);
    lines += "}\n";
  }
  json e = evaluation("r", "text", "baseline", "Softmax", 0, 0.6, 1);
  const std::vector<double> row(512, 1.23456789);
  e["hidden_norm_layer_position"] = e["hidden_kurtosis_layer_position"] = std::vector<std::vector<double>>(3, row);
  e["key_norm_layer_position"] = e["value_norm_layer_position"] = std::vector<std::vector<double>>(2, row);
  json map = json::array();
  for (int i = 0; i < 96; ++i) map.push_back(std::vector<double>(static_cast<std::size_t>(i + 1), 0.01));
  e["map"] = {{"layer", 1}, {"head", 0}, {"tokens", std::vector<std::string>(96, "x")}, {"weights", map}};
  for (auto& weights : e["map"]["weights"]) weights.get_ref<json::array_t&>().resize(96, 0);
  for (int i = 0; i < 100; ++i) {
    e["run"] = "run-" + std::to_string(i);
    e["seed"] = i % 3;
    const std::string name = "n" + std::to_string(i);
    runs += make_run(place, name, e);
    write_bytes(place / name + "/metrics.jsonl", lines);
    write_bytes(place / name + "/config.toml", "task = \"text\"\nseed = " + std::to_string(i % 3) +
                                                   "\nlearning-rate = " + std::to_string(0.001 * (1 + i / 3)) + "\n");
  }
  const std::string html = page_of(place, runs);
  CHECK(html.size() < 5'000'000);
  CHECK(html == page_of(place, runs));
  const json data = embedded_data(html);
  CHECK(data["groups"][0]["arms"].size() == 34);
  CHECK(data["runs"][99]["curves"]["train_loss"]["x"].size() >= 40);
}
