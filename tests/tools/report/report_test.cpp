// The report program from outside: synthetic run folders in, one self-contained page and results.csv out.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/report/report_support.h"

using namespace sink;

namespace {

constexpr const char* kHostile = "</script><b onclick='x'>\"&{{data}}";

}  // namespace

TEST_CASE("report: one self-contained, deterministic page of several runs and tasks") {
  const TemporaryFolder place;
  const std::string runs =
      make_run(place, "a", evaluation("soft-0", "text", "pos_learnable", "Softmax", 0, 0.6, 1)) +
      make_run(place, "b", evaluation("soft-1", "text", "pos_learnable", "Softmax", 1, 0.64, 1)) +
      make_run(place, "c", evaluation("sig", "text", "pos_learnable_sigmoid", "Sigmoid", 0, 0.5, 0.06)) +
      make_run(place, "d", evaluation("copy", "bigram-backcopy", "baseline", "Softmax", 0, 0.7, 1));
  const Subprocess first = run_report(place, "--out " + place / "one.html" + " " + runs);
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  REQUIRE(run_report(place, "--out " + place / "deep/er/two.html" + " " + runs).wait() == 0);
  const std::string html = read_bytes(place / "one.html");
  CHECK(html == read_bytes(place / "deep/er/two.html"));
  CHECK(html.size() < 5'000'000);
  for (const auto& entry : fs::directory_iterator(place.path)) CHECK_FALSE(contains(entry.path().string(), ".tmp-"));

  // Nothing is fetched: no reference to elsewhere but the two addresses in Chart.js's comments, and a policy against
  // it.
  for (const char* reference : {" src=", "@import", "<link", "<iframe"}) CHECK_FALSE(contains(html, reference));
  CHECK(count(html, "url(") == count(html, "url(#"));  // parts of the same picture
  CHECK(count(html, "http://") == count(html, "\"http://www.w3.org/2000/svg\""));
  CHECK(count(html, "https://") ==
        count(html, "https://www.chartjs.org") + count(html, "https://github.com/kurkle/color"));
  CHECK(contains(html, "default-src 'none'"));

  // By hand: mean alpha (0.6 + 0.64) / 2; raw 0.5 * 0.06; uniform (1 + 1/2 + 1/3 + 1/4) / 4 = 0.5208.
  CHECK(contains(html,
                 "<h2 class=\"headline\"><b>Softmax</b> puts <b>62\u00a0%</b> of its attention on the first token, "
                 "<b>sigmoid</b> a raw weight of <b>0.03</b>.</h2>"));
  CHECK(contains(html, "Uniform attention would put 52\u00a0% there. Mean of 2 seeds of softmax."));
  CHECK(contains(html, "Rows of sigmoid sum to 0.06, of which 50\u00a0% (proxy) is on the first token."));
  CHECK(contains(html, "mean of 2 seeds<small>softmax</small></th>"));

  const json data = embedded_data(html);
  REQUIRE(data["runs"].size() == 4);
  CHECK(data["groups"].size() == 2);
  CHECK(data["groups"][0]["runs"] == json({0, 1, 2}));
  CHECK(data["groups"][0]["even"][0].get<double>() == doctest::Approx(0.52083).epsilon(1e-4));
  CHECK(data["groups"][0]["even"][3].get<double>() == doctest::Approx(0.25));
  const json& loss = data["runs"][0]["curves"]["train_loss"];
  CHECK(loss["x"] == json({1, 2, 3}));
  CHECK(loss["y"] == json({6.5, nullptr, 5.5}));  // the skipped step is a gap
  CHECK(data["runs"][0]["curves"]["val_loss"]["x"] == json({1, 3}));
  CHECK(data["runs"][0]["colour"] == data["runs"][3]["colour"]);  // softmax in both tasks
  CHECK(data["runs"][0]["dash"] != data["runs"][1]["dash"]);
}

TEST_CASE("report: names, titles and configurations cannot become markup") {
  const TemporaryFolder place;
  json hostile = evaluation(kHostile, kHostile, kHostile, "Softmax", 0, 0.6, 1);
  hostile["config_toml"] = "x = \"</pre><img>\"";
  hostile["commit"] = hostile["date"] = kHostile;
  const std::string out = place / "r.html";
  const Subprocess result = run_report(place, "--out " + out + " --title <i>& " + make_run(place, "h", hostile));
  REQUIRE_MESSAGE(result.wait() == 0, result.err());
  const std::string html = read_bytes(out);
  CHECK(contains(html, "<title>&lt;i&gt;&amp;</title>"));
  CHECK(contains(html, "&lt;/script&gt;&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;{{data}}"));
  for (const char* markup : {"<b onclick", "<i>&", "<img", "</pre><img"}) CHECK_FALSE(contains(html, markup));
  CHECK(count(html, "</script>") == 16);  // ours: theme, data, Chart.js and thirteen scripts
  CHECK(embedded_data(html)["runs"][0]["name"] == kHostile);
  CHECK(embedded_data(html)["runs"][0]["maps"]["tokens"][0][0] == "</script>");
}

TEST_CASE("report: a run in progress shows what it has, up to its last whole line") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "open", json());
  write_bytes(place / "open/metrics.jsonl", metrics() + "{\"step\": 3, \"train_loss\": 5.25}\n{\"step\": 4, \"tr");
  REQUIRE(run_report(place, "--out " + place / "r.html" + " " + run).wait() == 0);
  const std::string html = read_bytes(place / "r.html");
  CHECK(contains(html, "at step 1 of 20, not finished"));
  CHECK(contains(html, "1 run on 1 task, 1 still in progress."));
  const json loss = embedded_data(html)["runs"][0]["curves"]["train_loss"];
  CHECK(loss["x"] == json({1, 2, 3}));
  CHECK(loss["y"] == json({6.5, nullptr, 5.25}));  // a resumed run replaced step 3
}

TEST_CASE("report: a run that is given twice, also by another path, is one run") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "a", evaluation("a", "text", "pos_learnable", "Softmax", 0, 0.6, 1));
  fs::create_directory_symlink(place / "a", place / "link");
  const std::string twice = run + place / "./a/" + " " + place / "link" + " " + run;
  REQUIRE(run_report(place, "--out " + place / "r.html" + " " + twice).wait() == 0);
  CHECK(embedded_data(read_bytes(place / "r.html"))["runs"].size() == 1);
}

TEST_CASE("report: long runs are thinned, and the page stays small") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "long", json());
  std::string lines;
  for (int step = 1; step <= 30000; ++step)
    lines += "{\"step\": " + std::to_string(step) + ", \"train_loss\": " + std::to_string(step % 3) + "}\n";
  write_bytes(place / "long/metrics.jsonl", lines);
  REQUIRE(run_report(place, "--out " + place / "r.html" + " " + run).wait() == 0);
  const json loss = embedded_data(read_bytes(place / "r.html"))["runs"][0]["curves"]["train_loss"];
  REQUIRE(loss["x"].size() == 300);
  CHECK(loss["x"][0] == 100);
  CHECK(loss["x"][299] == 30000);
  // Steps 15001 to 15100: 1 2 0 ... 1, whose mean is 1; what is least and greatest stays as a band.
  CHECK(loss["y"][150].get<double>() == doctest::Approx(1));
  CHECK(loss["least"][150] == 0);
  CHECK(loss["greatest"][150] == 2);
}

TEST_CASE("report: of a curve of evaluations that is thinned a point is what was measured at its step") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "long", json());
  std::string lines;
  for (int step = 10; step <= 9000; step += 10)
    lines += "{\"step\": " + std::to_string(step) + ", \"val_loss\": " + std::to_string(step / 10) + "}\n";
  write_bytes(place / "long/metrics.jsonl", lines);
  REQUIRE(run_report(place, "--out " + place / "r.html" + " " + run).wait() == 0);
  const json loss = embedded_data(read_bytes(place / "r.html"))["runs"][0]["curves"]["val_loss"];
  REQUIRE(loss["x"].size() == 300);
  for (std::size_t i = 0; i < 300; ++i) CHECK(loss["y"][i].get<double>() == loss["x"][i].get<double>() / 10);
  CHECK_FALSE(loss.contains("least"));
}

TEST_CASE("report: of many heads all are on the page; of many positions the first, and the mean of all others") {
  const TemporaryFolder place;
  json wide = evaluation("wide", "text", "baseline", "Softmax", 0, 0.3, 1);
  wide.erase("map");
  std::vector<double> heads(300, 0), norms(1024, 9);
  for (std::size_t h = 256; h < 300; ++h) heads[h] = 1;
  for (std::size_t t = 0; t < 256; ++t) norms[t] = 1;
  wide["alpha_1_layer_head"] = wide["alpha_1_layer_head_raw"] = wide["value_share_layer_head"] = {heads, heads};
  wide["hidden_norm_layer_position"] = {norms, norms, norms};
  const std::string run = make_run(place, "wide", wide);
  REQUIRE(run_report(place, "--out " + place / "r.html" + " " + run).wait() == 0);
  const json data = embedded_data(read_bytes(place / "r.html"))["runs"][0];
  for (const char* name : {"alpha_1", "value_share"}) CHECK(data[name][0].size() == 300);
  CHECK(data["hidden_norm"][0].size() == 256);
  CHECK(data["hidden_norm_others"][1].get<double>() == doctest::Approx((255.0 + 768 * 9) / 1023).epsilon(1e-5));
}

TEST_CASE("report: what cannot be read is named in one line, with exit code 3, and nothing is written") {
  const TemporaryFolder place;
  const std::string out = place / "r.html";
  const auto expect = [&](const std::string& arguments, int code, const std::vector<std::string>& parts) {
    const Subprocess program = run_report(place, "--out " + out + " " + arguments);
    CAPTURE(arguments);
    CHECK(program.wait() == code);
    const std::string errors = program.err();
    CAPTURE(errors);
    CHECK(errors.rfind("report: error: ", 0) == 0);
    CHECK(count(errors, "\n") == 1);
    for (const std::string& part : parts) CHECK(contains(errors, part));
    CHECK_FALSE(fs::exists(out));
  };
  const json good = evaluation("r", "text", "pos_learnable", "Softmax", 0, 0.6, 1);
  const std::string run = make_run(place, "r", good);
  const std::string file = place / "r/evaluation.json";

  expect(place / "missing", 3, {"there is no", "missing"});
  fs::create_directories(place / "empty");
  expect(place / "empty", 3, {"is not a run folder", "evaluation.json"});
  expect(run + "--chart-js " + place / "none.js", 3, {"no such file"});
  write_bytes(file, good.dump().substr(0, 200));
  expect(run, 3, {"evaluation.json", "not JSON"});
  write_bytes(file, std::string(100000, '[') + std::string(100000, ']'));
  expect(run, 3, {"evaluation.json", "nests lists and objects more than 64 deep"});
  json bad = good;
  bad["schema"] = 2;
  write_bytes(file, bad.dump());
  expect(run, 3, {"schema", "expected 1, got 2"});
  bad = good;
  bad["alpha_1_layer_head"] = {{0.1, 0.2}, {0.3}};
  write_bytes(file, bad.dump());
  expect(run, 3, {"alpha_1_layer_head", "rows differ in length: 2 and 1"});
  bad = good;
  bad["map"]["tokens"] = {"a"};
  write_bytes(file, bad.dump());
  expect(run, 3, {"map", "expected 1 rows of weights", "got 4"});
  write_bytes(file, good.dump());
  write_bytes(place / "r/metrics.jsonl", metrics() + "oops\n");
  expect(run, 3, {"metrics.jsonl line 4", "not JSON"});
  write_bytes(place / "r/metrics.jsonl", metrics() + "{\"step\": \"nan\"}\n");
  expect(run, 3, {"metrics.jsonl line 4", "step"});
  write_bytes(place / "r/metrics.jsonl", metrics() + "{\"step\": 1000000000000000000}\n");
  expect(run, 3, {"metrics.jsonl line 4", "from 0 to 1000000000"});
  expect("", 2, {"RUN"});
  expect(run + "--colour", 2, {"--colour"});
  write_bytes(place / "r/metrics.jsonl", metrics());
  write_bytes(place / "file", "");
  for (const std::string& same : {out, place / "./r.html", place / "r/../r.html"})
    expect(run + "--csv " + same, 2, {"--out and --csv both write " + same});
  const Subprocess relative = shell(place, "cd " + place.path + " && report r --out r.html --csv ./new/../r.html");
  CHECK(relative.wait() == 2);
  const Subprocess table =
      run_report(place, "--out " + place / "csv/results.csv" + " --csv " + place / "csv/" + " " + run);
  CHECK(table.wait() == 2);
  CHECK(contains(table.err(), "--out and --csv both write " + place / "csv/results.csv"));
  CHECK_FALSE(fs::exists(place / "csv/results.csv"));
  CHECK(run_report(place, "--out /dev/null --csv /dev/null " + run).wait() == 0);
  const Subprocess blocked = run_report(place, "--out " + place / "file/r.html " + run);
  CHECK(blocked.wait() == 8);
  CHECK(contains(blocked.err(), "cannot make the folder"));
}

TEST_CASE("report: a pipe or a device in a run folder is refused, and not waited for") {
  const TemporaryFolder place;
  for (const char* name : {"metrics.jsonl", "failure.txt", "config.toml"}) {
    const std::string folder = place / name;
    const std::string run = make_run(place, name, evaluation("a", "text", "baseline", "Softmax", 0, 0.6, 1));
    fs::remove(folder + "/" + name);
    REQUIRE(::mkfifo((folder + "/" + name).c_str(), 0600) == 0);
    const Subprocess report = run_report(place, "--out " + place / "page.html" + " " + run);
    CHECK(report.wait() == 3);
    CHECK_MESSAGE(contains(report.err(), "is not a regular file"), report.err());
  }
}

TEST_CASE("report: natural, random and repeated tokens of open models, which have the names of their files") {
  const TemporaryFolder place;
  auto of_input = [](const std::string& model, const std::string& input, double sink) {
    json one = evaluation(model, "unknown", "llama", "Softmax", 0, sink / 100, 1);
    one["config_toml"] = "";  // not trained here
    one["input"] = input;
    one["sink_1"] = {sink, sink, sink};
    return one;
  };
  auto write = [&](const std::string& file, const json& inputs) {
    write_bytes(place / file, json{{"schema", 1}, {"policies", "attention=Softmax"}, {"inputs", inputs}}.dump());
  };
  const std::string small = "/somewhere/models/Small.Q4_1.gguf", large = "/somewhere/models/large-v1/";
  write("a.json", {{"natural", of_input(small, "text", 61.5)},
                   {"code", of_input(small, "text", 12.5)},
                   {"random", of_input(small, "random", 30.25)},
                   {"repeated", of_input(small, "repeated", 0)}});
  write("b.json", {{"natural", of_input(large, "text", 80)}, {"random", of_input(large, "random", 70)}});
  Subprocess made = run_report(place, "--out " + place / "page.html" + " " + place / "a.json" + " " + place / "b.json");
  REQUIRE_MESSAGE(made.wait() == 0, made.err());
  const std::string html = read_bytes(place / "page.html");
  CHECK_FALSE(contains(html, "/somewhere"));
  CHECK(contains(html,
                 "<th scope=\"col\">natural</th><th scope=\"col\">random</th><th scope=\"col\">repeated</th>"
                 "<th scope=\"col\">code</th>"));
  const std::size_t row = html.find("<th scope=\"row\">Small.Q4_1</th>");
  REQUIRE(row != std::string::npos);
  const std::string cells = html.substr(row, 400);
  for (const char* cell : {"<td>61.5<", "<td>30.2<", "<td>0.0<", "<td>12.5<"}) CHECK(contains(cells, cell));
  CHECK(contains(html.substr(html.find("<th scope=\"row\">large-v1</th>"), 400), "<td>80.0<"));
  CHECK(contains(html,
                 "Of 6 measurements, <b>large-v1, natural</b> puts the most on the first token, <b>80\u00a0%</b> "
                 "of its attention; <b>Small.Q4_1, repeated</b> the least, <b>0.0\u00a0%</b>."));
  const json data = embedded_data(html);
  CHECK(data["runs"].size() == 6);

  // Another model of the same file name keeps its own row and its own values.
  write("d.json", {{"natural", of_input("/elsewhere/Small.Q4_1.gguf", "text", 7.5)}});
  Subprocess alike =
      run_report(place, "--out " + place / "alike.html" + " " + place / "a.json" + " " + place / "d.json");
  REQUIRE_MESSAGE(alike.wait() == 0, alike.err());
  const std::string both = read_bytes(place / "alike.html");
  for (const auto& [file, cell] : {std::pair{"a.json", "<td>61.5<"}, std::pair{"d.json", "<td>7.5<"}}) {
    const std::size_t at = both.find("<th scope=\"row\">Small.Q4_1 (" + place / file + ")</th>");
    REQUIRE(at != std::string::npos);
    CHECK(contains(both.substr(at, both.find("</tr>", at) - at), cell));
  }

  write("c.json", json::object());
  Subprocess none = run_report(place, "--out " + place / "none.html" + " " + place / "c.json");
  CHECK(none.wait() == 3);
  CHECK(contains(none.err(), "c.json"));
}
