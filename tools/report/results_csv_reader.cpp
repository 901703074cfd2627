// Reads results.csv back: every column by what it may hold.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "tools/report/csv_lines.h"
#include "tools/report/results_csv.h"
#include "train/run_config_table.h"

namespace sink::report {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 26;
constexpr double kLargest = 1e300;                            // no number here is larger
constexpr std::int64_t kMostCounted = 1'000'000'000'000'000;  // nor of tokens, steps, sequences
constexpr std::uint64_t kMostSeed = ~std::uint64_t{0};
constexpr double kStudyEpsilon = 0.3;

// Sink_1 proxy and raw, Sink_* proxy and raw; NaN where there is none.
using Sinks = std::array<double, 4>;
constexpr std::array<const char*, 4> kSinkColumns{"sink_1", "sink_1_raw", "sink_star", "sink_star_raw"};
const Sinks kNoSinks{kNaN, kNaN, kNaN, kNaN};

// A line on its way to a run.
struct ReadLine {
  Run run;
  Evaluation measured;
  std::int64_t measured_step = -1;
  Sinks at_study = kNoSinks;      // the columns without an epsilon
  std::map<double, Sinks> sinks;  // by epsilon
  double sink_2 = kNaN, sink_3 = kNaN;
};

// A field, and where it stands for the messages.
struct Cell {
  const std::string& text;
  const std::string& line;
  const std::string& column;

  [[noreturn]] void refuse(const std::string& expected) const {
    throw Error(
        line + ", column " + column + ": expected " + expected + ", got `" + printable(text.substr(0, 200)) + "`",
        Exit::bad_input);
  }
  // As it was before csv_field kept spreadsheets from taking it for a formula.
  std::string plain() const {
    const bool guarded =
        text.size() > 1 && text[0] == '\'' && std::string("=+-@\t\r").find(text[1]) != std::string::npos;
    return guarded ? text.substr(1) : text;
  }
  // An empty field is NaN: the run has no such number.
  double number(double low, double high) const {
    if (text.empty()) return kNaN;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
      refuse(low == -kLargest ? "a number or nothing"
             : high == 100    ? "a number from 0 to 100, or nothing"
                              : "a number that is not negative, or nothing");
    return value;
  }
  template <class Whole>
  Whole whole(Whole otherwise, Whole most) const {
    if (text.empty()) return otherwise;
    Whole value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
      refuse("a whole number from 0 to " + std::to_string(most));
    return value;
  }
  std::string one_of(const std::vector<std::string>& choices) const {
    for (const std::string& choice : choices)
      if (text == choice) return text;
    std::string all;
    for (const std::string& choice : choices) all += (all.empty() ? "" : ", ") + (choice.empty() ? "nothing" : choice);
    refuse("one of " + all);
  }
};

using Fill = std::function<void(const Cell&, ReadLine&)>;

// Columns that are no settings.
const std::map<std::string, Fill>& known_columns() {
  static const std::map<std::string, Fill> all = [] {
    std::map<std::string, Fill> columns;
    const auto text = [&](const char* name, std::string Run::*member) {
      columns[name] = [member](const Cell& cell, ReadLine& line) { line.run.*member = cell.plain(); };
    };
    const auto whole = [&](const char* name, std::int64_t Run::*member) {
      columns[name] = [member](const Cell& cell, ReadLine& line) {
        line.run.*member = cell.whole(std::int64_t{0}, kMostCounted);
      };
    };
    text("run", &Run::name);
    text("task", &Run::task);
    text("ablation", &Run::ablation);
    text("policies", &Run::policies);
    text("commit", &Run::commit);
    text("date", &Run::date);
    text("machine", &Run::machine);
    text("data_sha256", &Run::data_sha256);
    text("failure", &Run::failure);
    text("measured_precision", &Run::precision);
    whole("steps", &Run::steps);
    whole("step", &Run::step);
    whole("tokens", &Run::tokens);
    whole("measured_context", &Run::context);
    whole("measured_sequences", &Run::sequences);
    whole("skipped_steps", &Run::skipped_steps);
    whole("first_skipped", &Run::first_skipped);
    columns["label"] = [](const Cell&, ReadLine&) {};  // made of the other columns
    columns["finished"] = [](const Cell& cell, ReadLine& line) {
      line.run.finished = cell.one_of({"true", "false"}) == "true";
    };
    columns["measured_step"] = [](const Cell& cell, ReadLine& line) {
      line.measured_step = cell.whole(std::int64_t{-1}, kMostCounted);
    };
    columns["seed"] = [](const Cell& cell, ReadLine& line) { line.run.seed = cell.whole(std::uint64_t{0}, kMostSeed); };
    columns["seconds"] = [](const Cell& cell, ReadLine& line) {
      if (!cell.text.empty()) line.run.seconds = cell.number(0, kLargest);
    };
    columns["input"] = [](const Cell& cell, ReadLine& line) { line.measured.input = cell.plain(); };
    columns["input_seed"] = [](const Cell& cell, ReadLine& line) {
      line.measured.input_seed = cell.whole(std::uint64_t{0}, kMostSeed);
    };
    columns["extra"] = [](const Cell& cell, ReadLine& line) {
      line.measured.extra = cell.one_of({"none", "key", "token", "unknown", ""});
    };
    for (const char* name :
         {"val_loss", "input_loss", "alpha_1", "alpha_1_raw", "alpha_1_max", "alpha_star", "alpha_star_raw", "row_mass",
          "extra_key_mass", "entropy", "first_value_norm_ratio", "value_share", "massive_ratio"})
      columns[name] = [name](const Cell& cell, ReadLine& line) {
        const double value = cell.number(-kLargest, kLargest);
        if (!std::isnan(value)) line.measured.scalar[name] = value;
      };
    columns["sink_2"] = [](const Cell& cell, ReadLine& line) { line.sink_2 = cell.number(0, 100); };
    columns["sink_3"] = [](const Cell& cell, ReadLine& line) { line.sink_3 = cell.number(0, 100); };
    for (std::size_t i = 0; i < kSinkColumns.size(); ++i)
      columns[kSinkColumns[i]] = [i](const Cell& cell, ReadLine& line) { line.at_study[i] = cell.number(0, 100); };
    return columns;
  }();
  return all;
}

// "sink_1_raw_eps0.2"; null for another name.
Fill epsilon_column(const std::string& name) {
  for (std::size_t i = 0; i < kSinkColumns.size(); ++i) {
    const std::string start = std::string(kSinkColumns[i]) + "_eps";
    if (!name.starts_with(start)) continue;
    double epsilon = 0;
    const auto [end, error] = std::from_chars(name.data() + start.size(), name.data() + name.size(), epsilon);
    if (error != std::errc() || end != name.data() + name.size() || !(epsilon >= 0 && epsilon < kLargest)) return {};
    return [=](const Cell& cell, ReadLine& line) {
      line.sinks.try_emplace(epsilon, kNoSinks).first->second[i] = cell.number(0, 100);
    };
  }
  return {};
}

// "change_removed_1": what an intervention does to the loss; null for another name.
Fill change_column(const std::string& name) {
  constexpr std::size_t kLongest = 48;
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  if (!name.starts_with("change_") || !plain || name.size() > kLongest) return {};
  return [name](const Cell& cell, ReadLine& line) {
    const double value = cell.number(-kLargest, kLargest);
    if (!std::isnan(value)) line.measured.scalar[name] = value;
  };
}

// A setting of the run, under its name in config.toml with _ for -. What is empty has its default.
Fill setting_column(const std::string& name) {
  const Setting<RunConfig>* setting = setting_named(run_config_table(), name);
  if (!setting || !is_saved(*setting)) return {};
  return [setting](const Cell& cell, ReadLine& line) {
    if (cell.text.empty()) return;
    try {
      line.run.settings[setting->flag] = plain_text(setting->read(cell.plain(), cell.line + ", column " + cell.column));
    } catch (const Error& error) { throw Error(error.what(), Exit::bad_input); }
  };
}

// What fills in each column of the header.
std::vector<Fill> fills_of(const std::vector<std::string>& header, const std::string& line) {
  std::vector<Fill> fills;
  std::set<std::string> seen;
  for (const std::string& name : header) {
    const auto known = known_columns().find(name);
    Fill fill = known != known_columns().end() ? known->second : epsilon_column(name);
    if (!fill) fill = change_column(name);
    if (!fill) fill = setting_column(name);
    const std::string shown = printable(name.substr(0, 200));
    if (!fill)
      throw Error(line + ": unknown column `" + shown +
                      "`; expected those of a results.csv, or <study>-runs.csv, of this program or of an older one",
                  Exit::bad_input);
    if (!seen.insert(name).second) throw Error(line + ": the column `" + shown + "` is there twice", Exit::bad_input);
    fills.push_back(fill);
  }
  for (const char* name : {"run", "task", "ablation", "finished", "measured_step", "steps", "step", "seed", "val_loss",
                           "sink_1", "sink_1_raw"})
    if (!seen.contains(name))
      throw Error(line + ": no column `" + name + "`; expected the header of a results.csv, or <study>-runs.csv",
                  Exit::bad_input);
  return fills;
}

// The lists of an evaluation out of the columns by epsilon, which say the study's again.
void set_sinks(ReadLine& line, const std::string& where) {
  Sinks& study = line.sinks.try_emplace(kStudyEpsilon, kNoSinks).first->second;
  for (std::size_t i = 0; i < study.size(); ++i) {
    if (std::isnan(study[i])) study[i] = line.at_study[i];
    if (study[i] != line.at_study[i] && !(std::isnan(study[i]) && std::isnan(line.at_study[i])))
      throw Error(where + ", column " + kSinkColumns[i] + ": expected the same number as in " + kSinkColumns[i] +
                      "_eps0.3, got another",
                  Exit::bad_input);
  }
  Evaluation& e = line.measured;
  const bool star = e.extra == "key" || e.extra == "token";
  for (const auto& [epsilon, sinks] : line.sinks) {
    if (std::isnan(sinks[0]) && std::isnan(sinks[1])) continue;
    e.sink_epsilon.push_back(epsilon);
    e.sink_1.push_back(sinks[0]);
    e.sink_1_raw.push_back(sinks[1]);
    if (star) e.sink_star.push_back(sinks[2]);
    if (star) e.sink_star_raw.push_back(sinks[3]);
  }
  if (!std::isnan(line.sink_2)) e.sink_k = {line.at_study[0], line.sink_2};
  if (!std::isnan(line.sink_2) && !std::isnan(line.sink_3)) e.sink_k.push_back(line.sink_3);
}

// Settings that an older program did not know have their default; without any they are not known at all.
void complete_settings(Run& run) {
  if (run.settings.empty()) return;
  RunConfig config;
  config.task = run.task;
  config.seed = run.seed;
  config.steps = run.steps;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting)) run.settings.emplace(setting.flag, plain_text(setting.value(config)));
  if (!run.ablation.empty()) run.settings["ablation"] = run.ablation;
  if (!run.policies.empty()) run.settings["policies"] = run.policies;
  if (run.precision.empty()) run.precision = run.settings["precision"];
}

Run finished_line(ReadLine& line, const std::string& where) {
  Run& run = line.run;
  const bool measured = line.measured_step >= 0;
  if (run.finished && line.measured_step != run.step)
    throw Error(where + ", column measured_step: expected the step of a finished run, " + std::to_string(run.step) +
                    ", got " + (measured ? std::to_string(line.measured_step) : "nothing"),
                Exit::bad_input);
  complete_settings(run);
  run.attention = attention_of(run);
  if (!measured) return std::move(run);
  if (!run.finished) run.unfinished_step = line.measured_step;
  line.measured.has_extra_key = line.measured.extra == "key";
  set_sinks(line, where);
  run.evaluation = std::move(line.measured);
  return std::move(run);
}

}  // namespace

std::vector<Run> read_results_csv(const std::string& text, const std::string& file) {
  if (text.size() > kMostBytes)
    throw Error(file + ": expected at most " + std::to_string(kMostBytes) + " bytes", Exit::bad_input);
  CsvLines lines(text, file);
  std::vector<std::string> header, fields;
  if (!lines.next(header)) throw Error(file + ": expected a header and a line a run, got nothing", Exit::bad_input);
  const std::vector<Fill> fills = fills_of(header, lines.where());
  std::vector<Run> runs;
  while (lines.next(fields)) {
    const std::string where = lines.where();
    if (fields.size() != header.size())
      throw Error(where + ": expected " + std::to_string(header.size()) + " fields, as many as the header has, got " +
                      std::to_string(fields.size()),
                  Exit::bad_input);
    ReadLine line;
    for (std::size_t i = 0; i < fills.size(); ++i) fills[i]({fields[i], where, header[i]}, line);
    runs.push_back(finished_line(line, where));
  }
  return runs;
}

}  // namespace sink::report
