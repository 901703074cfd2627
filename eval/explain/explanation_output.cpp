// An Explanation as JSON, and as an HTML page that draws JSON.
#include "eval/explain/explanation_output.h"

#include <nlohmann/json.hpp>

#include "engine/io/html.h"
#include "eval/explain/page_file.h"

namespace sink {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;
using Key = AttentionTrace::Key;

// The scalars of a key by name.
struct KeyField {
  const char* name;
  double Key::*value;
};

constexpr KeyField kForwardFields[] = {{"k_norm", &Key::k_norm}, {"q_dot_k", &Key::q_dot_k},
                                       {"cosine", &Key::cosine}, {"bias", &Key::bias},
                                       {"s", &Key::s},           {"x", &Key::x},
                                       {"g", &Key::g},           {"r", &Key::r},
                                       {"w", &Key::w},           {"a", &Key::a},
                                       {"v_norm", &Key::v_norm}, {"mixed_norm", &Key::mixed_norm},
                                       {"share", &Key::share}};
constexpr KeyField kBackwardFields[] = {{"da", &Key::da}, {"dw", &Key::dw},           {"dg", &Key::dg},
                                        {"dr", &Key::dr}, {"ds_by_g", &Key::ds_by_g}, {"ds_by_S", &Key::ds_by_S},
                                        {"ds", &Key::ds}};

Json json_of(const OperationFormula& formula, const char* operation) {
  return {
      {"operation", operation}, {"whole", formula.whole}, {"g", formula.g},       {"r", formula.r},
      {"z", formula.z},         {"m", formula.m},         {"post", formula.post}, {"proposed_by", formula.proposed_by}};
}

Json json_of(const Key& key, const std::string& token, bool backward) {
  Json json{{"j", key.j}, {"token", token}, {"k", key.k}, {"v", key.v}};
  for (const KeyField& field : kForwardFields) json[field.name] = key.*field.value;
  if (!backward) return json;
  for (const KeyField& field : kBackwardFields) json[field.name] = key.*field.value;
  json.update({{"dk", key.dk}, {"dv", key.dv}});
  return json;
}

constexpr std::size_t kLargestPage = 1000000;
constexpr int kDigits = 7;

// Each scalar of the keys as an array, by its name in AttentionTrace::Key.
json columns_of(const AttentionTrace& t) {
  json columns = json::object();
  for (const Key& key : t.keys) {
    columns["j"].push_back(key.j);
    for (const KeyField& field : kForwardFields) columns[field.name].push_back(key.*field.value);
    if (!t.backward) continue;
    for (const KeyField& field : kBackwardFields) columns[field.name].push_back(key.*field.value);
  }
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

// The data of the page with all rows, or only that of the query.
json data_of_page(const Explanation& e, const ExplanationStyle& style, bool all_rows) {
  const AttentionTrace& query_row = e.query_row();
  OperationFormula formula = query_row.formula;
  json data{{"layer", e.layer},
            {"head", e.head},
            {"query", e.query},
            {"scale", query_row.scale},
            {"has_bias", query_row.has_bias},
            {"rows", json::object()},
            {"formula",
             {{"operation", query_row.operation},
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
    for (const Key& key : t.keys) {
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
  if (!query_row.backward) return data;
  data["loss"] = *e.loss;
  data["targets"] = e.targets;
  data["arrival"] = json::array();
  for (const GradientStep& step : e.arrival) data["arrival"].push_back({step.operation, step.shape, step.norm});
  return data;
}

}  // namespace

std::string explanation_json(const Explanation& e, const ExplanationStyle& style, const std::string& ablation,
                             const std::string& policies, bool trained) {
  const AttentionTrace& t = e.query_row();
  Json tokens = Json::array(), keys = Json::array(), arrival = Json::array();
  for (std::size_t i = 0; i < e.tokens.size(); ++i)
    tokens.push_back(
        {{"position", i}, {"id", e.tokens[i]}, {"text", label_at(e, style, static_cast<std::int64_t>(i))}});
  for (const Key& key : t.keys) keys.push_back(json_of(key, label_at(e, style, key.j), t.backward));
  for (const GradientStep& step : e.arrival)
    arrival.push_back({{"operation", step.operation}, {"shape", step.shape}, {"norm", step.norm}});
  Json json{{"ablation", ablation},
            {"policies", policies},
            {"model", style.what},
            {"trained", trained},
            {"tokens", tokens},
            {"layer", e.layer},
            {"head", t.head},
            {"key_head", t.key_head},
            {"query", e.query},
            {"formula", json_of(t.formula, t.operation)},
            {"scale", t.scale},
            {"has_bias", t.has_bias},
            {"q", t.q},
            {"q_norm", t.q_norm},
            {"n", t.n},
            {"m", t.m},
            {"S", t.S},
            {"z", t.z},
            {"row_sum", t.row_sum},
            {"o", t.o},
            {"o_norm", t.o_norm},
            {"strongest", t.strongest()},
            {"keys", keys}};
  if (e.loss)
    json["backward"] = {{"loss", *e.loss}, {"targets", e.targets}, {"do", t.do_i},      {"dq", t.dq},
                        {"D", t.D},        {"dz", t.dz},           {"arrival", arrival}};
  return json.dump() + "\n";
}

std::string explanation_page(const Explanation& e, const ExplanationStyle& style, const std::string& command) {
  std::string title = "Query " + std::to_string(e.query) + " \u201c" + label_at(e, style, e.query) +
                      "\u201d in layer " + std::to_string(e.layer) + ", head " + std::to_string(e.head) + ": " +
                      e.query_row().operation;
  std::string data = script_json(data_of_page(e, style, true), kDigits);
  if (data.size() > kLargestPage) data = script_json(data_of_page(e, style, false), kDigits);
  return fill(eval_file("explain.html"), {{"title", escape(title)},
                                          {"model", "Of " + escape(style.what) + "."},
                                          {"command", escape(command)},
                                          {"style", eval_file("explain.css")},
                                          {"data", data},
                                          {"script", eval_file("explain_draw.js") + eval_file("explain.js")}});
}

OutputKind explanation_page_kind() {
  return kind_by_text("a page of eval_<ablation> explain", "<!doctype html>", {"content=\"Sinklab explain\""});
}

}  // namespace sink
