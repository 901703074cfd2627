// The report's values outside of the page: results.csv and the table on the terminal.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "tests/tools/report/report_support.h"

using namespace sink;

namespace {

// The value under `column` in line `line` (from 1) of a CSV file without quoted fields.
std::string csv_value(const std::string& csv, std::size_t line, const std::string& column) {
  const auto fields = [](const std::string& text) {
    std::vector<std::string> out(1);
    for (const char c : text)
      if (c == ',')
        out.emplace_back();
      else
        out.back() += c;
    return out;
  };
  std::istringstream in(csv);
  std::string header, wanted;
  std::getline(in, header);
  for (std::size_t i = 0; i < line; ++i) std::getline(in, wanted);
  const auto names = fields(header), values = fields(wanted);
  REQUIRE(names.size() == values.size());
  const auto at = std::find(names.begin(), names.end(), column);
  REQUIRE_MESSAGE(at != names.end(), column);
  return values[static_cast<std::size_t>(at - names.begin())];
}

}  // namespace

TEST_CASE("report: results.csv has what was run, what was measured, the numbers and every setting") {
  const TemporaryFolder place;
  json keyed = evaluation("k", "text", "bias_k", "Softmax extra=LearnedKey+ZeroValue", 3, 0.5, 1);
  keyed["row_mass"] = 0.73;
  keyed.update({{"extra", "key"},
                {"extra_key_mass", 0.27},
                {"alpha_star", 0.28},
                {"alpha_star_raw", 0.281},
                {"sink_star", {40, 25, 10}},
                {"sink_star_raw", {41, 26, 11}},
                {"entropy", 1.5}});
  const std::string runs = make_run(place, "a", keyed) + make_run(place, "open", json());
  REQUIRE(run_report(place, "--out " + place / "r.html" + " --csv " + place / "r.csv" + " " + runs).wait() == 0);
  const std::string csv = read_bytes(place / "r.csv");
  CHECK(csv.rfind("run,task,ablation,label,finished,", 0) == 0);
  const std::string in_folder = "--out " + place / "r.html" + " --csv " + place / "tables/" + " " + runs;
  for (int time = 0; time < 2; ++time) REQUIRE(run_report(place, in_folder).wait() == 0);  // its own is replaced
  CHECK(read_bytes(place / "tables/results.csv") == csv);
  write_bytes(place / "tables/results.csv", "my notes");
  CHECK(run_report(place, in_folder).wait() == 2);
  CHECK(read_bytes(place / "tables/results.csv") == "my notes");
  const auto check = [&](std::size_t line, const std::string& expected) {
    for (const std::string& word : words_of(expected)) {
      const std::string column = word.substr(0, word.find(':'));
      CHECK_MESSAGE(csv_value(csv, line, column) == word.substr(column.size() + 1), column);
    }
  };
  check(1,
        "run:k ablation:bias_k label:softmax finished:true seed:3 measured_step:20 steps:20 tokens:5120 input:text "
        "extra:key measured_context:4 measured_sequences:100 val_loss:4.12345679 sink_1:50 sink_1_raw:45 sink_star:25 "
        "sink_star_raw:26 sink_star_eps0.2:40 sink_1_raw_eps0.4:20 alpha_1:0.5 alpha_star:0.28 alpha_star_raw:0.281 "
        "row_mass:0.73 extra_key_mass:0.27 entropy:1.5 first_value_norm_ratio: learning_rate:0.004 context:4 "
        "fixed_token:-1 schedule:constant");
  check(2, "finished:false measured_step:3 step:3 steps:20 seed:7 val_loss:5.4 alpha_1:0.2 sink_1: context:4");
}

TEST_CASE("report: no cell of results.csv is a formula, and no name acts on the terminal") {
  const TemporaryFolder place;
  std::string runs;
  const std::vector<std::string> names{"=1+1", "+1", "-x", "@SUM(A1)", "a,\"b\"", "\x1b[2J\tred\nx"};
  for (std::size_t i = 0; i < names.size(); ++i)
    runs += make_run(place, std::string(1, static_cast<char>('a' + i)),
                     evaluation(names[i], "text", "=ablation", "Softmax", 0, 0.5, 1));
  const Subprocess program = run_report(place, "--out " + place / "r.html" + " --csv " + place / "r.csv" + " " + runs);
  REQUIRE(program.wait() == 0);
  const std::string csv = read_bytes(place / "r.csv");
  for (const char* start :
       {"\n'=1+1,text,'=ablation,", "\n'+1,text", "\n'-x,text", "\n'@SUM(A1),text", "\n\"a,\"\"b\"\"\",text"})
    CHECK_MESSAGE(contains(csv, start), start);
  for (const char c : program.out()) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(contains(program.out(), "\\x1b[2J\\tred\\nx"));
}
