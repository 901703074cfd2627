// Tests which row of the paper matches a run, by its input. The values are those of the paper's Tables 2, 4 and 10.
#include <doctest/doctest.h>

#include <map>

#include "tests/support/subprocess.h"
#include "tools/study/study.h"

using namespace sink;

namespace {

PaperRow row(const std::string& id) {
  for (const PaperRow& row : paper_rows())
    if (row.id == id) return row;
  FAIL(id);
  return {};
}

constexpr const char* kNone = "no matching row";

std::string id_of(const std::optional<PaperRow>& row) { return row ? row->id : kNone; }

InputKind input(std::map<std::string, std::string> settings) {
  return input_kind_of([&](const std::string& flag) { return settings[flag]; });
}

}  // namespace

TEST_CASE("matching row: a fixed token is set next to the paper's row of a fixed token at that position") {
  CHECK(matching_row(row("base-60m"), input({}))->sink_1 == "18.18");
  CHECK(matching_row(row("base-60m"), input({{"fixed-token", "-1"}, {"fixed-position", "1"}}))->sink_1 == "18.18");
  CHECK(matching_row(row("base-60m"), input({{"fixed-token", "1"}, {"fixed-position", "1"}}))->sink_1 == "74.11");
  CHECK(matching_row(row("base-60m"), input({{"fixed-token", "0"}}))->id == "data-fix1");  // which one is fixed is free
  CHECK(id_of(matching_row(row("base-60m"), input({{"fixed-token", "1"}, {"fixed-position", "2"}}))) == "data-fix2");
  CHECK(id_of(matching_row(row("base-60m"), input({{"fixed-token", "1"}, {"fixed-position", "3"}}))) == "data-fix3");
  CHECK(id_of(matching_row(row("base-60m"), input({{"fixed-token", "1"}, {"fixed-position", "4"}}))) == kNone);
  CHECK(id_of(matching_row(row("data-fix1"), input({}))) == "base-60m");  // and the other way round
  CHECK(id_of(matching_row(row("base-60m"), input({{"random-from", "1"}, {"random-to", "2"}}))) == "data-rand12");
  CHECK(id_of(matching_row(row("base-60m"), input({{"window", "32"}}))) == "mask-win32");
  CHECK(id_of(matching_row(row("base-60m"), input({{"prefix", "3"}}))) == "loss-prefix3");
}

TEST_CASE("matching row: where the paper has no such experiment there is none") {
  const InputKind fixed = input({{"fixed-token", "1"}});
  CHECK(id_of(matching_row(row("bias-k"), input({}))) == "bias-k");
  for (const PaperRow& experiment : paper_rows()) {
    CAPTURE(experiment.id);
    // Only the default model was trained with a fixed token.
    const bool is_default = experiment.id == "base-60m" || experiment.id.starts_with("data-fix") ||
                            experiment.id.starts_with("data-rand") || experiment.id.starts_with("mask-") ||
                            experiment.id.starts_with("loss-");
    CHECK(id_of(matching_row(experiment, fixed)) == (is_default ? "data-fix1" : kNone));
    CHECK(id_of(matching_row(experiment, input({{"task", "bigram-backcopy"}}))) == kNone);
    CHECK(matching_row(experiment, input_kind_of(experiment)).has_value());
  }
  CHECK(id_of(matching_row(row("mask-win32"), input({{"fixed-token", "1"}, {"window", "32"}}))) == kNone);
  CHECK(id_of(matching_row(paper_row_of("op_relu"), input({}))) == kNone);  // is not of the paper
  CHECK(id_of(matching_row(row("big-softmax"), fixed)) == kNone);           // nor is that size
}

TEST_CASE("matching row: the input in words") {
  CHECK(describe(input({})) == "natural text");
  CHECK(describe(input({{"fixed-token", "1"}})) == "text with a fixed first token");
  CHECK(describe(input({{"fixed-token", "1"}, {"fixed-position", "3"}, {"window", "32"}})) ==
        "text with a fixed token at position 3, window 32");
  const auto drawn = input({{"fixed-token", "1"}, {"fixed-to", "5"}, {"prefix", "5"}});
  CHECK(describe(drawn) == "text with a fixed token at a drawn position, 1 to 5, prefix 5");
  CHECK(id_of(matching_row(row("loss-prefix5"), drawn)) == kNone);
  const auto quarter = input({{"fixed-token", "1"}, {"fixed-probability", "0.25"}});
  CHECK(describe(quarter) == "text with a fixed first token in 0.25 of the training sequences");
  CHECK(id_of(matching_row(row("base-60m"), quarter)) == kNone);
  CHECK(input({{"fixed-token", "1"}, {"fixed-probability", "0"}}) == input({}));
  CHECK(describe(input({{"random-from", "1"}, {"random-to", "3"}})) == "text with random tokens at positions 1 to 3");
  CHECK(describe(input({{"random-from", "2"}, {"random-to", "2"}, {"prefix", "4"}})) ==
        "text with random tokens at position 2, prefix 4");
  CHECK(describe(input({{"task", "bigram-backcopy"}})) == "Bigram-Backcopy");
}

TEST_CASE("matching row: `ablations` lists the input of the paper's value") {
  const TemporaryFolder folder;
  const auto printed = [&](const std::string& line) {
    const Subprocess program(folder, words_of(line));
    CHECK_MESSAGE(program.wait() == 0, program.err());
    return program.out();
  };
  const std::string csv = printed("ablations --study --csv"), matrix = printed("ablations --study");
  CHECK(contains(csv, "\nbase-60m,18.18,,3.73,natural text,"));
  CHECK(contains(csv, "\ndata-fix1,74.11,,n.r.,text with a fixed first token,"));
  CHECK(contains(csv, "\nmask-win32,n.r.,,n.r.,\"natural text, window 32\","));
  CHECK(contains(matrix, "  text with a fixed first token  "));
  CHECK(contains(printed("ablations baseline"), "text with a fixed first token"));
  CHECK(contains(printed("ablations"), "paper's on natural text"));
}
