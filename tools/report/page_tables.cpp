#include "tools/report/page_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tools/report/html_text.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

std::string cell(const std::string& text) { return "<td>" + text + "</td>"; }

std::string head(const std::string& text, const char* attributes = "") {
  return "<th scope=\"col\"" + std::string(attributes) + ">" + text + "</th>";
}

// A column of values. Columns without any value are left out.
struct Column {
  std::string over;  // a heading that neighbouring columns share
  std::string head;
  int decimals;
  std::function<double(const Measurement&)> value;
};

// The validation loss minus the lowest possible one, if it was measured on the sequences that training measured.
Column above_best_column(const std::vector<const Run*>& runs) {
  std::map<const Measurement*, double> floors;
  for (const Run* run : runs) {
    const auto floor = loss_floor(*run);
    const auto sequences = run->settings.find("eval-sequences");
    const bool same_count = sequences != run->settings.end() && sequences->second == std::to_string(run->sequences),
               same_length = run->context == 0 || run->context == whole_setting(*run, "context", run->context);
    if (floor && run->evaluation && (run->sequences == 0 || same_count) && same_length)
      floors[&*run->evaluation] = floor->validation;
  }
  return {"", "above best", 3, [floors](const Measurement& e) {
            const auto floor = floors.find(&e);
            return floor == floors.end() ? kNaN : e.loss - floor->second;
          }};
}

// alpha_1 as a multiple of that of even attention. A column for alpha_*, too, would be too wide for a laptop.
Column over_even_column(const std::string& over, const std::vector<const Run*>& runs) {
  std::map<const Measurement*, double> ratios;
  for (const Run* run : runs)
    if (run->evaluation) ratios[&*run->evaluation] = alpha_over_even(*run).alpha_1;
  return {over, "/ even", 2, [ratios](const Measurement& e) {
            const auto ratio = ratios.find(&e);
            return ratio == ratios.end() ? kNaN : ratio->second;
          }};
}

std::vector<Column> columns(const TaskRuns& task) {
  const bool proxy = task.has_proxy();
  const std::string same = proxy ? "" : ", raw = proxy";
  const std::string alpha = term("alpha_1", "&alpha;<sub>1</sub>") + same, star = "&alpha;<sub>*</sub>" + same,
                    sink = term("sink_1", "Sink<sub>1</sub>") + ", %" + same;
  std::vector<Column> all;
  const auto add = [&](const std::string& over, const char* head, auto value, int decimals = 3) {
    all.push_back({over, head, decimals, value});
  };
  add("", "val. loss", &Measurement::loss);
  all.push_back(above_best_column(task.runs));
  if (task.has_other_input()) add("", "loss on its input", [](const Measurement& e) { return e.get(kInputLoss); });
  const auto kinds = proxy ? std::vector<std::string>{"proxy", "raw"} : std::vector<std::string>{""};
  for (const std::string& kind : kinds)
    for (const double epsilon : task.epsilons())
      all.push_back({sink + (proxy ? ", " + kind : ""), "&epsilon;&nbsp;" + number(epsilon, 1), 1,
                     [=](const Measurement& e) { return e.sink_at(epsilon, kind == "raw"); }});
  for (const std::string& kind : kinds)
    all.push_back({term("star", "Sink<sub>*</sub>") + ", %" + same, proxy ? kind : "&epsilon;&nbsp;0.3", 1,
                   [=](const Measurement& e) { return e.sink_star_at(0.3, kind == "raw"); }});
  add(alpha, proxy ? "proxy" : "mean", [](const Measurement& e) { return e.proxy.alpha_1; });
  if (proxy) add(alpha, "raw", [](const Measurement& e) { return e.raw.alpha_1; });
  all.push_back(over_even_column(alpha, task.runs));
  add(alpha, proxy ? "max, proxy" : "max", &Measurement::alpha_1_max);
  add(star, proxy ? "proxy" : "mean", [](const Measurement& e) { return e.proxy.alpha_star; });
  if (proxy) add(star, "raw", [](const Measurement& e) { return e.raw.alpha_star; });
  all.push_back({"", term("row_sum", "row sum"), 2, &Measurement::whole_row_sum});
  add("", "weight on *", &Measurement::extra_key_weight, 2);
  add("", "v<sub>1</sub> ratio", &Measurement::first_value_norm_ratio, 2);
  const bool trained = std::ranges::any_of(task.runs, &Run::trained_here);
  std::erase_if(all, [&](const Column& column) {
    return !(trained && column.head == "val. loss") && std::ranges::none_of(task.runs, [&](const Run* run) {
      return run->evaluation && std::isfinite(column.value(*run->evaluation));
    });
  });
  return all;
}

std::string progress(const Run& run) {
  const std::string steps = grouped(run.step);
  return run.step == run.steps || run.steps == 0 ? steps : steps + " of " + grouped(run.steps);
}

void add_entry(std::string& list, const char* name, const std::string& value) {
  if (!value.empty()) list += std::string("<div><dt>") + name + "</dt><dd>" + escape(value) + "</dd></div>";
}

// A column of text, or an entry of the note if all runs have the same.
struct Word {
  const char* head;
  std::function<std::string(const Run&)> value;
};

std::vector<Word> words_of(const TaskRuns& task, bool common) {
  std::vector<Word> all{{"seed", [](const Run& run) { return run.trained_here() ? std::to_string(run.seed) : ""; }},
                        {"steps", [](const Run& run) { return progress(run); }},
                        {"tokens", [](const Run& run) { return grouped(run.tokens); }}};
  std::erase_if(all, [&](const Word& word) {
    const bool same = std::ranges::all_of(
        task.runs, [&](const Run* run) { return word.value(*run) == word.value(*task.runs.front()); });
    return same != common;
  });
  return all;
}

std::string run_name(const TaskRuns& task, const Run& run, const LineStyle& style) {
  std::string out = "<th scope=\"row\" class=\"name\">" + swatch(style) + escape(run.name);
  if (!run.status().empty()) out += " <span class=\"badge\">" + escape(run.status()) + "</span>";
  const std::string label = task.label(run);
  std::string what = run.ablation == run.name ? "" : run.ablation;
  if (label != run.name && label != run.ablation) what += (what.empty() ? "" : ": ") + label;
  return out + (what.empty() ? "" : "<small>" + escape(what) + "</small>") + "</th>";
}

// Two rows: headings that several columns share, then one per column.
std::string heading(const std::vector<Word>& words, const std::vector<Column>& values) {
  std::string over = "<tr><th></th>", own = "<tr>" + head("run", " class=\"name\"");
  for (const Word& word : words) over += "<th></th>", own += head(word.head);
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    while (!values[i].over.empty() && end < values.size() && values[end].over == values[i].over) ++end;
    over += values[i].over.empty()
                ? "<th></th>"
                : head(values[i].over, (" colspan=\"" + std::to_string(end - i) + "\" class=\"over\"").c_str());
    for (; i < end; ++i) own += head(values[i].head);
  }
  return over + "</tr>" + own + "</tr>";
}

}  // namespace

std::string common_settings(const TaskRuns& task) {
  std::string out;
  for (const Word& word : words_of(task, true)) {
    const std::string value = word.value(*task.runs.front());
    if (value.empty() || (value == "0" && std::string(word.head) != "seed")) continue;  // not known
    const bool named_first = std::string(word.head) == "seed";
    out += (out.empty() ? "" : ", ") + (named_first ? "seed " + value : value + " " + word.head);
  }
  return out.empty() || task.runs.size() == 1 ? out : "every run: " + out;
}

std::string final_table(const TaskRuns& task, const std::vector<Run>& runs, const std::vector<LineStyle>& styles) {
  const std::vector<Word> words = words_of(task, false);
  const std::vector<Column> values = columns(task);
  std::string rows;
  // The means over `of`.
  const auto add_values = [&](const std::vector<const Run*>& of) {
    for (const Column& column : values) {
      double sum = 0;
      for (const Run* run : of) sum += run->evaluation ? column.value(*run->evaluation) : kNaN;
      rows += cell(number(sum / static_cast<double>(of.size()), column.decimals));
    }
    rows += "</tr>";
  };
  for (const Group& group : task.groups) {
    std::string members;
    for (const Run* run : group.runs) {
      const auto index = static_cast<std::size_t>(run - runs.data());
      members += (members.empty() ? "" : " ") + std::to_string(index);
      rows += "<tr data-run=\"" + std::to_string(index) + "\">" + run_name(task, *run, styles[index]);
      for (const Word& word : words) rows += cell(word.value(*run));
      add_values({run});
    }
    const std::vector<const Run*> seeds = group.finished();
    if (seeds.size() < 2) continue;
    rows += "<tr class=\"mean\" data-runs=\"" + members + "\"><th scope=\"row\" class=\"name\">mean of " +
            std::to_string(seeds.size()) + " seeds<small>" + escape(group.label) + "</small></th>";
    for (std::size_t i = 0; i < words.size(); ++i) rows += cell("");
    add_values(seeds);
  }
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Final values of every run\"><table "
         "class=\"final\"><thead>" +
         heading(words, values) + "</thead><tbody>" + rows + "</tbody></table></div>";
}

std::string inputs_table(const std::vector<const Run*>& runs) {
  // A file may hold several models, and two files models of the same name.
  using Model = std::pair<std::string, std::string>;  // name, file
  const auto model_of = [](const Run& run) { return Model{run.edited_model(), run.folder}; };
  const auto add_once = [](auto& all, const auto& one) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  };
  std::vector<Model> models;
  std::vector<std::string> inputs;
  for (const Run* run : runs) {
    if (run->input.empty() || !run->evaluation) continue;
    add_once(models, model_of(*run));
    add_once(inputs, run->input);
  }
  if (models.empty()) return "";
  std::ranges::stable_sort(inputs, {}, [](const std::string& input) {  // domains of natural tokens come last
    const char* first[] = {"natural", "random", "repeated", "begin+random", "begin+repeated"};
    return std::ranges::find(first, input) - std::begin(first);
  });
  std::string heads, rows;
  for (const std::string& input : inputs) heads += head(escape(input));
  for (const Model& model : models) {
    const bool unique = std::ranges::count(models, model.first, &Model::first) == 1;
    rows += "<tr><th scope=\"row\">" + escape(unique ? model.first : model.first + " (" + model.second + ")") + "</th>";
    for (const std::string& input : inputs) {
      const auto run = std::ranges::find_if(
          runs, [&](const Run* one) { return model_of(*one) == model && one->input == input && one->evaluation; });
      const bool known = run != runs.end();
      rows += cell(number(known ? (*run)->evaluation->sink_at(0.3, false) : kNaN, 1) +
                   (known ? "<small> " + number((*run)->evaluation->proxy.alpha_1, 3) + "</small>" : ""));
    }
    rows += "</tr>";
  }
  return fill(page_file("inputs.html"), {{"heads", heads}, {"rows", rows}});
}

std::string term(const char* name, const std::string& text) {
  return std::string("<abbr tabindex=\"0\" data-term=\"") + name + "\">" + text + "</abbr>";
}

std::string swatch(const LineStyle& style) {
  return "<svg class=\"swatch c" + std::to_string(style.colour) + " d" + std::to_string(style.dash) +
         "\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path d=\"M1 5h26\"/><use class=\"marker\" href=\"#m" +
         std::to_string(style.colour) + "\"/></svg>";
}

std::string configurations(const std::vector<Run>& runs, const std::vector<LineStyle>& styles) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    std::string list;
    add_entry(list, "task", run.task);
    add_entry(list, "ablation", run.ablation);
    add_entry(list, "policies", run.policies);
    add_entry(list, "seed", std::to_string(run.seed));
    if (run.parameters > 0) add_entry(list, "parameters", grouped(run.parameters));
    if (run.tokens > 0) add_entry(list, "training tokens", grouped(run.tokens));
    if (run.sequences > 0)
      add_entry(list, "evaluated on", grouped(run.sequences) + " sequences of " + grouped(run.context) + " tokens");
    add_entry(list, "precision", run.precision);
    add_entry(list, "commit", run.commit);
    add_entry(list, "date", run.date);
    add_entry(list, "folder", run.folder);
    out += "<details class=\"config\" data-run=\"" + std::to_string(i) + "\"><summary>" + swatch(styles[i]) + "<b>" +
           escape(run.name) + "</b> <span>" + escape(run.task) +
           (run.status().empty() ? "" : ", " + escape(run.status())) + "</span></summary><dl>" + list + "</dl>" +
           (run.config_toml.empty() ? "<p>No config.toml came with this run.</p>"
                                    : "<pre tabindex=\"0\">" + escape(run.config_toml) + "</pre>") +
           "</details>";
  }
  return out;
}

}  // namespace sink::report
