// ablations: lists every ablation with its policies and the paper's results, or describes one of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "engine/check.h"
#include "engine/io/command_line.h"
#include "engine/io/csv.h"
#include "engine/io/program.h"
#include "engine/io/text_table.h"
#include "model/all_ablations.h"
#include "model/size_settings.h"
#include "tools/study/study.h"

namespace sink {
namespace {

void print_csv(const std::vector<Cells>& rows) {
  for (const Cells& row : rows)
    for (const std::string& cell : row) std::printf("%s%s", csv_field(cell).c_str(), &cell == &row.back() ? "\n" : ",");
}

// The policies in which an ablation differs from the default; for the default all of them.
std::string what_differs(const Ablation& ablation) {
  auto words = [](const std::string& text) {
    std::istringstream stream(text);
    return std::vector<std::string>{std::istream_iterator<std::string>(stream), {}};
  };
  const Ablation baseline = ablation_named("baseline");
  std::vector<std::string> defaults = words(baseline.policies);
  std::string text;
  for (const std::string& word : words(ablation.policies))
    if (&ablation == &baseline || std::find(defaults.begin(), defaults.end(), word) == defaults.end())
      text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<Cells> ablation_table(bool in_full) {
  std::vector<Cells> rows{{"ablation", "policies", "study", "Sink_1 %", "Sink_* %", "valid", "meaning"}};
  for (const Ablation& ablation : all_ablations()) {
    const PaperRow& row = paper_row_of(ablation.name);
    rows.push_back({ablation.name, in_full ? ablation.policies : what_differs(ablation), row.id, row.sink_1,
                    row.sink_star, row.valid, row.meaning});
  }
  return rows;
}

std::vector<Cells> study_table() {
  std::vector<Cells> rows{{"id", "Sink_1 %", "Sink_* %", "valid", "input", "meaning", "note", "study", "command"}};
  for (const PaperRow& row : paper_rows())
    rows.push_back({row.id, row.sink_1, row.sink_star, row.valid, describe(input_kind_of(row)), row.meaning, row.note,
                    study_file_of(row), paper_command(row)});
  return rows;
}

// For terminals: the settings of a size are printed once, not in every line.
void print_study() {
  std::vector<Cells> rows{
      {"id", "Sink_1 %", "Sink_* %", "valid", "input", "study", "program and settings", "meaning (note)"}};
  for (const PaperRow& row : paper_rows()) {
    std::string settings = (row.preset == "60m" ? "" : "<" + row.preset + "> ") + row.settings;
    rows.push_back({row.id, row.sink_1, row.sink_star, row.valid, describe(input_kind_of(row)),
                    std::filesystem::path(study_file_of(row)).stem(), "train_" + row.ablation + " " + settings,
                    row.meaning + (row.note.empty() ? "" : " (" + row.note + ")")});
  }
  std::fputs(aligned(rows).c_str(), stdout);
  std::printf(
      "\nThe paper's values. *: proxy weights, otherwise raw = proxy; n.r.: not reported, or only in a figure. Compare "
      "a\n"
      "run only with a row of the same input: a fixed token causes a sink by itself. Add --data, --run and the "
      "settings\n"
      "below (--study --csv has complete commands). Column `study` is the file of train/studies with this question;\n"
      "`sweep <study> --size gpu` runs it.\n");
  for (const PaperPreset& preset : paper_presets())
    std::printf("  %s  %s\n        %s\n", preset.name.c_str(), preset.flags.c_str(), preset.meaning.c_str());
}

void print_one(const Ablation& ablation, const Sizes& sizes) {
  const PaperRow& own = paper_row_of(ablation.name);
  std::printf("%s: %s\n\n", ablation.name.c_str(), own.meaning.c_str());
  std::istringstream policies(ablation.policies);
  for (std::string policy; policies >> policy;) std::printf("  %s\n", policy.c_str());

  std::printf("\nIn the paper:%s\n", own.id.empty() ? " no" : "");
  std::vector<Cells> rows{{"  id", "Sink_1 %", "Sink_* %", "valid", "input", "settings", "meaning"}};
  for (const PaperRow& row : paper_rows())
    if (row.ablation == ablation.name)
      rows.push_back({"  " + row.id, row.sink_1, row.sink_star, row.valid, describe(input_kind_of(row)), row.settings,
                      row.meaning});
  if (rows.size() > 1) std::fputs(aligned(rows).c_str(), stdout);

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
  std::fputs(aligned(parameters).c_str(), stdout);
}

int run(int argc, char** argv) {
  CLI::App app("Lists the ablations with their policies and the paper's results.", "ablations");
  std::string name;
  bool study = false, csv = false;
  Sizes sizes{.layers = 1, .heads = 4, .width = 256, .feed_forward = 512, .context = 64, .vocabulary = 4096};
  app.add_option("ablation", name, "describe this one; with its parameters at these sizes");
  app.add_flag("--study", study, "list the paper's experiments with their commands");
  app.add_flag("--csv", csv, "print CSV, with all columns");
  std::map<std::string, std::string> given;
  for (const Setting<Sizes>& size : size_settings()) {
    std::string& text = given[size.flag] = plain_text(size.value(sizes));
    app.add_option(size.options(), text, size.help)->option_text(size.kind() + " [" + text + "]")->group("Sizes");
  }
  app.footer("Examples:\n  ablations\n  ablations bias_k --heads 2\n  ablations --study --csv > study.csv");
  if (!parse_command_line(app, argc, argv)) return 0;

  for (const Setting<Sizes>& size : size_settings()) size.set(sizes, given.at(size.flag), size.option());
  if (const std::string error = validate(sizes, option_of_size); !error.empty()) throw Error(error, Exit::usage);
  if (std::string note = note_of_unbuilt_ablations(); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  if (!name.empty()) {
    SINK_CHECK(!study && !csv, "ablations", "give an ablation, or --study or --csv, not both", Exit::usage);
    print_one(ablation_named(name), sizes);
  } else if (csv) {
    print_csv(study ? study_table() : ablation_table(true));
  } else if (study) {
    print_study();
  } else {
    std::fputs(aligned(ablation_table(false)).c_str(), stdout);
    std::printf(
        "\n%zu ablations. Values are the paper's on natural text; *: proxy weights, otherwise raw = proxy. With a "
        "fixed\n"
        "token the paper has only baseline (data-fix1 to 3). `ablations NAME` describes one, `ablations --study` "
        "prints\n"
        "all experiments.\n",
        all_ablations().size());
  }
  return 0;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("ablations", [&] { return sink::run(argc, argv); });
}
