// ablations: lists every ablation with its policies and what the study found with it, or all about one of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "engine/check.h"
#include "engine/io/program.h"
#include "model/all_ablations.h"
#include "model/size_settings.h"
#include "tools/study/matching_row.h"

namespace sink {
namespace {

using Cells = std::vector<std::string>;

// Columns as wide as their widest cell; the last one runs free.
void print_aligned(const std::vector<Cells>& rows) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const Cells& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) line += std::string(width[c] - row[c].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

void print_csv(const std::vector<Cells>& rows) {
  for (const Cells& row : rows) {
    std::string line;
    for (const std::string& cell : row) {
      std::string quoted = "\"";
      for (char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
      bool plain = cell.find_first_of(",\"\n") == std::string::npos;
      line += (&cell == &row.front() ? "" : ",") + (plain ? cell : quoted + "\"");
    }
    std::printf("%s\n", line.c_str());
  }
}

// The policies of an ablation that are not the default's; those of the default itself in full.
std::string what_differs(const Ablation& ablation) {
  auto words = [](const std::string& text) {
    std::istringstream stream(text);
    return std::vector<std::string>{std::istream_iterator<std::string>(stream), {}};
  };
  const Ablation baseline = ablation_named("baseline");
  std::vector<std::string> usual = words(baseline.policies);
  std::string text;
  for (const std::string& word : words(ablation.policies))
    if (&ablation == &baseline || std::find(usual.begin(), usual.end(), word) == usual.end())
      text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<Cells> ablation_table(bool in_full) {
  std::vector<Cells> rows{{"ablation", "policies", "study", "Sink_1 %", "Sink_* %", "valid", "meaning"}};
  for (const Ablation& ablation : all_ablations()) {
    const StudyRow& row = study_row_of(ablation.name);
    rows.push_back({ablation.name, in_full ? ablation.policies : what_differs(ablation), row.id, row.sink_1,
                    row.sink_star, row.valid, row.meaning});
  }
  return rows;
}

std::vector<Cells> study_table() {
  std::vector<Cells> rows{{"id", "Sink_1 %", "Sink_* %", "valid", "input", "meaning", "note", "study", "command"}};
  for (const StudyRow& row : study_rows())
    rows.push_back({row.id, row.sink_1, row.sink_star, row.valid, description_of(reading_of(row)), row.meaning,
                    row.note, study_file_of(row), study_command(row)});
  return rows;
}

// For eyes the settings of a size are given once, not in every line.
void print_study() {
  std::vector<Cells> rows{
      {"id", "Sink_1 %", "Sink_* %", "valid", "input", "study", "program and settings", "meaning (note)"}};
  for (const StudyRow& row : study_rows()) {
    std::string settings = (row.preset == "60m" ? "" : "<" + row.preset + "> ") + row.settings;
    rows.push_back({row.id, row.sink_1, row.sink_star, row.valid, description_of(reading_of(row)),
                    std::filesystem::path(study_file_of(row)).stem(), "train_" + row.ablation + " " + settings,
                    row.meaning + (row.note.empty() ? "" : " (" + row.note + ")")});
  }
  print_aligned(rows);
  std::printf(
      "\nThe paper's values; *: proxy weights, else raw = proxy; n.r.: not reported, or in a figure only. Set a "
      "run\n"
      "next to a row of the same input alone: a fixed token has a sink of its own. Give --data and --run, and before "
      "the settings\n"
      "above (--study --csv has each command whole). Column `study`: the file of train/studies that asks the "
      "question;\n"
      "`sweep train/studies/<study>.toml --size gpu` runs it.\n");
  for (const StudyPreset& preset : study_presets())
    std::printf("  %s  %s\n        %s\n", preset.name.c_str(), preset.flags.c_str(), preset.meaning.c_str());
}

void print_one(const Ablation& ablation, const Sizes& sizes) {
  const StudyRow& own = study_row_of(ablation.name);
  std::printf("%s: %s\n\n", ablation.name.c_str(), own.meaning.c_str());
  std::istringstream policies(ablation.policies);
  for (std::string policy; policies >> policy;) std::printf("  %s\n", policy.c_str());

  std::printf("\nIn the study:%s\n", own.id.empty() ? " no" : "");
  std::vector<Cells> rows{{"  id", "Sink_1 %", "Sink_* %", "valid", "input", "settings", "meaning"}};
  for (const StudyRow& row : study_rows())
    if (row.ablation == ablation.name)
      rows.push_back({"  " + row.id, row.sink_1, row.sink_star, row.valid, description_of(reading_of(row)),
                      row.settings, row.meaning});
  if (rows.size() > 1) print_aligned(rows);

  auto model = ablation.make_model(sizes, InitScheme::torch, 0, DType::F32);
  std::printf(
      "\nParameters with %lld layers, %lld heads, width %lld, feed-forward %lld, context %lld, vocabulary %lld:\n",
      static_cast<long long>(sizes.layers), static_cast<long long>(sizes.heads), static_cast<long long>(sizes.width),
      static_cast<long long>(sizes.feed_forward), static_cast<long long>(sizes.context),
      static_cast<long long>(sizes.vocabulary));
  std::vector<Cells> parameters;
  for (const auto& parameter : model->parameters()) {
    parameters.push_back({"  " + parameter->name(), parameter->info().shape.str()});
  }
  parameters.push_back({"  in all", std::to_string(model->parameters().count())});
  print_aligned(parameters);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Lists every ablation: the policies in which it differs from baseline, and what the study found with it.");
  std::string name;
  bool study = false, csv = false;
  Sizes sizes{.layers = 1, .heads = 4, .width = 256, .feed_forward = 512, .context = 64, .vocabulary = 4096};
  app.add_option("ablation", name, "print all about this one, with the parameters it has at the sizes below");
  app.add_flag("--study", study,
               "the whole matrix of the study instead: every experiment and the command that makes it");
  app.add_flag("--csv", csv, "commas instead of columns, nothing left out");
  std::map<std::string, std::string> given;
  for (const Setting<Sizes>& size : size_settings()) {
    std::string& text = given[size.flag] = plain_text(size.value(sizes));
    app.add_option("--" + size.flag, text, size.help)->option_text(size.kind() + " [" + text + "]")->group("Sizes");
  }
  app.footer("Examples:\n  ablations\n  ablations bias_k --heads 2\n  ablations --study --csv > study.csv");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; see --help", Exit::usage);
  }

  if (std::string note = note_of_unbuilt_ablations(); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  if (!name.empty()) {
    SINK_CHECK(!study && !csv, "ablations", "give an ablation, or --study or --csv, not both", Exit::usage);
    for (const Setting<Sizes>& size : size_settings()) size.set(sizes, given.at(size.flag), "--" + size.flag);
    std::string error = validate(sizes, [](const std::string& flag) { return "--" + flag; });
    if (!error.empty()) throw Error(error, Exit::usage);
    print_one(ablation_named(name), sizes);
  } else if (csv) {
    print_csv(study ? study_table() : ablation_table(true));
  } else if (study) {
    print_study();
  } else {
    print_aligned(ablation_table(false));
    std::printf(
        "\n%zu ablations; values are the paper's on natural text, *: proxy weights, else raw = proxy. With a fixed "
        "token the\n"
        "paper has baseline alone (data-fix1 to 3). `ablations NAME` says more of one, `ablations --study` has the "
        "whole\n"
        "matrix.\n",
        all_ablations().size());
  }
  return 0;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("ablations", [&] { return sink::run(argc, argv); });
}
