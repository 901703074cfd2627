#include "tools/report/page_inputs.h"

#include <algorithm>

#include "tools/report/html_text.h"
#include "tools/report/page_frames.h"

namespace sink::report {
namespace {

// A model as one file of measurements has it: two files may name different models alike.
struct MeasuredModel {
  std::string name, file;
  bool operator==(const MeasuredModel&) const = default;
};

MeasuredModel model_of(const Run& run) { return {run.model, run.folder}; }

template <class T>
void add_once(std::vector<T>& all, const T& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

const Run* measured(const std::vector<const Run*>& runs, const MeasuredModel& model, const std::string& input) {
  for (const Run* run : runs)
    if (model_of(*run) == model && run->input == input) return run;
  return nullptr;
}

}  // namespace

std::string inputs_part(const std::vector<const Run*>& runs) {
  std::vector<MeasuredModel> models;
  std::vector<std::string> inputs;
  for (const Run* run : runs) {
    if (run->input.empty() || !run->evaluation) continue;
    add_once(models, model_of(*run));
    add_once(inputs, run->input);
  }
  if (models.empty()) return "";
  // Before the domains of natural tokens, in the study's order.
  auto place = [](const std::string& input) {
    const char* first[] = {"natural", "random", "repeated", "begin+random", "begin+repeated"};
    return std::ranges::find(first, input) - std::begin(first);
  };
  std::ranges::stable_sort(inputs, {}, place);
  std::string heads, rows;
  for (const std::string& input : inputs) heads += "<th scope=\"col\">" + escape(input) + "</th>";
  for (const MeasuredModel& model : models) {
    const bool alone = std::ranges::count(models, model.name, &MeasuredModel::name) == 1;
    rows += "<tr><th scope=\"row\">" + escape(alone ? model.name : model.name + " (" + model.file + ")") + "</th>";
    for (const std::string& input : inputs) {
      const Run* run = measured(runs, model, input);
      const Evaluation* numbers = run ? &*run->evaluation : nullptr;
      rows += "<td>" + number(numbers ? numbers->sink_at(0.3, false) : kNaN, 1) +
              (numbers ? "<small> " + number(numbers->get("alpha_1"), 3) + "</small>" : "") + "</td>";
    }
    rows += "</tr>";
  }
  return bar("Natural, random and repeated tokens",
             "Sink<sub>1</sub> at &epsilon;&nbsp;0.3 in percent of heads and &alpha;<sub>1</sub> (small), both by "
             "proxy "
             "weights, of each model on each kind of input; random: each token drawn evenly from the vocabulary; "
             "repeated: one token throughout; begin+: behind the model\u2019s begin token.",
             "") +
         "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sinks by kind of input\"><table "
         "class=\"final\"><thead><tr><th scope=\"col\">model</th>" +
         heads + "</tr></thead><tbody>" + rows + "</tbody></table></div>";
}

}  // namespace sink::report
