// Which row of an earlier table replaces a run: by its settings, its data and how it ended.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/check_refused.h"
#include "tests/support/subprocess.h"
#include "tools/sweep/study_state.h"

using namespace sink;

namespace {

const std::string kHeader =
    "run,task,ablation,finished,measured_step,steps,step,seed,val_loss,sink_1,sink_1_raw,heads,threads,failure,"
    "data_sha256\n";

RunConfig wanted(std::uint64_t seed) {
  RunConfig config;
  config.ablation = "baseline";
  config.task = "text";
  config.steps = 9;
  config.heads = 8;
  config.seed = seed;
  config.data = "elsewhere";
  return config;
}

}  // namespace

TEST_CASE("earlier runs: settings and data decide; complete ones go before failed ones") {
  const TemporaryFolder place;
  write_bytes(place / "a.csv", kHeader +
                                   "a,text,baseline,true,9,9,9,1,2,50,40,8,1,,\n"         // 2: no checksum
                                   "b,text,baseline,true,9,9,9,1,3,50,40,4,1,,\n"         // 3: of other heads
                                   "c,text,baseline,false,,9,3,2,,,,8,1,diverged,feed\n"  // 4
                                   "d,text,baseline,false,,9,3,3,,,,8,1,,\n"              // 5: never finished
                                   "e,text,baseline,true,5,9,5,4,2,50,40,8,1,,\n"         // 6: of a checkpoint before
                                   "f,text,baseline,true,9,9,9,5,2,50,40,8,1,,beef\n"     // 7: of other data
                                   "g,text,bias_k,true,9,9,9,1,2,50,40,8,1,,\n"           // 8: of another ablation
                                   "h,text,baseline,true,9,9,9,9,2,50,40,,,,\n");         // 9: settings not known
  write_bytes(place / "b.csv", kHeader + "i,text,baseline,true,9,9,9,2,2,50,40,8,4,,feed\n");
  EarlierRuns runs({place / "a.csv", place / "b.csv"});
  const auto name = [&](std::uint64_t seed) {
    const EarlierRun* found = runs.find(wanted(seed), [] { return std::string("feed"); });
    return found ? found->run.name : "";
  };
  CHECK(name(1) == "a");
  CHECK(name(2) == "i");  // of another number of threads
  for (std::uint64_t seed : {3, 4, 5, 9}) CHECK(name(seed) == "");
  CHECK(runs.notes() ==
        std::vector<std::string>{place / "a.csv" + ": 2 of 8 rows are runs of this study; 3 of 8 rows "
                                                   "are of other settings, data or input; 3 of 8 rows never "
                                                   "finished",
                                 place / "b.csv" + ": 1 of 1 rows are runs of this study"});
  // What eval_<ablation> sink measured of a run is not what its training measured.
  const std::string columns =
                        "run,task,ablation,finished,measured_step,steps,step,seed,val_loss,sink_1,sink_1_raw,heads,"
                        "input,measured_context,measured_sequences,measured_precision,seconds\n",
                    row = ",text,baseline,true,9,9,9,1,2,50,40,8,";
  const auto taken = [&](const std::string& measured) {
    write_bytes(place / "c.csv", columns + "m" + row + measured + "\n");
    return EarlierRuns({place / "c.csv"}).find(wanted(1), [] { return std::string(); }) != nullptr;
  };
  CHECK(taken("text,64,100,f32,0"));
  CHECK(taken("text,64,60,f32,5"));  // all that the data has
  for (const char* measured :
       {"random,64,100,f32,5", "text,32,100,f32,5", "text,64,7,f32,0", "text,64,200,f32,5", "text,64,100,f64,5"})
    CHECK_FALSE_MESSAGE(taken(measured), measured);
  const std::string more = "data,data_sha256,measured_data,measured_data_sha256,positions,", a = "data/a,feed,";
  const auto taken_of = [&](const std::string& measured) {
    std::string header = columns;
    write_bytes(place / "c.csv",
                header.insert(header.find("input,"), more) + "m" + row + measured + ",text,64,100,f32,5\n");
    return EarlierRuns({place / "c.csv"}).find(wanted(1), [] { return std::string("feed"); }) != nullptr;
  };
  for (const char* own : {"data/a,feed,", "data/b,feed,", ",,", "data/a/,,"}) CHECK_MESSAGE(taken_of(a + own), own);
  for (const char* other : {"data/a,beef,", "data/b,beef,", "data/b,,", "data/a,feed,swap:3"})
    CHECK_FALSE_MESSAGE(taken_of(a + other), other);
  // Nor is a run that started from other parameters, where both are known.
  const auto taken_from = [&](const std::string& start, const std::string& now) {
    write_bytes(place / "c.csv", kHeader.substr(0, kHeader.size() - 1) +
                                     ",initial,initial_sha256\nm,text,baseline,true,9,9,9,1,2,50,40,8,1,,,s.h5," +
                                     start + "\n");
    RunConfig config = wanted(1);
    config.initial = "s.h5";
    EarlierRuns runs({place / "c.csv"});
    const bool found = runs.find(
                           config, [] { return std::string(); }, false, [&] { return now; }) != nullptr;
    CHECK(contains(runs.notes().front(), "1 of 1 rows started from other parameters") != found);
    return found;
  };
  CHECK(taken_from("feed", "feed"));
  CHECK(taken_from("feed", ""));
  CHECK(taken_from("", "feed"));
  CHECK_FALSE(taken_from("feed", "beef"));
  // A study with interventions takes rows that have them.
  write_bytes(place / "d.csv",
              "run,task,ablation,finished,measured_step,steps,step,seed,val_loss,sink_1,sink_1_raw,heads,"
              "change_removed_1\n"
              "without" +
                  row + "\nwith" + row + "0.1\n");
  EarlierRuns both({place / "d.csv"});
  CHECK(both.find(
                wanted(1), [] { return std::string(); }, true)
            ->run.name == "with");
  CHECK(both.notes().front() == place / "d.csv" +
                                    ": 1 of 2 rows are runs of this study; 1 of 2 rows lack the "
                                    "interventions that the study measures");
  EarlierRun complete{{}, "", RunStatus::complete}, failed{{}, "", RunStatus::failed};
  for (bool retry : {false, true}) {
    CHECK_FALSE(replaces_run(complete, RunStatus::complete, retry));
    CHECK_FALSE(replaces_run(failed, RunStatus::complete, retry));
    CHECK_FALSE(replaces_run(failed, RunStatus::failed, retry));
    for (RunStatus own : {RunStatus::missing, RunStatus::begun, RunStatus::failed})
      CHECK(replaces_run(complete, own, retry));
    CHECK(replaces_run(failed, RunStatus::missing, retry) != retry);
  }
}

TEST_CASE("a run or row of an ablation whose struct has changed is of another run") {
  const TemporaryFolder place;
  write_bytes(place / "a.csv",
              "run,task,ablation,finished,measured_step,steps,step,seed,val_loss,sink_1,sink_1_raw,heads,data_sha256,"
              "policies\n"
              "r,text,baseline,true,9,9,9,1,2,50,40,8,feed,position=Rotary attention=Relu\n"
              "r,text,baseline,true,9,9,9,2,2,50,40,8,feed,\n");  // of a program that did not store them
  EarlierRuns runs({place / "a.csv"});
  const auto found = [&](const std::string& policies, std::uint64_t seed) {
    RunConfig config = wanted(seed);
    config.policies = policies;
    return runs.find(config, [] { return std::string("feed"); }) != nullptr;
  };
  CHECK(found("position=Rotary attention=Relu", 1));
  CHECK_FALSE(found("position=Rotary attention=Sigmoid", 1));
  CHECK(found("position=Rotary attention=Sigmoid", 2));

  RunConfig stored = wanted(1);
  stored.policies = "attention=Relu";
  stored.run = place / "run";
  std::filesystem::create_directories(stored.run);
  write_bytes(stored.run + "/config.toml", to_toml(stored));
  CHECK(found_run(stored).status == RunStatus::begun);
  RunConfig changed = stored;
  changed.policies = "attention=Sigmoid";
  check_refused([&] { found_run(changed); }, {R"(policies = "attention=Relu" instead of "attention=Sigmoid")"},
                Exit::usage);
}

TEST_CASE("a study that only collects knows data whose tokens it lacks by the name of their folder") {
  const TemporaryFolder place;
  const std::string header =
      "run,task,ablation,finished,measured_step,steps,step,seed,val_loss,sink_1,sink_1_raw,heads,"
      "data,data_sha256\n";
  const auto row = [](const std::string& data) { return "r,text,baseline,true,9,9,9,1,2,50,40,8," + data + "\n"; };
  const auto taken = [&](const std::string& rows, bool collects) {
    write_bytes(place / "a.csv", header + rows);
    StudyState state;
    state.collects = collects;
    state.earlier_runs = EarlierRuns({place / "a.csv"});
    StudyRun run{};
    run.config = wanted(1);
    run.config.run = place / "run";
    state.runs.push_back(run);
    read_states(state);
    return state.earlier[0] != nullptr;
  };
  CHECK(taken(row("elsewhere,feed"), true));
  const std::string no_tokens = "there is no token file elsewhere/tokens.h5";
  check_refused([&] { taken(row("elsewhere,feed"), false); }, {no_tokens}, Exit::bad_input);
  check_refused([&] { taken(row("english,feed"), true); }, {no_tokens}, Exit::bad_input);
  // Two texts of one name.
  check_refused([&] { taken(row("elsewhere,feed") + row("elsewhere,beef"), true); }, {no_tokens}, Exit::bad_input);
}
