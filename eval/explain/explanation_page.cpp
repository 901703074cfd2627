#include "eval/explain/explanation_page.h"

#include "engine/io/html.h"
#include "eval/explain/explain_files.h"
#include "eval/explain/operation_formula.h"

namespace sink {
namespace {

using nlohmann::json;
using PageKey = AttentionTrace::Key;

constexpr std::size_t kLargestPage = 1000000;
constexpr int kDigits = 7;

// One number of every key, by its name in AttentionTrace::Key.
json columns_of(const AttentionTrace& t) {
  json columns = json::object();
  auto add = [&](const char* name, double PageKey::*member) {
    for (const PageKey& key : t.keys) columns[name].push_back(key.*member);
  };
  for (const PageKey& key : t.keys) columns["j"].push_back(key.j);
  add("k_norm", &PageKey::k_norm), add("q_dot_k", &PageKey::q_dot_k), add("cosine", &PageKey::cosine);
  add("bias", &PageKey::bias), add("s", &PageKey::s), add("x", &PageKey::x), add("g", &PageKey::g);
  add("r", &PageKey::r), add("w", &PageKey::w), add("a", &PageKey::a), add("v_norm", &PageKey::v_norm);
  add("mixed_norm", &PageKey::mixed_norm), add("share", &PageKey::share);
  if (!t.backward) return columns;
  add("da", &PageKey::da), add("dw", &PageKey::dw), add("dg", &PageKey::dg), add("dr", &PageKey::dr);
  add("ds_by_g", &PageKey::ds_by_g), add("ds_by_S", &PageKey::ds_by_S), add("ds", &PageKey::ds);
  return columns;
}

json row_of_page(const AttentionTrace& t) {
  json row{{"q", t.q}, {"o", t.o}, {"q_norm", t.q_norm}, {"o_norm", t.o_norm},   {"m", t.m},
           {"S", t.S}, {"z", t.z}, {"n", t.n},           {"row_sum", t.row_sum}, {"strongest", t.strongest()}};
  row["keys"] = columns_of(t);
  row["curve"] = t.curve;
  if (t.backward) row.update({{"do", t.do_i}, {"dq", t.dq}, {"D", t.D}, {"dz", t.dz}});
  return row;
}

// The page's data with the rows that `shown` names.
json data_of_page(const Explanation& e, const ExplanationStyle& style, bool all_rows) {
  const AttentionTrace& asked = e.asked();
  OperationFormula formula = formula_of(asked.operation);
  json data{{"layer", e.layer},
            {"head", e.head},
            {"query", e.query},
            {"scale", asked.scale},
            {"has_bias", asked.has_bias},
            {"rows", json::object()},
            {"formula",
             {{"operation", asked.operation},
              {"whole", formula.whole},
              {"g", formula.g},
              {"r", formula.r},
              {"z", formula.z},
              {"m", formula.m},
              {"post", formula.post}}}};
  for (std::size_t i = 0; i < e.tokens.size(); ++i)
    data["tokens"].push_back(label_at(e, style, static_cast<std::int64_t>(i)));
  for (const char* kind : {"k", "v"}) data[kind] = std::vector<json>(e.tokens.size(), json::array());
  for (const AttentionTrace& t : e.rows) {
    if (!all_rows && t.i != e.query) continue;
    data["rows"][std::to_string(t.i)] = row_of_page(t);
    for (const PageKey& key : t.keys) {
      if (key.j == AttentionTrace::kExtraKey) {
        data["extra"] = {{"k", key.k}, {"v", key.v}};
        continue;
      }
      data["k"][static_cast<std::size_t>(key.j)] = key.k;
      data["v"][static_cast<std::size_t>(key.j)] = key.v;
    }
  }
  if (!all_rows && e.rows.size() > 1)
    data["left_out"] = "Other queries are left out: with them the page would be larger than 1 MB.";
  if (!asked.backward) return data;
  data["loss"] = *e.loss;
  data["targets"] = e.targets;
  data["arrival"] = json::array();
  for (const GradientStep& step : e.arrival) data["arrival"].push_back({step.operation, step.shape, step.norm});
  return data;
}

}  // namespace

std::string explanation_page(const Explanation& e, const ExplanationStyle& style, const std::string& command) {
  std::string title = "Query " + std::to_string(e.query) + " \u201c" + label_at(e, style, e.query) +
                      "\u201d in layer " + std::to_string(e.layer) + ", head " + std::to_string(e.head) + ": " +
                      e.asked().operation;
  std::string data = script_json(data_of_page(e, style, true), kDigits);
  if (data.size() > kLargestPage) data = script_json(data_of_page(e, style, false), kDigits);
  return fill(explain_file("explain.html"), {{"title", escape(title)},
                                             {"model", "Of " + escape(style.what) + "."},
                                             {"command", escape(command)},
                                             {"style", explain_file("explain.css")},
                                             {"data", data},
                                             {"script", explain_file("explain_draw.js") + explain_file("explain.js")}});
}

OutputKind explanation_page_kind() {
  return kind_by_text("a page of eval_<ablation> explain", "<!doctype html>", {"content=\"Sinklab explain\""});
}

}  // namespace sink
