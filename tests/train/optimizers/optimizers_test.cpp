// The rows of the table of optimizers say what the classes do: which settings they read, and what state they keep.
#include "train/optimizers/optimizers.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/support/rank_runs.h"
#include "train/run_config_table.h"

using namespace sink;

namespace {

const std::string kFolder = std::string(SINK_SOURCE_DIR) + "/train/optimizers/";

// The weights after three steps, with 0.5 for a setting unless `flag` is empty.
std::string weights_after(const OptimizerKind& kind, const std::string& flag) {
  RunConfig config = shared_config(ablation_named("baseline"));
  config.optimizer = kind.name;
  if (!flag.empty()) setting_named(run_config_table(), flag)->set(config, "0.5", "test");
  TrainingRun run(config, ablation_named("baseline"));
  for (int step = 0; step < 3; ++step) run.step();
  std::string bits;
  for (const auto& parameter : run.model().parameters())
    append(bits, parameter->master().raw(), static_cast<std::size_t>(parameter->master().bytes()));
  return bits;
}

}  // namespace

TEST_CASE("optimizers: a setting changes the weights of those that read it by their row, and of no other") {
  std::set<std::string> flags;
  for (const OptimizerKind& kind : optimizer_kinds()) flags.insert(kind.settings.begin(), kind.settings.end());
  CHECK(flags.size() >= 4);
  for (const OptimizerKind& kind : optimizer_kinds()) {
    const std::string weights = weights_after(kind, "");
    for (const std::string& flag : flags)
      CHECK_MESSAGE((weights_after(kind, flag) != weights) == kind.reads(flag), kind.name, " and --", flag);
  }
}

TEST_CASE("optimizers: the state is what the row says, and is named at the top of the source") {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    CAPTURE(kind.name);
    const std::string source = read_bytes(kFolder + kind.name + "_optimizer.cpp"),
                      top = source.substr(0, source.find("#include"));
    RunConfig config = shared_config(ablation_named("baseline"));
    config.optimizer = kind.name;
    TrainingRun run(config, ablation_named("baseline"));
    std::int64_t elements = 0;
    for (const OptimizerState& state : run.optimizer().state()) {
      elements += state.values.size();
      const std::string name = state.name.substr(0, state.name.find('/'));
      CHECK_MESSAGE(top.find(name) != std::string::npos, name);
    }
    const std::int64_t most = kind.moments * run.model().parameters().count();
    CHECK(elements <= most);
    CHECK(elements > most - run.model().parameters().count());
    CHECK(std::ssize(run.optimizer().moments()) == (kind.element_wise ? kind.moments : 0));
    if (kind.element_wise) CHECK(elements == most);
  }
}

TEST_CASE("optimizers: every class has a row") {
  std::set<std::string> files, rows;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (const std::string file = entry.path().filename().string(); file.ends_with("_optimizer.cpp")) files.insert(file);
  for (const OptimizerKind& kind : optimizer_kinds()) rows.insert(kind.name + "_optimizer.cpp");
  CHECK(files == rows);
}

TEST_CASE("optimizers: one that there is not is refused") {
  CHECK_THROWS_WITH(optimizer_kind("adam"), doctest::Contains("adamw, sgd, lion"));
}
