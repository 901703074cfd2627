#include "tools/report/results_csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "engine/check.h"
#include "engine/io/csv.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "tools/report/csv_lines.h"
#include "tools/report/evaluation_reader.h"
#include "tools/report/findings.h"
#include "tools/report/run_settings.h"
#include "train/run_config_table.h"

namespace sink::report {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 26;
constexpr std::int64_t kMaxCount = 1'000'000'000'000'000;  // of tokens, steps, sequences
constexpr std::uint64_t kMaxSeed = ~std::uint64_t{0};
constexpr double kPaperEpsilon = kSinkEpsilons[kPaperEpsilonIndex];

// Sink_1 proxy and raw, Sink_* proxy and raw.
using Sinks = std::array<double, 4>;
const std::string kSink1 = name_of(&SinkScores::sink_1), kSinkStar = name_of(&SinkScores::sink_star);
const std::array<std::string, 4> kSinkColumns{kSink1, kSink1 + "_raw", kSinkStar, kSinkStar + "_raw"};
const Sinks kNoSinks{kNaN, kNaN, kNaN, kNaN};

[[noreturn]] void refuse(const std::string& what) { throw Error(what, Exit::bad_input); }

struct ReadLine {
  Run run;
  Measurement measured;
  std::int64_t measured_step = -1;
  Sinks at_paper = kNoSinks;      // the columns without an epsilon
  std::map<double, Sinks> sinks;  // by epsilon
  double sink_2 = kNaN, sink_3 = kNaN;
};

struct CsvColumn {
  std::string name;
  std::function<std::string(const Run&)> write;
  std::function<void(const CsvCell&, ReadLine&)> read;
};

CsvColumn text_column(const char* name, std::string Run::*member) {
  return {name, [member](const Run& run) { return csv_field(run.*member); },
          [member](const CsvCell& cell, ReadLine& line) { line.run.*member = cell.plain(); }};
}

CsvColumn count_column(const char* name, std::int64_t Run::*member, std::int64_t otherwise = 0) {
  return {name, [member](const Run& run) { return std::to_string(run.*member); },
          [=](const CsvCell& cell, ReadLine& line) { line.run.*member = cell.whole(otherwise, kMaxCount); }};
}

// A column that only runs with `condition` have.
template <class Condition>
CsvColumn where(Condition condition, CsvColumn column) {
  column.write = [condition, write = column.write](const Run& run) { return condition(run) ? write(run) : ""; };
  return column;
}
bool is_finished(const Run& run) { return run.finished; }
bool is_measured(const Run& run) { return run.evaluation.has_value(); }
bool has_training(const Run& run) { return run.trained_here(); }  // of other models the training is unknown

CsvColumn measured_text_column(const char* name, std::string Measurement::*member) {
  return where(is_measured, {name, [member](const Run& run) { return csv_field((*run.evaluation).*member); },
                             [member](const CsvCell& cell, ReadLine& line) { line.measured.*member = cell.plain(); }});
}

// The scalar of a measure, or a value of Measurement::scalar.
CsvColumn scalar_column(const std::string& name) {
  return where(is_measured, {name, [name](const Run& run) { return csv_field(run.evaluation->get(name)); },
                             [name](const CsvCell& cell, ReadLine& line) {
                               const double value = cell.number(-CsvCell::kMaxValue, CsvCell::kMaxValue);
                               if (std::isnan(value)) return;
                               double* measure = line.measured.measure(name);
                               (measure ? *measure : line.measured.scalar[name]) = value;
                             }});
}

// The i-th of kSinkColumns; without an epsilon that of the paper.
CsvColumn sink_column(std::size_t i, std::optional<double> epsilon) {
  const double at = epsilon.value_or(kPaperEpsilon);
  return where(is_measured, {kSinkColumns[i] + (epsilon ? "_eps" + csv_field(*epsilon) : std::string()),
                             [=](const Run& run) {
                               const Measurement& e = *run.evaluation;
                               return csv_field(i < 2 ? e.sink_at(at, i == 1) : e.sink_star_at(at, i == 3));
                             },
                             [=](const CsvCell& cell, ReadLine& line) {
                               Sinks& sinks =
                                   epsilon ? line.sinks.try_emplace(at, kNoSinks).first->second : line.at_paper;
                               sinks[i] = cell.number(0, 100);
                             }});
}

CsvColumn sink_k_column(std::size_t k, double ReadLine::*member) {
  return where(is_measured, {"sink_" + std::to_string(k),
                             [k](const Run& run) {
                               const Row& sinks = run.evaluation->proxy.sink_k;
                               return csv_field(sinks.size() < k ? kNaN : sinks[k - 1]);
                             },
                             [member](const CsvCell& cell, ReadLine& line) { line.*member = cell.number(0, 100); }});
}

// Follows from other columns, so that it is written and never read.
CsvColumn over_even_column(const char* name, double EvenAttention::*member) {
  return where(is_measured, {name, [member](const Run& run) { return csv_field(alpha_over_even(run).*member); },
                             [](const CsvCell&, ReadLine&) {}});
}

// The columns of measures: their scalars, optional ones or the others.
std::vector<std::string> scalar_names(bool optional) {
  Measurement none;
  std::vector<std::string> names;
  for_each_measure(none, [&](const Measure& measure, bool raw, double* scalar, auto) {
    if (scalar && measure.optional == optional) names.push_back(key_of(measure, raw, false));
  });
  return names;
}

// Whether there is a column of this name only where a run has the value: the effect of an intervention on the loss,
// "change_removed_1", the step of an onset, "onset_sink_1", and measures that only some models have.
bool is_optional(const std::string& name) {
  static const std::vector<std::string> measures = scalar_names(true);
  return name.starts_with("change_") || name.starts_with("onset_") ||
         std::ranges::find(measures, name) != measures.end();
}

// Columns before the optional ones, before those of other epsilons, and the rest but for settings.
const std::string kLastBeforeOptional = scalar_names(false).back(), kLastBeforeEpsilons = "sink_3";

const std::vector<CsvColumn>& fixed_columns() {
  static const std::vector<CsvColumn> all = [] {
    std::vector<CsvColumn> columns{
        text_column("run", &Run::name),
        text_column("task", &Run::task),
        text_column("ablation", &Run::ablation),
        {"label", {}, [](const CsvCell&, ReadLine&) {}},  // follows from the other columns
        {"finished", [](const Run& run) { return std::string(run.finished ? "true" : "false"); },
         [](const CsvCell& cell, ReadLine& line) {
           line.run.finished = cell.one_of({"true", "false"}) == "true";
         }},
        where(is_measured,
              {"measured_step",
               [](const Run& run) { return std::to_string(run.finished ? run.step : run.unfinished_step); },
               [](const CsvCell& cell, ReadLine& line) {
                 line.measured_step = cell.whole(std::int64_t{-1}, kMaxCount);
               }}),
        where(has_training, count_column("steps", &Run::steps)),
        where(has_training, count_column("step", &Run::step)),
        where(has_training, count_column("tokens", &Run::tokens)),
        where(has_training,
              {"seed", [](const Run& run) { return std::to_string(run.seed); },
               [](const CsvCell& cell, ReadLine& line) { line.run.seed = cell.whole(std::uint64_t{0}, kMaxSeed); }}),
        measured_text_column("input", &Measurement::input),
        where([](const Run& run) { return run.evaluation && run.evaluation->input != "text"; },
              {"input_seed", [](const Run& run) { return std::to_string(run.evaluation->input_seed); },
               [](const CsvCell& cell, ReadLine& line) {
                 line.measured.input_seed = cell.whole(std::uint64_t{0}, kMaxSeed);
               }}),
        where(is_measured,
              {"extra",
               [](const Run& run) { return std::string(kExtraNames[static_cast<std::size_t>(run.evaluation->extra)]); },
               [](const CsvCell& cell, ReadLine& line) {
                 line.measured.extra = extra_named(cell.one_of({"none", "key", "token", "unknown", ""}));
               }}),
        where(is_finished, count_column("measured_context", &Run::context)),
        where(is_finished, count_column("measured_sequences", &Run::sequences)),
        where(is_finished, text_column("measured_precision", &Run::precision)),
        measured_text_column("measured_data", &Measurement::data),
        measured_text_column("measured_data_sha256", &Measurement::data_sha256),
        measured_text_column("positions", &Measurement::positions)};
    for (const std::string& name : scalar_names(false)) {
      columns.push_back(scalar_column(name));
      if (name == name_of(&SinkScores::alpha_1) + std::string("_raw"))
        columns.push_back(scalar_column(kAlphaOthersRaw));
      if (name != name_of(&Evaluation::loss)) continue;
      columns.push_back(scalar_column(kInputLoss));
      for (std::size_t i = 0; i < kSinkColumns.size(); ++i) columns.push_back(sink_column(i, std::nullopt));
    }
    columns.push_back(over_even_column("alpha_1_over_even", &EvenAttention::alpha_1));
    columns.push_back(over_even_column("alpha_star_over_even", &EvenAttention::alpha_star));
    columns.push_back(where(is_measured, {"first_key_rows",
                                          [](const Run& run) {
                                            const std::int64_t rows = run.evaluation->fewest_first_key_rows();
                                            return rows > 0 ? std::to_string(rows) : "";
                                          },
                                          [](const CsvCell& cell, ReadLine& line) {
                                            if (!cell.text.empty())
                                              line.measured.first_key_rows = {cell.whole(std::int64_t{1}, kMaxCount)};
                                          }}));
    columns.push_back(sink_k_column(2, &ReadLine::sink_2));
    columns.push_back(sink_k_column(3, &ReadLine::sink_3));
    columns.push_back(where(has_training, {"seconds", [](const Run& run) { return csv_field(run.seconds); },
                                           [](const CsvCell& cell, ReadLine& line) {
                                             if (!cell.text.empty())
                                               line.run.seconds = cell.number(0, CsvCell::kMaxValue);
                                           }}));
    columns.push_back(where(has_training, count_column("ranks", &Run::ranks, 1)));
    columns.push_back(where(has_training, count_column("skipped_steps", &Run::skipped_steps)));
    columns.push_back(where(has_training, count_column("first_skipped", &Run::first_skipped)));
    const std::pair<const char*, std::string Run::*> texts[] = {
        {"failure", &Run::failure},  {"commit", &Run::commit},           {"date", &Run::date},
        {"machine", &Run::machine},  {"data_sha256", &Run::data_sha256}, {"initial_sha256", &Run::initial_sha256},
        {"policies", &Run::policies}};
    for (const auto& [name, member] : texts) columns.push_back(text_column(name, member));
    return columns;
  }();
  return all;
}

// A saved setting, under its name in config.toml with _ for -.
CsvColumn setting_column(const std::string& flag) {
  std::string name = flag;
  std::ranges::replace(name, '-', '_');
  return {name,
          [flag](const Run& run) {
            const auto found = run.settings.find(flag);
            if (found == run.settings.end() || found->second.empty()) return std::string();
            char* end = nullptr;
            std::strtod(found->second.c_str(), &end);  // -1 is a number, not a formula
            return *end == '\0' ? found->second : csv_field(found->second);
          },
          [flag](const CsvCell& cell, ReadLine& line) {
            if (cell.text.empty()) return;  // the default
            const Setting<RunConfig>& setting = *setting_named(run_config_table(), flag);
            try {
              line.run.settings[flag] = plain_text(setting.read(cell.plain(), cell.line + ", column " + cell.column));
            } catch (const Error& error) { refuse(error.what()); }
          }};
}

// The column of that name; nothing for an unknown one.
std::optional<CsvColumn> column_named(const std::string& name) {
  const auto fixed = std::ranges::find(fixed_columns(), name, &CsvColumn::name);
  if (fixed != fixed_columns().end()) return *fixed;
  for (std::size_t i = 0; i < kSinkColumns.size(); ++i) {  // "sink_1_raw_eps0.2"
    const std::string start = kSinkColumns[i] + "_eps";
    if (!name.starts_with(start)) continue;
    const std::optional<double> epsilon = parse_number<double>(std::string_view(name).substr(start.size()));
    return epsilon >= 0.0 && epsilon < CsvCell::kMaxValue ? std::optional(sink_column(i, epsilon)) : std::nullopt;
  }
  if (is_optional(name)) {
    constexpr std::size_t kMaxLength = 48;
    const bool plain =
        std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
    if (plain && name.size() <= kMaxLength) return scalar_column(name);
    return std::nullopt;
  }
  const Setting<RunConfig>* setting = setting_named(run_config_table(), name);
  if (setting && is_saved(*setting)) return setting_column(setting->flag);
  return std::nullopt;
}

std::vector<CsvColumn> columns_of(const std::vector<std::string>& header, const std::string& line) {
  std::vector<CsvColumn> columns;
  std::set<std::string> seen;
  for (const std::string& name : header) {
    const std::optional<CsvColumn> column = column_named(name);
    if (!column)
      refuse(line + ": unknown column " + in_quotes(name) +
             "; expected those of a results.csv, or <study>-runs.csv, of this program or of an older one");
    if (!seen.insert(name).second) refuse(line + ": the column " + in_quotes(name) + " is there twice");
    columns.push_back(*column);
  }
  for (const std::string name : {"run", "task", "ablation", "finished", "measured_step", "steps", "step", "seed",
                                 name_of(&Evaluation::loss), kSinkColumns[0].c_str(), kSinkColumns[1].c_str()})
    if (!seen.contains(name))
      refuse(line + ": no column `" + name + "`; expected the header of a results.csv, or <study>-runs.csv");
  return columns;
}

// The columns by epsilon repeat those without one.
void set_sinks(ReadLine& line, const std::string& where) {
  Sinks& paper = line.sinks.try_emplace(kPaperEpsilon, kNoSinks).first->second;
  for (std::size_t i = 0; i < paper.size(); ++i) {
    if (std::isnan(paper[i])) paper[i] = line.at_paper[i];
    if (paper[i] != line.at_paper[i] && !(std::isnan(paper[i]) && std::isnan(line.at_paper[i])))
      refuse(where + ", column " + kSinkColumns[i] + ": expected the same number as in " + kSinkColumns[i] +
             "_eps0.3, got another");
  }
  Measurement& e = line.measured;
  e.sink_epsilon.clear();
  const bool star = e.extra == Evaluation::Extra::key || e.extra == Evaluation::Extra::token;
  for (const auto& [epsilon, sinks] : line.sinks) {
    if (std::isnan(sinks[0]) && std::isnan(sinks[1])) continue;
    e.sink_epsilon.push_back(epsilon);
    e.proxy.sink_1.push_back(sinks[0]);
    e.raw.sink_1.push_back(sinks[1]);
    if (star) e.proxy.sink_star.push_back(sinks[2]);
    if (star) e.raw.sink_star.push_back(sinks[3]);
  }
  if (!std::isnan(line.sink_2)) e.proxy.sink_k = {line.at_paper[0], line.sink_2};
  if (!std::isnan(line.sink_2) && !std::isnan(line.sink_3)) e.proxy.sink_k.push_back(line.sink_3);
}

// Missing settings have their default; without any settings they are unknown.
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
    refuse(where + ", column measured_step: expected the step of a finished run, " + std::to_string(run.step) +
           ", got " + (measured ? std::to_string(line.measured_step) : "nothing"));
  complete_settings(run);
  run.attention = attention_of(run);
  if (!measured) return std::move(run);
  if (!run.finished) run.unfinished_step = line.measured_step;
  set_sinks(line, where);
  run.evaluation = std::move(line.measured);
  return std::move(run);
}

}  // namespace

std::string results_csv(const std::vector<Run>& runs) {
  const std::vector<TaskRuns> tasks = group_by_task(runs);
  std::set<double> epsilons;
  std::set<std::string> settings, optional;
  for (const Run& run : runs) {
    for (const auto& [name, value] : run.settings) settings.insert(name);
    if (!run.evaluation) continue;
    epsilons.insert(run.evaluation->sink_epsilon.begin(), run.evaluation->sink_epsilon.end());
    for (const auto& [name, value] : run.evaluation->scalar)
      if (is_optional(name) && !std::isnan(value)) optional.insert(name);
    for (const std::string& name : scalar_names(true))
      if (!std::isnan(run.evaluation->get(name))) optional.insert(name);
  }
  for (const char* column : {"task", "ablation", "policies", "seed", "steps"}) settings.erase(column);
  std::vector<CsvColumn> columns;
  for (const CsvColumn& column : fixed_columns()) {
    columns.push_back(column);
    if (column.name == "label")
      columns.back().write = [&](const Run& run) {
        return csv_field(std::ranges::find(tasks, run.task, &TaskRuns::name)->label(run));
      };
    if (column.name == kLastBeforeOptional)
      for (const std::string& name : optional) columns.push_back(scalar_column(name));
    if (column.name == kLastBeforeEpsilons)
      for (const double epsilon : epsilons)
        for (std::size_t i = 0; i < kSinkColumns.size(); ++i) columns.push_back(sink_column(i, epsilon));
  }
  for (const std::string& setting : settings) columns.push_back(setting_column(setting));

  std::string csv;
  const auto add_line = [&](const auto& field) {
    for (const CsvColumn& column : columns) csv += (&column == columns.data() ? "" : ",") + field(column);
    csv += '\n';
  };
  if (!runs.empty()) add_line([](const CsvColumn& column) { return column.name; });
  for (const Run& run : runs) add_line([&](const CsvColumn& column) { return column.write(run); });
  return csv;
}

std::vector<Run> read_results_csv(const std::string& text, const std::string& file) {
  if (text.size() > kMaxBytes) refuse(file + ": expected at most " + std::to_string(kMaxBytes) + " bytes");
  std::vector<std::string> header;
  std::vector<CsvColumn> columns;
  std::vector<Run> runs;
  for_each_csv_line(text, file, [&](const std::vector<std::string>& fields, const std::string& where) {
    if (header.empty()) {
      columns = columns_of(header = fields, where);
      return;
    }
    if (fields.size() != header.size())
      refuse(where + ": expected " + std::to_string(header.size()) + " fields, as many as the header has, got " +
             std::to_string(fields.size()));
    ReadLine line;
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].read({fields[i], where, header[i]}, line);
    runs.push_back(finished_line(line, where));
  });
  if (header.empty()) refuse(file + ": expected a header and a line a run, got nothing");
  return runs;
}

}  // namespace sink::report
