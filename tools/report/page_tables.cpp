// Builds the final table of a group and the configuration of each run.
#include "tools/report/page_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tools/report/html_text.h"
#include "tools/report/loss_floor.h"

namespace sink::report {
namespace {

// The markers that charts.js gives the colours.
constexpr const char* kMarkers[kColours] = {"M10.5 5a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                            "M14 1l4 7h-8z",
                                            "M11 2h6v6h-6z",
                                            "M14 1l4 4l-4 4l-4 -4z",
                                            "M14 1v8M10 5h8M11.2 2.2l5.6 5.6M11.2 7.8l5.6 -5.6",
                                            "M11.2 2.2l5.6 5.6M11.2 7.8l5.6 -5.6",
                                            "M12 2h4q1 0 1 1v4q0 1 -1 1h-4q-1 0 -1 -1v-4q0 -1 1 -1z",
                                            "M14 1v8M10 5h8"};

std::string cell(const std::string& text) { return "<td>" + text + "</td>"; }

std::string head(const std::string& text, const char* attributes = "") {
  return "<th scope=\"col\"" + std::string(attributes) + ">" + text + "</th>";
}

double above_best(const Run& run) {
  const auto floor = loss_floor(run);
  const auto sequences = run.settings.find("eval-sequences");
  // Known only on the very sequences of training's own measurements.
  if (!floor || !run.evaluation ||
      (run.sequences > 0 && (sequences == run.settings.end() || sequences->second != std::to_string(run.sequences))))
    return kNaN;
  return run.evaluation->get("val_loss") - floor->validation;
}

// A measured column; columns that no run of the group has are left out.
struct Column {
  std::string over;  // a heading over several columns that share it
  std::string head;
  int decimals;
  std::function<double(const Run&, const Evaluation&)> value;
};

Column scalar(const std::string& over, const std::string& head, const char* name, int decimals = 3) {
  return {over, head, decimals, [name](const Run&, const Evaluation& e) { return e.get(name); }};
}

std::vector<Column> columns(const Group& group) {
  const bool proxy = group.has_proxy();
  std::vector<Column> all{scalar("", "val. loss", "val_loss")};
  if (std::any_of(group.runs.begin(), group.runs.end(), [](const Run* run) { return std::isfinite(above_best(*run)); }))
    all.push_back({"", "above best", 3, [](const Run& run, const Evaluation&) { return above_best(run); }});
  if (std::any_of(group.runs.begin(), group.runs.end(),
                  [](const Run* run) { return run->evaluation && run->evaluation->input != "text"; }))
    all.push_back(scalar("", "loss on its input", "input_loss"));
  const auto kinds = proxy ? std::vector<bool>{false, true} : std::vector<bool>{false};
  for (const bool raw : kinds)
    for (const double epsilon : group.epsilons())
      all.push_back({std::string("Sink<sub>1</sub>, %") + (!proxy ? ", raw = proxy"
                                                           : raw  ? ", raw"
                                                                  : ", proxy"),
                     "&epsilon;&nbsp;" + number(epsilon, 1), 1,
                     [=](const Run&, const Evaluation& e) { return e.sink_at(epsilon, raw); }});
  for (const bool raw : kinds)
    all.push_back({std::string("Sink<sub>*</sub>, %") + (proxy ? "" : ", raw = proxy"),
                   !proxy ? "&epsilon;&nbsp;0.3"
                   : raw  ? "raw"
                          : "proxy",
                   1, [=](const Run&, const Evaluation& e) { return e.sink_star_at(0.3, raw); }});
  const std::string same = proxy ? "" : ", raw = proxy";
  const std::string alpha = "&alpha;<sub>1</sub>" + same, star = "&alpha;<sub>*</sub>" + same;
  all.push_back(scalar(alpha, proxy ? "proxy" : "mean", "alpha_1"));
  if (proxy) all.push_back(scalar(alpha, "raw", "alpha_1_raw"));
  all.push_back(scalar(alpha, proxy ? "max, proxy" : "max", "alpha_1_max"));
  all.push_back(scalar(star, proxy ? "proxy" : "mean", "alpha_star"));
  if (proxy) all.push_back(scalar(star, "raw", "alpha_star_raw"));
  all.push_back({"", "row mass", 2, [](const Run&, const Evaluation& e) { return e.total_mass(); }});
  all.push_back({"", "mass on *", 2, [](const Run&, const Evaluation& e) { return e.get("extra_key_mass"); }});
  all.push_back(scalar("", "v<sub>1</sub> ratio", "first_value_norm_ratio", 2));
  std::erase_if(all, [&](const Column& column) {
    return column.head != "val. loss" && std::none_of(group.runs.begin(), group.runs.end(), [&](const Run* run) {
             return run->evaluation && std::isfinite(column.value(*run, *run->evaluation));
           });
  });
  return all;
}

double mean(const Column& column, const std::vector<const Run*>& runs) {
  double sum = 0;
  for (const Run* run : runs) sum += run->evaluation ? column.value(*run, *run->evaluation) : kNaN;
  return sum / static_cast<double>(runs.size());
}

std::string progress(const Run& run) {
  const std::string steps = grouped(run.step);
  return run.step == run.steps || run.steps == 0 ? steps : steps + " of " + grouped(run.steps);
}

void term(std::string& list, const char* name, const std::string& value) {
  if (!value.empty()) list += std::string("<div><dt>") + name + "</dt><dd>" + escape(value) + "</dd></div>";
}

// What every run of the group has in common is said once, in the note; the rest are columns of words.
struct Word {
  const char* head;
  std::function<std::string(const Run&)> value;
};

std::vector<Word> words_of(const Group& group, bool common) {
  std::vector<Word> all{{"seed", [](const Run& run) { return std::to_string(run.seed); }},
                        {"steps", [](const Run& run) { return progress(run); }},
                        {"tokens", [](const Run& run) { return grouped(run.tokens); }}};
  std::erase_if(all, [&](const Word& word) {
    const bool same = std::all_of(group.runs.begin(), group.runs.end(),
                                  [&](const Run* run) { return word.value(*run) == word.value(*group.runs.front()); });
    return same != common;
  });
  return all;
}

std::string run_name(const Group& group, const Run& run, const LineStyle& style) {
  std::string out = "<th scope=\"row\" class=\"name\">" + swatch(style) + escape(run.name);
  if (!run.mark().empty()) out += " <span class=\"badge\">" + escape(run.mark()) + "</span>";
  const std::string label = group.label(run);
  std::string what = run.ablation == run.name ? "" : run.ablation;
  if (label != run.name && label != run.ablation) what += (what.empty() ? "" : ": ") + label;
  return out + (what.empty() ? "" : "<small>" + escape(what) + "</small>") + "</th>";
}

// Headings over columns, then the columns' own.
std::string heading(const std::vector<Word>& words, const std::vector<Column>& numbers) {
  std::string over = "<tr><th></th>", own = "<tr>" + head("run", " class=\"name\"");
  for (const Word& word : words) over += "<th></th>", own += head(word.head);
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (!numbers[i].over.empty() && end < numbers.size() && numbers[end].over == numbers[i].over) ++end;
    over += numbers[i].over.empty()
                ? "<th></th>"
                : head(numbers[i].over, (" colspan=\"" + std::to_string(end - i) + "\" class=\"over\"").c_str());
    for (; i < end; ++i) own += head(numbers[i].head);
  }
  return over + "</tr>" + own + "</tr>";
}

}  // namespace

std::string common_settings(const Group& group) {
  std::string out;
  for (const Word& word : words_of(group, true)) {
    const std::string value = word.value(*group.runs.front());
    if (value == "0" && std::string(word.head) != "seed") continue;  // not known
    const bool named_first = std::string(word.head) == "seed";
    out += (out.empty() ? "" : ", ") + (named_first ? "seed " + value : value + " " + word.head);
  }
  return out.empty() || group.runs.size() == 1 ? out : "every run: " + out;
}

std::string final_table(const Group& group, const std::vector<Run>& runs, const std::vector<LineStyle>& styles) {
  const std::vector<Word> words = words_of(group, false);
  const std::vector<Column> numbers = columns(group);
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Final numbers of every run\"><table "
      "class=\"final\"><thead>" +
      heading(words, numbers) + "</thead><tbody>";
  for (const Arm& arm : group.arms) {
    for (const Run* run : arm.runs) {
      out += "<tr data-run=\"" + std::to_string(run - runs.data()) + "\">" +
             run_name(group, *run, styles[static_cast<std::size_t>(run - runs.data())]);
      for (const Word& word : words) out += cell(word.value(*run));
      for (const Column& column : numbers)
        out += cell(number(run->evaluation ? column.value(*run, *run->evaluation) : kNaN, column.decimals));
      out += "</tr>";
    }
    if (arm.finished().size() > 1) {
      std::string members;
      for (const Run* run : arm.runs) members += (members.empty() ? "" : " ") + std::to_string(run - runs.data());
      out += "<tr class=\"mean\" data-runs=\"" + members + "\"><th scope=\"row\" class=\"name\">mean of " +
             std::to_string(arm.finished().size()) + " seeds<small>" + escape(arm.label) + "</small></th>";
      for (std::size_t i = 0; i < words.size(); ++i) out += "<td></td>";
      for (const Column& column : numbers) out += cell(number(mean(column, arm.finished()), column.decimals));
      out += "</tr>";
    }
  }
  return out + "</tbody></table></div>";
}

std::string swatch(const LineStyle& style) {
  return "<svg class=\"swatch c" + std::to_string(style.colour) + " d" + std::to_string(style.dash) +
         "\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path d=\"M1 5h26\"/><path class=\"marker\" d=\"" +
         kMarkers[style.colour] + "\"/></svg>";
}

std::string configurations(const std::vector<Run>& runs, const std::vector<LineStyle>& styles) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    std::string list;
    term(list, "task", run.task);
    term(list, "ablation", run.ablation);
    term(list, "policies", run.policies);
    term(list, "seed", std::to_string(run.seed));
    if (run.parameters > 0) term(list, "parameters", grouped(run.parameters));
    if (run.tokens > 0) term(list, "training tokens", grouped(run.tokens));
    if (run.sequences > 0)
      term(list, "evaluated on", grouped(run.sequences) + " sequences of " + grouped(run.context) + " tokens");
    term(list, "precision", run.precision);
    term(list, "commit", run.commit);
    term(list, "date", run.date);
    term(list, "folder", run.folder);
    out += "<details class=\"config\" data-run=\"" + std::to_string(i) + "\"><summary>" + swatch(styles[i]) + "<b>" +
           escape(run.name) + "</b> <span>" + escape(run.task) + (run.mark().empty() ? "" : ", " + escape(run.mark())) +
           "</span></summary><dl>" + list + "</dl>" +
           (run.config_toml.empty() ? "<p>No config.toml came with this run.</p>"
                                    : "<pre tabindex=\"0\">" + escape(run.config_toml) + "</pre>") +
           "</details>";
  }
  return out;
}

}  // namespace sink::report
