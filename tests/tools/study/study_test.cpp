// The list of ablations and the study's matrix belong together.
#include "tools/study/study.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/built_ablations.h"
#include "tests/support/subprocess.h"

using namespace sink;

TEST_CASE("study: ids are unique, every row names an ablation there is, and a preset there is") {
  std::set<std::string> ids, presets;
  for (const PaperPreset& preset : paper_presets()) presets.insert(preset.name);
  for (const PaperRow& row : paper_rows()) {
    CAPTURE(row.id);
    CHECK(ids.insert(row.id).second);
    if (test::is_built(row.ablation)) CHECK_NOTHROW(ablation_named(row.ablation));
    CHECK(presets.contains(row.preset));
    CHECK_FALSE(row.meaning.empty());
    CHECK_FALSE(row.sink_1.empty());
    CHECK_FALSE(row.valid.empty());
  }
  CHECK(ids.size() == 111);
}

TEST_CASE("study: every experiment that changes the mathematics has the struct of its id") {
  // Changes of a number, of the data or of the size are settings; all else is a struct.
  const std::vector<std::string> settings{"opt-", "data-", "loss-",  "mask-",  "sig-",
                                          "big-", "sft-",  "head-4", "head-2", "head-1"};
  int structs = 0;
  for (const PaperRow& row : paper_rows()) {
    CAPTURE(row.id);
    bool is_setting =
        std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return row.id.starts_with(s); });
    if (is_setting) {
      CHECK((row.ablation == "baseline" || row.ablation == "op_sigmoid_none"));
      continue;
    }
    ++structs;
    std::string name = row.id == "base-60m" ? "baseline" : row.id;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '-' || c == '.' || c == '/'; }, '_');
    CHECK(row.ablation == name);
    CHECK(row.settings.empty());
  }
  CHECK(structs == 56);
}

TEST_CASE("study: every ablation has a line, and no two have the same policies except families of open models") {
  std::map<std::string, std::string> seen;
  for (const Ablation& ablation : repository_ablations()) {
    CAPTURE(ablation.name);
    CHECK(paper_row_of(ablation.name).ablation == ablation.name);
    CHECK(paper_row_of(ablation.name).meaning != paper_row_of("mine").meaning);
    auto [place, is_new] = seen.emplace(ablation.policies, ablation.name);
    // Families of open models have their own programs, even with equal policies.
    const bool is_family = paper_row_of(ablation.name).meaning.starts_with("a family of open models");
    CHECK_MESSAGE((is_new || is_family), place->second, " says the same: ", ablation.policies);
  }
  CHECK(repository_ablations().size() + static_cast<std::size_t>(ablations_left_out()) ==
        56 + beyond_the_paper().size());
}

TEST_CASE("study: the settings of every experiment are flags that its program takes") {
  TemporaryFolder folder;
  for (const PaperRow& row : paper_rows()) {
    if (row.ablation != "baseline") continue;  // whose program every build has
    CAPTURE(row.id);
    Subprocess program(folder, words_of(paper_command(row) + " --data none --run none --print-config"));
    CHECK_MESSAGE(program.wait() == 0, program.err());
  }
}

TEST_CASE("study: an ablation without a line is described as such") {
  PaperRow mine = paper_row_of("mine");
  CHECK(mine.ablation == "mine");
  CHECK(mine.id.empty());
  CHECK(mine.meaning == "not in the paper, and without a line in tools/study/paper.json");
  CHECK(
      error_of([] { ablation_named("my_bias_k"); }) ==
      "exit 2 `my_bias_k` is not known to this build, which has " + std::to_string(all_ablations().size()) +
          " ablations; did you mean one of bias_k?; if it was just added to model/ablations.h: cmake --build --preset "
          "release --target ablations sweep, or for Python: pip install .");
  TemporaryFolder folder;
  CHECK(note_of_unbuilt_ablations(folder / "names.txt").empty());
  write_bytes(folder / "names.txt", "baseline\nbias_k\n");
  CHECK(note_of_unbuilt_ablations(folder / "names.txt").empty());
  write_bytes(folder / "names.txt", "baseline\nmine\nbias_k\nyours\n");
  CHECK(note_of_unbuilt_ablations(folder / "names.txt") ==
        "note: this program was built before mine, yours were added: cmake --build --preset release --target ablations "
        "sweep");
  write_bytes(folder / "names.txt", "baseline\nmine\nbias_k\n");
  CHECK(note_of_unbuilt_ablations(folder / "names.txt") ==
        "note: this program was built before mine was added: cmake --build --preset release --target ablations sweep");
}
