#include "tools/sweep/study_tables.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "tools/sweep/study_output.h"
#include "tools/sweep/worker_processes.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

using json = nlohmann::ordered_json;

constexpr double kPaperEpsilon = kSinkEpsilons[kPaperEpsilonIndex];
constexpr const char* kProgram = "train/studies/science/tables.py";
constexpr int kNoProgram = 127;  // as in a shell

// Its exit code, 128 + n if signal n ended it or this program, kNoProgram if there is none of this name. It ends with
// this program.
int run_to_its_end(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  bool begun = false;
  int exit_code = 0;
  const JobCallbacks jobs{
      .next = [&] { return std::exchange(begun, true) ? std::nullopt : std::optional<std::size_t>(0); },
      .body =
          [&](std::size_t) {
            ::execvp(argv[0], argv.data());
            return kNoProgram;
          },
      .ended = [&](const JobEnd& end) { exit_code = end.exit_code; }};
  const int signal = run_in_processes(jobs, 1);
  return signal != 0 ? 128 + signal : exit_code;
}

}  // namespace

std::string study_json(const StudyState& state, const std::vector<StudyOutcome>& outcomes) {
  const StudyFile& study = state.study;
  json groups = json::array(), jobs = json::array();
  for (const StudyGroup& group : state.groups) {
    json settings = json::object();
    for (const Setting<RunConfig>& setting : run_config_table())
      if (is_saved(setting)) settings[setting.flag] = plain_text(setting.value(group.config));
    groups.push_back({{"name", group.name},
                      {"ablation", group.ablation.name},
                      {"from", group.from},
                      {"row", group.row.id},
                      {"planned_steps", group.planned_steps},
                      {"tokens_per_step", group.config.tokens_per_step()},
                      {"settings", settings}});
  }
  std::size_t rows = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& [run, problem, file, start] = outcomes[i];
    json before = json::object();
    if (start)
      before = {{"val_loss", start->get("val_loss")},
                {"alpha_1", start->get("alpha_1")},
                {"sink_1", start->sink_at(kPaperEpsilon, false)},
                {"sink_1_raw", start->sink_at(kPaperEpsilon, true)}};
    jobs.push_back({{"group", state.runs[i].group},
                    {"seed", state.runs[i].config.seed},
                    {"row", run ? json(rows++) : json(nullptr)},
                    {"problem", problem},
                    {"file", file},
                    {"before", before}});
  }
  const json whole{{"schema", 1},
                   {"name", study.name},
                   {"size", state.size},
                   {"question", study.question},
                   {"section", study.section},
                   {"note", study.note},
                   {"baseline", study.baseline},
                   {"groups", groups},
                   {"jobs", jobs}};
  return whole.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

void make_tables(const std::string& file, bool force) {
  const std::string program = beside_program(kProgram);  // never that of the current folder
  // It needs no package (-S), of which some make Python start late.
  std::vector<std::string> words{"python3", "-B", "-S", program.empty() ? kProgram : program};
  if (force) words.push_back("--force");
  words.insert(words.end(), {"--", file});
  const std::string command = joined(words, " ", shell_word);
  const int status = program.empty() ? kNoProgram : run_to_its_end(words);
  if (status == kNoProgram)
    std::fprintf(stderr, "sweep: the tables are not made: there is no %s; with both: %s\n",
                 program.empty() ? "checkout of Sinklab around this program" : "python3", command.c_str());
  else if (status != 0)
    throw Error("the tables are not made; the runs are done: " + command,
                static_cast<Exit>(status > 128 ? 1 : status));  // of a program that a signal ended: run it again
}

}  // namespace sink
