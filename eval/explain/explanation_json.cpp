#include "eval/explain/explanation_json.h"

#include <nlohmann/json.hpp>

#include "eval/explain/operation_formula.h"

namespace sink {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const OperationFormula& formula, const char* operation) {
  return {
      {"operation", operation}, {"whole", formula.whole}, {"g", formula.g},       {"r", formula.r},
      {"z", formula.z},         {"m", formula.m},         {"post", formula.post}, {"proposed_by", formula.proposed_by}};
}

Json json_of(const AttentionTrace::Key& key, const std::string& token, bool backward) {
  Json json{{"j", key.j},           {"token", token},
            {"k", key.k},           {"v", key.v},
            {"k_norm", key.k_norm}, {"q_dot_k", key.q_dot_k},
            {"cosine", key.cosine}, {"bias", key.bias},
            {"s", key.s},           {"x", key.x},
            {"g", key.g},           {"r", key.r},
            {"w", key.w},           {"a", key.a},
            {"v_norm", key.v_norm}, {"mixed_norm", key.mixed_norm},
            {"share", key.share}};
  if (backward)
    json.update({{"da", key.da},
                 {"dw", key.dw},
                 {"dg", key.dg},
                 {"dr", key.dr},
                 {"ds_by_g", key.ds_by_g},
                 {"ds_by_S", key.ds_by_S},
                 {"ds", key.ds},
                 {"dk", key.dk},
                 {"dv", key.dv}});
  return json;
}

}  // namespace

std::string explanation_json(const Explanation& e, const ExplanationStyle& style, const std::string& ablation,
                             const std::string& policies, bool trained) {
  const AttentionTrace& t = e.asked();
  Json tokens = Json::array(), keys = Json::array(), arrival = Json::array();
  for (std::size_t i = 0; i < e.tokens.size(); ++i)
    tokens.push_back(
        {{"position", i}, {"id", e.tokens[i]}, {"text", label_at(e, style, static_cast<std::int64_t>(i))}});
  for (const AttentionTrace::Key& key : t.keys) keys.push_back(json_of(key, label_at(e, style, key.j), t.backward));
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
            {"formula", json_of(formula_of(t.operation), t.operation)},
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

}  // namespace sink
