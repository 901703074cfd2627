// Which runs the report averages, how it names groups, and what it shows of inputs, extra keys and unfinished runs.
#include <doctest/doctest.h>

#include <csignal>
#include <thread>

#include "engine/io/printable.h"
#include "tests/tools/report/report_support.h"

using namespace sink;

namespace {

// A run folder whose config.toml has `settings` in addition to those of make_run.
std::string run_with(const TemporaryFolder& place, const std::string& folder, const json& evaluated,
                     const std::string& settings) {
  const std::string argument = make_run(place, folder, evaluated);
  write_bytes(place / folder + "/config.toml", "task = \"text\"\nsteps = 20\ncontext = 4\n" + settings);
  return argument;
}

json softmax(const std::string& name, int seed, double alpha = 0.6) {
  return evaluation(name, "text", "pos_learnable", "Softmax", seed, alpha, 1);
}

struct Made {
  std::string html, table;
};
Made made_of(const TemporaryFolder& place, const std::string& arguments) {
  const Subprocess program = run_report(place, "--out " + place / "r.html" + " " + arguments);
  CHECK_MESSAGE(program.wait() == 0, program.err());
  return {read_bytes(place / "r.html"), program.out()};
}

}  // namespace

TEST_CASE("report: only runs that differ in the seed alone are averaged, the others are named by what differs") {
  struct Case {
    const char *one, *other, *first, *second;
  };
  for (const Case& c :
       {Case{"learning-rate = 0.004\n", "learning-rate = 0.01\n", "learning rate 0.004", "learning rate 0.01"},
        Case{"", "heads = 8\n", "heads 4", "heads 8"},  // what an older file lacks has its default
        Case{"window = 0\n", "window = 16\n", "window 0", "window 16"},
        Case{"precision = \"f32\"\n", "precision = \"bf16\"\n", "precision f32", "precision bf16"},
        Case{"data = \"data/a\"\n", "data = \"data/b\"\n", "data data/a", "data data/b"},
        Case{"batch = 8\nheads = 2\n", "batch = 16\nheads = 8\n", "batch 8, heads 2", "batch 16, heads 8"}}) {
    CAPTURE(std::string(c.second));
    const TemporaryFolder place;
    json measured = softmax("b", 1, 0.64);  // of another seed, too: two things differ
    if (contains(c.other, "bf16")) measured["precision"] = "bf16";
    const Made made =
        made_of(place, run_with(place, "a", softmax("a", 0), c.one) + run_with(place, "b", measured, c.other));
    CHECK_FALSE(contains(made.html, "mean of 2"));
    CHECK(contains(made.html, std::string("<b>Softmax, ") + c.second +
                                  "</b> puts <b>64\u00a0%</b> of its attention on "
                                  "the first token, <b>softmax, " +
                                  c.first + "</b> <b>60\u00a0%</b>."));
    CHECK(contains(made.table, c.first));
    CHECK(contains(made.table, c.second));
  }
}

TEST_CASE("report: seeds are distinct seeds of the same run, whoever watched it how often") {
  const TemporaryFolder place;
  json later = softmax("e", 4);
  later["commit"] = "def456";
  const std::string a = run_with(place, "a", softmax("a", 0), "threads = 1\n"),
                    b = run_with(place, "b", softmax("b", 1, 0.64), "threads = 2\nlog-every = 3\ndata = \"./\"\n"),
                    c = run_with(place, "c", softmax("c", 0, 0.6), "data = \".\"\n"),
                    d = run_with(place, "d", softmax("d", 0), ""), e = run_with(place, "e", later, "");
  CHECK(contains(made_of(place, b + c).html,
                 "<b>Softmax</b> puts <b>62\u00a0%</b> of its attention on the first token.</h2>"));
  CHECK(contains(made_of(place, b + c).html, "Rows sum to one (raw = proxy). Means of 2 seeds."));
  CHECK_FALSE(contains(made_of(place, a + d).html, "mean of 2"));  // one seed, twice
  const Made builds = made_of(place, a + e);                       // another program made it
  CHECK_FALSE(contains(builds.html, "mean of 2"));
  CHECK(contains(builds.table, "commit def456"));
}

TEST_CASE("report: data is what its tokens are, where that is known, and not where they lie") {
  const TemporaryFolder place;
  const auto made = [&](const char* one, const char* other, const std::string& path) {
    json a = softmax("a", 0), b = softmax("b", 1);
    a["data_sha256"] = one;
    b["data_sha256"] = other;
    return made_of(
        place, run_with(place, "a", a, "data = \"data/a\"\n") + run_with(place, "b", b, "data = \"" + path + "\"\n"));
  };
  CHECK(contains(made("0123456789", "0123456789", "data/b").html, "mean of 2 seeds"));
  const Made others = made("0123456789", "89abcdef01", "data/a");
  CHECK_FALSE(contains(others.html, "mean of 2"));
  CHECK(contains(others.table, "data data/a (01234567)"));
  CHECK(contains(others.table, "data data/a (89abcdef)"));
}

TEST_CASE("report: a measurement of an edited model or of other text is not a seed of the run") {
  const TemporaryFolder place;
  const std::string settings = "data = \"data/a\"\n", text = "0123456789", other = "89abcdef01";
  const auto with_text = [&](json e, const json& changes) {
    e.update({{"data", "data/a"}, {"data_sha256", text}, {"measured_data_sha256", text}});
    e.update(changes);
    return e;
  };
  // The measurement of seed 1 with these changes, next to the run of seed 0.
  const auto made = [&](const json& changes) {
    json m = with_text(softmax("runs/first/checkpoint.h5", 1), changes);
    m["config_toml"] = "task = \"text\"\nsteps = 20\ncontext = 4\n" + settings;
    for (const auto& [key, value] : changes.items())
      if (value.is_null()) m.erase(key);
    write_bytes(place / "m.json", m.dump());
    return made_of(place,
                   run_with(place, "a", with_text(softmax("a", 0), json::object()), settings) + place / "m.json");
  };
  // The run's own text, wherever it is; without checksums, as older programs measured, its path.
  for (const json& own : {json::object(), json{{"data", "elsewhere"}}, json{{"measured_data_sha256", nullptr}},
                          json{{"measured_data_sha256", nullptr}, {"data_sha256", nullptr}}}) {
    CAPTURE(own.dump());
    CHECK(contains(made(own).html, "mean of 2 seeds"));
  }
  const Made edited = made({{"positions", "swap:3"}}), changed = made({{"measured_data_sha256", other}}),
             elsewhere = made({{"data", "data/b"}, {"measured_data_sha256", other}}),
             older = made({{"data", "data/b"}, {"measured_data_sha256", nullptr}});
  for (const Made* one : {&edited, &changed, &elsewhere, &older}) CHECK_FALSE(contains(one->html, "mean of 2"));
  CHECK(contains(edited.table, "softmax, positions swap:3"));
  CHECK(contains(edited.table, "first, positions swap:3"));  // its name
  CHECK(contains(changed.table, "measured data data/a (89abcdef)"));
  CHECK(contains(elsewhere.table, "measured data data/b (89abcdef)"));
  CHECK(contains(older.table, "measured data data/b"));
}

TEST_CASE("report: seeds may have their own starts; one path with other parameters is another start") {
  const TemporaryFolder place;
  const auto made = [&](const char* one, const char* other, const std::string& first, const std::string& second) {
    json a = softmax("a", 0), b = softmax("b", 1);
    a["initial_sha256"] = one;
    b["initial_sha256"] = other;
    return made_of(place, run_with(place, "a", a, "initial = \"" + first + "\"\n") +
                              run_with(place, "b", b, "initial = \"" + second + "\"\n"));
  };
  const char *x = "0123456789", *y = "89abcdef01", *base = "runs/base/checkpoint.h5",
             *seed_0 = "s/base-0/checkpoint.h5", *seed_1 = "s/base-1/checkpoint.h5";
  CHECK(contains(made(x, x, base, base).html, "mean of 2 seeds"));
  CHECK(contains(made(x, y, seed_0, seed_1).html, "mean of 2 seeds"));  // as `sweep` starts them
  CHECK(contains(made(x, "", base, base).html, "mean of 2 seeds"));     // of an older program
  const Made changed = made(x, y, base, base);
  CHECK_FALSE(contains(changed.html, "mean of 2"));
  CHECK(contains(changed.table, "initial runs/base/checkpoint.h5 (01234567)"));
  CHECK(contains(changed.table, "initial runs/base/checkpoint.h5 (89abcdef)"));
  CHECK_FALSE(contains(made(x, y, base, seed_1).table, "(01234567)"));  // the paths tell them apart
}

TEST_CASE("report: the table of inputs names the edit of a model") {
  const TemporaryFolder place;
  json inputs;
  for (const char* input : {"natural", "random"}) {
    json m = softmax("runs/first/checkpoint.h5", 0);
    m.update({{"input", std::string(input) == "natural" ? "text" : input}, {"positions", "replace:3"}});
    inputs[input] = m;
  }
  write_bytes(place / "m.json", json{{"schema", 1}, {"inputs", inputs}}.dump());
  const Made made = made_of(place, place / "m.json");
  CHECK(contains(made.html, "<th scope=\"row\">first, positions replace:3</th>"));
  CHECK(contains(made.table, "first, positions replace:3, random"));
}

TEST_CASE("report: every seed that a run may have is told apart") {
  const TemporaryFolder place;
  json a = softmax("a", 0), b = softmax("b", 0);
  a["seed"] = 18446744073709551615u;
  b["seed"] = 18446744073709551614u;
  const Made made = made_of(place, run_with(place, "a", a, "seed = 18446744073709551615\n") +
                                       run_with(place, "b", b, "seed = 18446744073709551614\n"));
  CHECK(contains(made.html, "mean of 2 seeds"));
  CHECK(contains(made.table, "seed 18446744073709551615"));
}

TEST_CASE("report: what is not known to be alike is not averaged") {
  const TemporaryFolder place;
  json a = softmax("a", 0), b = softmax("b", 1);
  a["config_toml"] = b["config_toml"] = "";
  write_bytes(place / "a.json", a.dump());
  write_bytes(place / "b.json", b.dump());
  const Made made = made_of(place, place / "a.json" + " " + place / "b.json");
  CHECK_FALSE(contains(made.html, "mean of 2"));
  // A measured model whose training is unknown has its name, not that of its attention.
  CHECK(contains(made.html,
                 "<b>a</b> puts <b>60\u00a0%</b> of its attention on the first token, <b>b</b> <b>60\u00a0%</b>."));
}

TEST_CASE("report: measurements of several inputs stand side by side, and no loss is compared with another input's") {
  const TemporaryFolder place;
  const auto measured = [&](const std::string& input, int seed, double loss) {
    json m = softmax("runs/first/checkpoint.h5", 0);
    m["config_toml"] = "seed = 0\nsteps = 20\n";
    m["input"] = input;
    m["input_seed"] = seed;
    m["val_loss"] = loss;
    const std::string file = place / input + std::to_string(seed) + ".json";
    write_bytes(file, m.dump());
    return file + " ";
  };
  const Made made = made_of(place, make_run(place, "run", softmax("run", 0)) + measured("text", 0, 4.5) +
                                       measured("random", 0, 9.25) + measured("random", 1, 9.75) +
                                       measured("repeated", 0, 0.125) + "--csv " + place / "r.csv");
  for (const char* name : {"first ", "first, random input (", "first, repeated input "})
    CHECK_MESSAGE(contains(made.table, name), name);
  CHECK(contains(made.html, "random input, input seed 1"));
  CHECK_FALSE(contains(made.html, "mean of 2"));
  const json data = embedded_data(made.html);
  CHECK(data["runs"].size() == 5);
  const std::string csv = read_bytes(place / "r.csv");
  CHECK(contains(csv, ",4.5,4.5,"));  // val_loss and the loss on the input
  CHECK(contains(csv, ",,9.25,"));    // no val_loss
  CHECK(contains(csv, ",,0.125,"));
  CHECK(contains(made.table, "loss on"));
}

TEST_CASE("report: two given inputs are two measurements, whatever their files are called") {
  const TemporaryFolder place;
  const auto measured = [&](const std::string& name, const std::string& checksum) {
    json m = softmax("runs/first/checkpoint.h5", 0);
    m.update(
        {{"config_toml", "seed = 0\nsteps = 20\n"}, {"input", "tokens"}, {"data", "ids"}, {"input_sha256", checksum}});
    write_bytes(place / name, m.dump());
    return place / name + " ";
  };
  const Made two = made_of(place, measured("a.json", "0123456789") + measured("b.json", "abcdefabcd"));
  CHECK(contains(two.table, "measured data ids (01234567)"));
  CHECK(contains(two.table, "measured data ids (abcdefab)"));
  CHECK_FALSE(contains(two.table, "seed 0"));
  CHECK_FALSE(contains(made_of(place, measured("a.json", "01") + measured("b.json", "01")).table, "measured data"));
}

TEST_CASE("report: rows with an extra key sum to one together with it, and its share is told") {
  const TemporaryFolder place;
  json key = evaluation("k", "text", "bias_k", "Softmax", 0, 0.07, 1);
  key["row_mass"] = 0.73;
  key.update({{"extra", "key"},
              {"extra_key_mass", 0.27},
              {"alpha_star", 0.28},
              {"alpha_star_raw", 0.28},
              {"sink_star", {40, 25, 10}},
              {"sink_star_raw", {40, 25, 10}}});
  json token = evaluation("t", "text", "bias_sinktoken", "Softmax", 0, 0.46, 1);
  token.update({{"extra", "token"},
                {"alpha_star", 0.49},
                {"alpha_star_raw", 0.49},
                {"sink_star", {100, 90, 80}},
                {"sink_star_raw", {100, 90, 80}}});
  json sigmoid = evaluation("s", "text", "sigmoid_key", "Sigmoid", 0, 0.5, 0.06);
  sigmoid["row_mass"] = 0.06;
  sigmoid.update({{"extra", "key"},
                  {"extra_key_mass", 0.3},
                  {"alpha_star", 0.8},
                  {"alpha_star_raw", 0.31},
                  {"sink_star", {40, 25, 10}},
                  {"sink_star_raw", {40, 25, 10}}});
  const Made made =
      made_of(place, make_run(place, "k", key) + make_run(place, "t", token) + make_run(place, "s", sigmoid));
  CHECK(contains(
      made.html,
      "<b>softmax (bias_sinktoken)</b> puts the most on the first token, <b>46\u00a0%</b> of its attention and "
      "<b>49\u00a0%</b> on its sink token; <b>sigmoid</b> the least, a raw weight of <b>0.03</b> and a raw "
      "weight of <b>0.3</b> on its extra key."));
  CHECK(contains(made.html, "Rows of sigmoid sum to 0.36, of which 50\u00a0% (proxy) is on the first token."));
  CHECK(
      contains(made_of(place, make_run(place, "k", key)).html,
               "<b>Softmax</b> puts <b>7.0\u00a0%</b> of its attention on the first token and <b>27\u00a0%</b> on its "
               "extra key."));
  for (const char* part : {"Sink_* %", "alpha_*", "25.0", "90.0", "0.280", "0.490", "1.00"})
    CHECK_MESSAGE(contains(made.table, part), part);
}

TEST_CASE("report: uniform attention is over the keys that a query sees") {
  const TemporaryFolder place;
  const auto even = [&](const std::string& settings, const std::string& extra) {
    json e = softmax("r", 0);
    e["extra"] = extra;
    const Made made = made_of(place, run_with(place, "r", e, settings));
    return embedded_data(made.html)["groups"][0]["even"];
  };
  const auto is = [](const json& values, std::size_t k, double expected) {
    CHECK(values[k - 1].get<double>() == doctest::Approx(expected).epsilon(1e-4));
  };
  is(even("", "none"), 1, (1 + 1. / 2 + 1. / 3 + 1. / 4) / 4);
  is(even("", "none"), 3, (1. / 3 + 1. / 4) / 2);
  is(even("window = 2\n", "none"), 1, (1 + 1. / 2) / 4);
  is(even("prefix = 2\n", "none"), 1, (1. / 2 + 1. / 2 + 1. / 3 + 1. / 4) / 4);
  is(even("window = 1\nprefix = 1\n", "none"), 1, (1 + 1. / 2 * 3) / 4);
  is(even("", "key"), 1, (1. / 2 + 1. / 3 + 1. / 4 + 1. / 5) / 4);
  is(even("", "token"), 1, (1. / 2 + 1. / 3 + 1. / 4 + 1. / 5) / 4);
  // Runs that do not agree have no common value.
  const Made made =
      made_of(place, run_with(place, "a", softmax("a", 0), "window = 2\n") + run_with(place, "b", softmax("b", 0), ""));
  CHECK(embedded_data(made.html)["groups"][0]["even"].empty());
  CHECK_FALSE(contains(made.html, "Uniform attention would"));
}

TEST_CASE("report: a run that has not finished shows its last measurement, and says of when") {
  const TemporaryFolder place;
  const std::string config =
      "ablation = \"bias_k\"\npolicies = \"position=Rotary attention=Softmax extra=LearnedKey\"\n";
  const std::string open = run_with(place, "open", json(), config);
  write_bytes(
      place / "open/metrics.jsonl",
      "{\"step\": 1, \"train_loss\": 6.5, \"val_loss\": 6.4, \"alpha_1\": 0.5, \"alpha_1_raw\": 0.5}\n"
      "{\"step\": 3, \"tokens\": 768, \"train_loss\": 5.5, \"val_loss\": 5.25, \"sink_1\": 12.5, \"sink_1_raw\": "
      "12.5, \"sink_star\": 75, \"sink_star_raw\": 75, \"alpha_1\": 0.13, \"alpha_1_raw\": 0.13, \"alpha_star\": "
      "0.5, \"alpha_star_raw\": 0.5, \"row_mass\": 0.5, \"extra_key_mass\": 0.5}\n"
      "{\"step\": 5, \"tokens\": 1280, \"train_loss\": 5.4}\n");
  Made made = made_of(place, open);
  CHECK(contains(made.html,
                 "<b>Softmax</b> (at step 3 of 20, not finished) puts <b>13\u00a0%</b> of its attention on the first "
                 "token and <b>50\u00a0%</b> on its extra key."));
  for (const char* part : {"5.250", "12.5", "75.0", "0.130", "0.500", "1.00", "at step 3 of 20, not finished"})
    CHECK_MESSAGE(contains(made.table, part), part);
  CHECK(contains(made.html, "bias_k"));
  write_bytes(place / "open/failure.txt", "out of memory\n");
  made = made_of(place, open);
  CHECK(contains(made.table, "at step 3 of 20, failed: out of memory"));
  CHECK(contains(made.html, "1 run on 1 task, 1 failed."));
  fs::remove(place / "open/failure.txt");

  // It is not in a mean over seeds, and is listed with the runs of which it may become another seed.
  std::string runs = open;
  for (int seed = 0; seed < 2; ++seed) {
    json done = evaluation("s" + std::to_string(seed), "text", "bias_k", "Softmax", seed, 0.25, 1);
    done["policies"] = "position=Rotary attention=Softmax extra=LearnedKey";
    runs += run_with(place, "s" + std::to_string(seed), done, config);
  }
  made = made_of(place, runs);
  CHECK(contains(made.html, "<b>Softmax</b> puts <b>25\u00a0%</b> of its attention on the first token.</h2>"));
  CHECK(contains(made.html, "Means of 2 seeds."));
}

TEST_CASE("report: of a run that was gone on with after its end, the old end is not shown as the new") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "r", softmax("r", 0));
  write_bytes(place / "r/config.toml", "task = \"text\"\nsteps = 40\ncontext = 4\n");
  CHECK(contains(made_of(place, run).table, "at step 3 of 40, not finished"));
  write_bytes(place / "r/config.toml", "task = \"text\"\nsteps = 20\ncontext = 4\n");
  CHECK_FALSE(contains(made_of(place, run).table, "not finished"));
  write_bytes(place / "r/metrics.jsonl", metrics() + "{\"step\": 21, \"train_loss\": 5}\n");
  CHECK(contains(made_of(place, run).table, "not finished"));
}

TEST_CASE("report: a folder of runs, and where the page goes when nobody says") {
  const TemporaryFolder place;
  make_run(place, "all/b", softmax("b", 1));
  make_run(place, "all/a", softmax("a", 0));
  fs::create_directories(place / "all/notes");
  write_bytes(place / "m.json", softmax("m", 2).dump());
  const Subprocess folder = run_report(place, place / "all");
  REQUIRE_MESSAGE(folder.wait() == 0, folder.err());
  CHECK(contains(folder.err(), "all/report.html, 2 runs"));
  CHECK(embedded_data(read_bytes(place / "all/report.html"))["runs"][0]["name"] == "a");
  REQUIRE(run_report(place, place / "all/a").wait() == 0);
  CHECK(fs::exists(place / "all/a/report.html"));
  REQUIRE(run_report(place, place / "all/a" + " " + place / "m.json").wait() == 0);
  CHECK(fs::exists(place / "report.html"));
  const Subprocess none = run_report(place, place / "all/notes");
  CHECK(none.wait() == 3);
  CHECK(contains(none.err(), "is not a run folder and contains none"));
}

TEST_CASE("report: --follow writes the page anew until the runs have finished, and it reloads itself until then") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "r", json()), out = place / "r.html";
  const char* reload = "<meta http-equiv=\"refresh\" content=\"1\">";
  const auto wait_for = [&](const auto& there) {
    for (int i = 0; i < 400 && !there(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
    CHECK(there());
  };
  const auto page_has = [&](const std::string& text) { return fs::exists(out) && contains(read_bytes(out), text); };
  const Subprocess follower = run_report(place, "--follow=1 --out " + out + " " + run);
  wait_for([&] { return page_has(reload) && page_has("at step 3 of 20"); });
  write_bytes(place / "r/metrics.jsonl", metrics() + "{\"step\": 7, \"train_loss\": 5, \"val_loss\": 5}\n");
  wait_for([&] { return page_has("at step 7 of 20"); });
  write_bytes(place / "r/evaluation.json", softmax("r", 0).dump());
  CHECK(follower.wait() == 0);
  CHECK_FALSE(page_has(reload));
  CHECK_FALSE(page_has("not finished"));

  fs::remove(place / "r/evaluation.json");
  fs::remove(out);
  const Subprocess stopped = run_report(place, "--follow=1 --out " + out + " " + run);
  wait_for([&] { return page_has(reload); });
  stopped.send(SIGINT);
  CHECK(stopped.wait() == 130);
  CHECK_FALSE(page_has(reload));
  CHECK(run_report(place, "--follow=0 " + run).wait() == 2);
}

TEST_CASE("report: maps of all heads are read, those of older files too, and maps that do not fit are refused") {
  const TemporaryFolder place;
  const auto code_of = [&](const json& maps, const char* key = "maps") {
    json e = softmax("m", 0);
    e.erase("map");
    e[key] = maps;
    write_bytes(place / "m.json", e.dump());
    const Subprocess program = run_report(place, "--out " + place / "r.html" + " " + place / "m.json");
    const int code = program.wait();
    CHECK_MESSAGE(contains(program.err(), code == 0 ? "1 run" : in_quotes(key)), program.err());
    return code;
  };
  const json map = {{0.5, 1}, {0.5, 0.25, 0.25}}, none = nullptr;
  const json good = {{"layers", 2},
                     {"heads", 2},
                     {"extra_key", true},
                     {"chosen", {{"sequence", 0}, {"layer", 1}, {"head", 0}}},
                     {"tokens", json::array({json::array({"a", "b"})})},
                     {"weights", {{{none, map}, {map, none}}}}};
  CHECK(code_of(good) == 0);
  const auto with = [&](const char* pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    return bad;
  };
  CHECK(code_of(with("/chosen/head", 1)) == 3);  // not kept
  CHECK(code_of(with("/chosen/layer", 2)) == 3);
  CHECK(code_of(with("/chosen/sequence", -1)) == 3);
  CHECK(code_of(with("/layers", 3)) == 3);
  CHECK(code_of(with("/heads", 1)) == 3);
  CHECK(code_of(with("/extra_key", false)) == 3);  // a row of three weights for two keys
  CHECK(code_of(with("/tokens", json::array({json::array({"a", "b", "c"})}))) == 3);
  CHECK(code_of(with("/tokens", json::array())) == 3);
  CHECK(code_of(with("/tokens/0/1", 7)) == 3);
  CHECK(code_of(with("/weights/0/1/0/0/0", "x")) == 3);
  CHECK(code_of(with("/weights", 3)) == 3);
  json other_sizes = with("/weights", {{{map}}});
  other_sizes["layers"] = other_sizes["heads"] = 1;
  other_sizes["chosen"]["layer"] = 0;
  CHECK(code_of(other_sizes) == 3);  // alpha_1_layer_head has two of each
  const json old = {{"layer", 1},
                    {"head", 0},
                    {"tokens", {"a", "b"}},
                    {"weights", {{1, 0}, {0.25, 0.25}}},
                    {"extra_key_weights", {0.5, 0.5}}};
  CHECK(code_of(old, "map") == 0);
  json bad = old;
  bad["extra_key_weights"] = {0.5};
  CHECK(code_of(bad, "map") == 3);
  bad = old;
  bad["head"] = 2;
  CHECK(code_of(bad, "map") == 3);
}

// The headings of figures: browser_check.py.
TEST_CASE("report: every heading of a table of a Sink or an alpha says raw or proxy, and so does the first screen") {
  const TemporaryFolder place;
  json sigmoid = evaluation("s", "text", "op_sigmoid_none", "Sigmoid", 0, 0.6, 0.05);
  const std::string one = make_run(place, "a", softmax("a", 0)) + make_run(place, "b", softmax("b", 1)),
                    both = one + make_run(place, "s", sigmoid);
  for (const bool mixed : {false, true}) {
    const std::string html = made_of(place, mixed ? both : one).html;
    std::size_t headings = 0;
    for (std::size_t at = 0; (at = html.find("<th ", at)) != std::string::npos; ++at) {
      const std::string whole = html.substr(at, html.find("</th", at) - at);
      if (!contains(whole, "Sink<sub>") && !contains(whole, "&alpha;<sub>")) continue;
      ++headings;
      // Of alpha_1, whose columns are proxy and raw, the heading over them need not.
      const bool over = mixed && contains(whole, "class=\"over\"") && contains(whole, "&alpha;");
      CHECK_MESSAGE((over || contains(whole, "proxy") || contains(whole, "raw")), whole);
    }
    CHECK(headings >= 3);
    const std::size_t at = html.find("<h2 class=\"headline\">");
    const std::string screen = html.substr(at, html.find("class=\"toolbar\"", at) - at);
    CHECK(contains(screen, mixed ? "a raw weight of" : "(raw = proxy)"));
  }
}
