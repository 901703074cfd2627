// Tests of study files: the keys, the runs that the lists make, and the errors.
#include "tools/sweep/study_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "engine/io/settings_toml.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "tools/sweep/study_state.h"
#include "train/run_config_table.h"

using namespace sink;

namespace {

const std::string kHead = "name = \"s\"\nquestion = \"Why?\"\nbaseline = \"baseline\"\nseeds = [3, 1]\n";
const std::string kStudy = kHead +
                           "[settings]\ntask = \"bigram-backcopy\"\nlayers = 1\nheads = 2\nweight-decay = 0.1\n"
                           "[gpu]\nlayers = 10\n[cpu]\nwidth = 64\n"
                           "[[runs]]\nablation = [\"baseline\", # the usual\n  \"bias_k\",\n]\n"
                           "weight_decay = [0.1, 5e-1]\nstudy = [\"base-60m\", \"opt-wd0.5\", \"\", \"\"]\n"
                           "[[runs]]\nablation = \"baseline\"\nsize = \"gpu\"\nheads = 1\n";

StudyRequest request_of(const std::string& size = "cpu") {
  StudyRequest request;
  request.size = size;
  request.out = "out";
  return request;
}

std::vector<std::string> names_of(const std::vector<StudyGroup>& groups) {
  std::vector<std::string> names;
  for (const StudyGroup& group : groups) names.push_back(group.name);
  return names;
}

}  // namespace

TEST_CASE("study file: sections and lists are read, flat and bounded") {
  auto sections = read_sections_toml("a = 1\n[b] # x\nc = [1, 2.5, \"x]#\",\n true, 'y'] # z\n[[d]]\n[[d]]\ne=[]\n",
                                     "f", Exit::usage);
  REQUIRE(sections.size() == 4);
  CHECK(sections[0].entries.at(0).values == std::vector<std::string>{"1"});
  CHECK_FALSE(sections[0].entries.at(0).is_list);
  CHECK(sections[1].name == "b");
  CHECK(sections[1].entries.at(0).values == std::vector<std::string>{"1", "2.5", "x]#", "true", "y"});
  CHECK(sections[2].repeated);
  CHECK(sections[3].line == 6);
  CHECK(sections[3].entries.at(0).is_list);
  CHECK(sections[3].entries.at(0).values.empty());

  for (auto [text, why] : {
           std::pair{"a = [[1]]", "not lists"},
           {"a = [1, {b = 2}]", "not lists"},
           {"a = [1,", "the list has no end"},
           {"a = [\"x\ny\"]", "a text ends on its line"},
           {"a = [\"\"\"x\"\"\"]\nb = [1] 2", "line 2 sets b"},
           {"a = [2026-11-22]", "no setting is a date"},
           {"a = 1\na = 2", "sets a a second time"},
           {"[a]\n[a]", "begins [a] a second time"},
           {"[a]\n[[a]]", "begins [a] a second time"},
           {"[a.b]\n", "expected key = value, [section] or [[section]]"},
           {"[a", "expected key = value, [section]"},
           {"a.b = 1", "no setting has a dot"},
       }) {
    CAPTURE(text);
    const std::string error = error_of([&, text = text] { read_sections_toml(text, "f", Exit::usage); });
    CHECK_MESSAGE(error.find(why) != std::string::npos, error);
  }
}

TEST_CASE("study file: lists multiply, sizes and recipes go over one another") {
  StudyFile study =
      study_from_toml(kStudy, "s.toml", "[settings]\nsteps = 7\n[cpu]\nheads = 8\nwidth = 32\n", "r.toml");
  CHECK(study.question == "Why?");
  CHECK(study.seeds == std::vector<std::uint64_t>{3, 1});
  CHECK(study.whole_checkpoints);
  CHECK_FALSE(study.interventions);
  CHECK(study_from_toml("interventions = true\n" + kStudy, "s.toml", "", "r.toml").interventions);

  std::vector<StudyGroup> groups = groups_of(study, request_of());
  CHECK(names_of(groups) ==
        std::vector<std::string>{"baseline", "baseline-weight-decay-0.5", "bias_k", "bias_k-weight-decay-0.5"});
  CHECK(groups[1].config.weight_decay == 0.5);
  CHECK(groups[1].config.layers == 1);
  CHECK(groups[1].config.steps == 7);   // of the recipe
  CHECK(groups[1].config.heads == 2);   // the study's [settings] go over the recipe's [cpu]
  CHECK(groups[1].config.width == 64);  // and its [cpu] over both
  CHECK(groups[0].row.sink_1 == "18.18");
  CHECK(groups[1].row.sink_1 == "41.08");
  CHECK(groups[2].row.id.empty());  // "" names none

  std::vector<StudyGroup> large = groups_of(study, request_of("gpu"));
  CHECK(names_of(large).back() == "baseline-heads-1");
  CHECK(large.back().row.id.empty());  // has a setting of its own, and the file does not say whose row it is
  CHECK(large.back().config.layers == 10);

  std::vector<StudyRun> runs = runs_of(study, request_of(), groups);
  REQUIRE(runs.size() == 8);
  CHECK(runs[3].config.run == "out/bias_k-weight-decay-0.5-3");  // all of the first seed come first
  CHECK(runs[4].config.run == "out/baseline-1");
  CHECK(runs[4].config.seed == 1);
  CHECK(runs[4].config.resume == "auto");

  StudyRequest some = request_of();
  some.only = {"bias_k"};
  some.changes = {{"steps", "9"}};
  some.seeds = {5};
  groups = groups_of(study, some);
  CHECK(names_of(groups) == std::vector<std::string>{"bias_k", "bias_k-weight-decay-0.5"});
  CHECK(groups[0].config.steps == 9);
  CHECK(groups[0].planned_steps == 7);  // --set makes the runs shorter, not the plan
  CHECK(runs_of(study, some, groups).back().config.run == "out/bias_k-weight-decay-0.5-5");
}

TEST_CASE("study file: a study is found by its name, and a copy of it elsewhere finds its recipe") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "studies/recipes");
  write_bytes(folder / "studies/decay.toml", kStudy);
  CHECK(find_study(folder / "studies/decay.toml", "") == folder / "studies/decay.toml");
  for (const char* name : {"decay", "decay.toml"})
    CHECK(find_study(name, folder / "studies") == folder / "studies/decay.toml");
  CHECK(contains(error_of([&] { find_study("decey", folder / "studies"); }),
                 "exit 2 there is no study decey; give a TOML file or a name that `sweep` without arguments "
                 "lists; did you mean decay?"));
  CHECK(contains(error_of([&] { find_study("elsewhere/decay.toml", folder / "studies"); }), "there is no study"));

  const std::string copy = folder / "copy.toml", source = SINK_SOURCE_DIR "/train/studies/weight_decay.toml";
  std::filesystem::copy_file(source, copy);
  CHECK(read_study_file(copy).cpu == read_study_file(source).cpu);  // of the repository's recipe
  write_bytes(folder / "lost.toml", "recipe = \"recipes/none.toml\"\n" + kStudy);
  CHECK(contains(error_of([&] { read_study_file("/dev/zero"); }), "has more than 1048576 bytes"));
  const std::string error = error_of([&] { read_study_file(folder / "lost.toml"); });
  CHECK_MESSAGE(contains(error, "lost.toml: line 1: there is no recipe " + folder / "recipes/none.toml"), error);
  CHECK(contains(error, "; set recipe to the path of the file, absolute or relative to this study"));
  // The first line of another file is in no message.
  std::filesystem::create_symlink("/etc/passwd", folder / "link.toml");
  for (const std::string& recipe : {std::string("/etc/passwd"), folder / "link.toml"}) {
    write_bytes(folder / "reads.toml", "recipe = \"" + recipe + "\"\n" + kStudy);
    CHECK(error_of([&] { read_study_file(folder / "reads.toml"); }) ==
          "exit 2 " + folder / "reads.toml" + ": line 1: recipe must name a .toml file, got `" + recipe + "`");
  }
}

TEST_CASE("study file: all problems are reported together, with their lines") {
  const std::string error = error_of([] {
    study_from_toml(kHead +
                        "sed = 1\nlayers = 2\n[settings]\nlerning-rate = 1\nheads = [1, 2]\nwidth = -1\n"
                        "data = \"d\"\nrun = \"r\"\n[tpu]\n[[runs]]\nablation = []\nsize = \"big\"\n",
                    "s.toml");
  });
  for (const char* part :
       {"s.toml: line 5: unknown key `sed`; did you mean seeds?", "line 6: unknown key `layers`: settings belong under",
        "line 8: unknown key `lerning-rate`; did you mean learning-rate?", "line 9: heads takes one value, not a list",
        "line 10: width must be a whole number from 1", "line 11: data cannot be set in a study: give it on",
        "line 12: run cannot be set in a study", "line 13: unknown section `tpu`", "line 15: ablation is an empty list",
        "line 16: size must be \"cpu\" or \"gpu\""})
    CHECK_MESSAGE(error.find(part) != std::string::npos, part, " in ", error);

  CHECK(error_of([] { study_from_toml("seeds = [1, 1, -2]\n", "s.toml"); }) ==
        "exit 2 s.toml: line 1: seed 1 is given twice; s.toml: line 1: seeds must be integers from 0, got `-2`; "
        "s.toml: line 1: a study needs name = \"...\"; s.toml: line 1: a study needs question = \"...\"; s.toml: line "
        "1: a "
        "study needs runs: [[runs]] with ablation = \"...\"");
  // A setting has one value in a section, whatever names it is given by.
  CHECK(error_of([] {
          study_from_toml(kHead +
                              "[settings]\nwidth = 64\n[cpu]\nd-model = 32\nwidth = 16\n[[runs]]\n"
                              "ablation = \"baseline\"\nd_model = 8\nkv_heads = [1, 2]\nkv-heads = 1\n",
                          "s.toml");
        }) == "exit 2 s.toml: line 9: width is given twice; s.toml: line 14: kv-heads is given twice");
  CHECK(error_of([] { study_from_toml(kHead + "[[runs]]\nablation = [\"a\", \"b\"]\nstudy = [\"x\"]\n", "s.toml"); }) ==
        "exit 2 s.toml: line 5: study names 1 rows of the paper for 2 runs");
  CHECK(error_of([] { study_from_toml(kStudy, "s.toml", "name = \"r\"\n", "r.toml"); }) ==
        "exit 2 r.toml: line 1: a recipe has only [settings], [cpu] and [gpu]");
  std::string many;
  for (int i = 0; i < 40; ++i) many += "ablation" + std::to_string(i) + " = 1\n";
  CHECK(error_of([&] { study_from_toml(kHead + many, "s.toml"); }).size() < 3000);
}

TEST_CASE("study file: numbers have no quotes, texts have them, and core-hours are above 0") {
  for (const auto& [line, why] :
       {std::pair<std::string, std::string>{"seeds = [1, \"0\"]", "seeds must have no quotes"},
        {"name = 1", "name must be a text in quotes"},
        {"cpu-hours = nan", "cpu-hours must be a number above 0, got `nan`"},
        {"cpu-hours = inf", "cpu-hours must be a number above 0, got `inf`"},
        {"cpu-hours = -1", "cpu-hours must be a number above 0, got `-1`"},
        {"cpu-hours = \"2\"", "cpu-hours must have no quotes"},
        {"interventions = \"true\"", "interventions must have no quotes"},
        {"[settings]\nsteps = \"3\"", "steps must have no quotes"},
        {"[settings]\ntask = 3", "task must be a text in quotes"},
        {"[[runs]]\nablation = [\"a\", 1]", "ablation must be a text in quotes"}}) {
    const std::string error = error_of([&, line = line] { study_from_toml(line, "s.toml"); });
    CHECK_MESSAGE(contains(error, why), error);
  }
}

TEST_CASE("study file: runs that cannot be trained are refused before any is") {
  auto refused = [](const std::string& runs, StudyRequest request = request_of()) {
    return error_of([&] { groups_of(study_from_toml(kHead + runs, "s.toml"), request); });
  };
  const std::string task = "[settings]\ntask = \"bigram-backcopy\"\n";
  const std::string error = refused(task +
                                    "[[runs]]\nablation = [\"baseline\", \"bias_q\"]\nheads = [3, 4]\n"
                                    "[[runs]]\nablation = \"baseline\"\nstudy = \"base-60n\"\n");
  CHECK_MESSAGE(error.find("heads") != std::string::npos, error);
  CHECK_MESSAGE(error.find("`bias_q` is not known") != std::string::npos, error);
  CHECK_MESSAGE(error.find("the paper has no row `base-60n`; did you mean base-60m?") != std::string::npos, error);
  CHECK(refused("[settings]\ntask = \"text\"\n[[runs]]\nablation = \"baseline\"\n").find("--data is needed") !=
        std::string::npos);
  CHECK(refused(task + "[[runs]]\nablation = \"bias_k\"\n") ==
        "exit 2 s.toml: baseline = \"baseline\" must be one of the runs: bias_k");
  // What no run reads: of a list of runs, or given by --set. It is enough that one reads it.
  const std::string unread = "--momentum is not read by --optimizer adamw, but by sgd, muon";
  CHECK(contains(refused(task + "[[runs]]\nablation = \"baseline\"\nmomentum = [0, 0.9]\n"),
                 "exit 2 s.toml: line 7: momentum: " + unread));
  CHECK(refused(task + "[[runs]]\nablation = \"baseline\"\n[[runs]]\nablation = \"baseline\"\noptimizer = "
                       "[\"adamw\", \"sgd\"]\nmomentum = [0, 0.9]\n") == "no error");
  StudyRequest changed = request_of();
  changed.changes = {{"momentum", "0.5"}};
  CHECK(contains(refused(task + "[[runs]]\nablation = \"baseline\"\n", changed), "s.toml: --set momentum: " + unread));
  CHECK(refused(task + "momentum = 0.5\n[[runs]]\nablation = \"baseline\"\n") == "no error");  // as in a recipe
  StudyRequest other = request_of();
  other.only = {"pos_nope"};
  CHECK(refused(task + "[[runs]]\nablation = \"baseline\"\n", other) ==
        "exit 2 s.toml: --only pos_nope must be one of the runs: baseline");
  other.size = "gpu";
  CHECK(refused(task + "[[runs]]\nablation = \"baseline\"\nsize = \"cpu\"\n", other) ==
        "exit 2 s.toml: no run is of --size gpu: every [[runs]] has another size; give that one");
}

TEST_CASE("study file: the example of the page has every key, is read and makes its runs") {
  const std::string page = read_bytes(SINK_SOURCE_DIR "/train/studies/README.md");
  const std::size_t begin = page.find("```toml\n") + 8;
  const std::string example = page.substr(begin, page.find("```\n", begin) - begin);
  StudyRequest request = request_of();
  request.data = "data";
  const StudyFile study = study_from_toml(example, "example.toml", "[settings]\nweight-decay = 0.05\n", "r.toml");
  CHECK(names_of(groups_of(study, request)) ==
        std::vector<std::string>{"baseline-weight-decay-0", "baseline-weight-decay-0.5",
                                 "op_sigmoid_none-weight-decay-0", "op_sigmoid_none-weight-decay-0.5"});
  CHECK(study.baseline == "baseline-weight-decay-0");
  for (const std::string* text : {&study.question, &study.section, &study.note, &study.cpu_hours})
    CHECK_FALSE(text->empty());
}

TEST_CASE("study files: every one of train/studies is read, and its runs fit their ablations at both sizes") {
  std::set<std::string> rows;
  for (const std::string& file : study_files(SINK_SOURCE_DIR "/train/studies")) {
    CAPTURE(file);
    const StudyFile study = read_study_file(file);
    CHECK(study.name == std::filesystem::path(file).stem());
    CHECK(study.seeds.size() >= 1);
    for (const char* size : {"cpu", "gpu"}) {
      CAPTURE(size);
      StudyRequest request = request_of(size);
      request.data = "data";
      request.chat = "chat";
      for (const RunGrid& grid : study.runs)
        for (const std::string& ablation : grid.ablations)
          if (test::is_built(ablation)) request.only.push_back(ablation);
      if (request.only.empty()) continue;
      // A size may leave an ablation out.
      std::vector<StudyGroup> groups;
      std::erase_if(request.only, [&](const std::string& ablation) {
        StudyRequest alone = request;
        alone.only = {ablation};
        const std::string error = error_of([&] {
          for (StudyGroup& group : groups_of(study, alone)) groups.push_back(std::move(group));
        });
        if (error != "no error") CHECK_MESSAGE(contains(error, "must be one of the runs"), error);
        return error != "no error";
      });
      CHECK_FALSE(groups.empty());
      for (const StudyGroup& group : groups) {
        rows.insert(group.row.id);
        CHECK(group.planned_steps == group.config.steps);
        // A fixed token is never set next to natural text.
        CAPTURE(group.name);
        const auto paper = group.paper();
        const std::int64_t fixed = group.config.fixed_token >= 0 ? group.config.fixed_position : 0;
        CHECK((!paper || input_kind_of(*paper).fixed_position == fixed));
        CHECK((!paper || group.config.task == "text"));
        if (group.name == "baseline" && group.config.task == "text" && group.row.id == "base-60m")
          CHECK(paper.value_or(PaperRow{}).sink_1 == (fixed == 1 ? "74.11" : "18.18"));
      }
    }
  }
  // Each row of the paper is in the study that tools/study/paper.json names.
  for (const PaperRow& row : paper_rows())
    if (test::is_built(row.ablation) && !study_file_of(row).empty())
      CHECK_MESSAGE(rows.contains(row.id), row.id, " is in no study");
}

TEST_CASE("study files: the size gpu is the paper's, as `ablations --study` gives it") {
  StudyRequest request = request_of("gpu");
  request.data = "data";
  request.chat = "chat";
  request.only = {"baseline"};
  std::vector<StudyGroup> groups =
      groups_of(read_study_file(SINK_SOURCE_DIR "/train/studies/model_size.toml"), request);
  REQUIRE(groups.size() == 2);
  const std::vector<StudyGroup> tuned =
      groups_of(read_study_file(SINK_SOURCE_DIR "/train/studies/fine_tuning.toml"), request);
  REQUIRE(tuned.size() == 2);
  groups.push_back(tuned.back());
  for (const StudyGroup& group : groups) {
    CAPTURE(group.name);
    std::istringstream command(paper_command(group.row));
    std::string program, flag, value;
    std::map<std::string, std::string> given;  // of flags that are given twice the later counts
    for (command >> program; command >> flag >> value;) given[flag.substr(2)] = value;
    given.erase("initial");  // a run's, which the sweep makes
    for (const auto& [name, text] : given) {
      const Setting<RunConfig>* setting = setting_named(run_config_table(), name);
      REQUIRE(setting);
      RunConfig paper;
      setting->set(paper, text, name);
      CHECK_MESSAGE(setting->value(group.config) == setting->value(paper), name);
    }
  }
}

TEST_CASE("study file: a run that starts from another has its settings, seed and ablation, and comes after it") {
  const std::string task = "[settings]\ntask = \"bigram-backcopy\"\nsteps = 100\n";
  const std::string plain = "[[runs]]\nablation = [\"baseline\", \"bias_k\"]\nheads = [2, 1]\n";
  const std::string tuned =
      "[[runs]]\nfrom = [\"baseline-heads-2\", \"bias_k-heads-1\"]\nsteps = 7\n"
      "learning-rate = [0.1, 0.01]\nstudy = [\"sft-softmax\", \"\", \"\", \"\"]\n";
  const std::string head = "name = \"s\"\nquestion = \"Why?\"\nbaseline = \"baseline-heads-2\"\nseeds = [3, 1]\n";
  const StudyFile study = study_from_toml(head + task + plain + tuned, "s.toml");
  StudyRequest request = request_of();
  std::vector<StudyGroup> groups = groups_of(study, request);
  CHECK(names_of(groups) == std::vector<std::string>{
                                "baseline-heads-2", "baseline-heads-1", "bias_k-heads-2", "bias_k-heads-1",
                                "baseline-heads-2-tuned-learning-rate-0.1", "baseline-heads-2-tuned-learning-rate-0.01",
                                "bias_k-heads-1-tuned-learning-rate-0.1", "bias_k-heads-1-tuned-learning-rate-0.01"});
  CHECK(groups[4].row.id == "sft-softmax");
  CHECK(groups[4].config.steps == 7);
  CHECK(groups[0].config.steps == 100);
  CHECK(groups[7].config.heads == 1);
  CHECK(groups[7].config.learning_rate == 0.01);
  CHECK(groups[7].ablation.name == "bias_k");
  std::vector<StudyRun> runs = runs_of(study, request, groups);
  REQUIRE(runs.size() == 16);
  CHECK(runs[3].config.initial.empty());
  CHECK_FALSE(runs[3].from);
  CHECK(runs[15].config.initial == "out/bias_k-heads-1-1/checkpoint.h5");
  CHECK(runs[15].from == 11);
  CHECK(runs[4].config.initial == "out/baseline-heads-2-3/checkpoint.h5");
  CHECK(runs[4].from == 0);

  request.only = {"bias_k-heads-1-tuned-learning-rate-0.1"};
  request.changes = {{"width", "32"}};
  groups = groups_of(study, request);
  CHECK(names_of(groups) == std::vector<std::string>{"bias_k-heads-1", "bias_k-heads-1-tuned-learning-rate-0.1"});
  CHECK(groups[1].config.width == 32);
  // A chain, of which the end is asked for.
  const std::string twice = "[[runs]]\nfrom = \"baseline-heads-2-tuned-learning-rate-0.1\"\nsteps = 3\n";
  request.only = {"baseline-heads-2-tuned-learning-rate-0.1-tuned"};
  groups = groups_of(study_from_toml(head + task + plain + tuned + twice, "s.toml"), request);
  REQUIRE(groups.size() == 3);
  CHECK(groups[2].config.learning_rate == 0.1);
  CHECK(runs_of(study, request, groups)[2].from == 1);

  auto refused = [&](const std::string& runs, const std::string& chat = "",
                     const std::string& kind = "bigram-backcopy") {
    StudyRequest own = request_of();
    own.data = "data";
    own.chat = chat;
    return error_of([&] {
      groups_of(
          study_from_toml(kHead + "[settings]\ntask = \"" + kind + "\"\n[[runs]]\nablation = \"baseline\"\n" + runs,
                          "s.toml"),
          own);
    });
  };
  CHECK(refused("[[runs]]\nfrom = \"baseline\"\n") == "no error");
  CHECK(refused("[[runs]]\nfrom = \"bias_k\"\n") ==
        "exit 2 s.toml: line 9: from = `bias_k` must be one of the runs before it: baseline");
  CHECK(contains(refused("[[runs]]\nfrom = \"baseline\"\nablation = \"baseline\"\n"),
                 "line 9: [[runs]] takes either `ablation` or `from`"));
  CHECK(contains(refused("[[runs]]\nfrom = []\n"), "from is an empty list, which makes no run"));
  CHECK(
      contains(refused("[[runs]]\nfrom = \"baseline\"\n", "", "text"), "line 9: --chat is needed to tune `baseline`"));
  CHECK(refused("[[runs]]\nfrom = \"baseline\"\n", "chat", "text") == "no error");
  const StudyFile of_text = study_from_toml(
      kHead + "[settings]\ntask = \"text\"\n[[runs]]\nablation = \"baseline\"\n[[runs]]\nfrom = \"baseline\"\n",
      "s.toml");
  request = request_of();
  request.data = "data";
  request.chat = "chat";
  CHECK(groups_of(of_text, request)[0].config.data == "data");
  CHECK(groups_of(of_text, request)[1].config.data == "chat");
}

TEST_CASE("run states: settings on which results depend are compared") {
  RunConfig stored, wanted;
  stored.ablation = wanted.ablation = "baseline";
  wanted.threads = 7;
  wanted.log_every = wanted.checkpoint_every = wanted.eval_every = 1;
  wanted.data = "elsewhere";
  CHECK(differing_settings(stored, wanted).empty());
  stored.heads = 2;
  stored.weight_decay = 0.5;
  stored.ablation = "bias_k";
  CHECK(differing_settings(stored, wanted) ==
        "ablation = \"bias_k\" instead of \"baseline\", heads = 2 instead of 4, weight-decay = 0.5 instead of 0.1");
}

TEST_CASE("run states: failed, begun and missing runs are distinguished, with the reason of a failure") {
  TemporaryFolder folder;
  RunConfig config;
  config.ablation = "baseline";
  config.run = folder / "run";
  auto none = [] { return std::string(); };
  CHECK(found_run(config, none).status == RunStatus::missing);
  store_failure(config, "the loss\nwas not finite");
  CHECK(found_run(config, none).status == RunStatus::failed);
  CHECK(found_run(config, none).reason == "the loss was not finite");
  std::filesystem::remove(config.run + "/failure.txt");
  CHECK(found_run(config, none).status == RunStatus::begun);
  config.width = 64;
  CHECK(error_of([&] { found_run(config, none); }) == "exit 2 " + config.run +
                                                          " holds a run with width = 128 instead of 64; give another "
                                                          "--out, or move it away");
  write_bytes(config.run + "/config.toml", "seed = 1\nwid");
  CHECK(error_of([&] { found_run(config, none); }).find("exit 3 " + config.run + "/config.toml") == 0);
}
