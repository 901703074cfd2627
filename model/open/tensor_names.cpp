#include "model/open/tensor_names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "model/open/name_tables.h"

namespace sink {
namespace {

using Names = decltype(TensorNames::own);

const Names& names_in(const std::string& title) {
  static const std::map<std::string, Names> tables = [] {
    std::map<std::string, Names> all;
    for (const NameTable& table : name_tables(carried_text("TENSOR_NAMES.md")))
      for (const auto& cells : table.rows) all[table.title].emplace_back(code_in(cells[0]).at(0), code_in(cells.at(1)));
    return all;
  }();
  return tables.at(title);
}

// "blocks.3.attention.out.bias" as "blocks.#.attention.out.bias" and "3".
std::pair<std::string, std::string> without_block(const std::string& name) {
  const std::string start = "blocks.";
  if (!name.starts_with(start)) return {name, ""};
  const std::size_t end = name.find('.', start.size());
  return {start + "#" + name.substr(end), name.substr(start.size(), end - start.size())};
}

// The tensors of our parameter, `#` for the block in both.
std::optional<std::vector<std::string>> names_of(const Names& names, const std::string& ours) {
  const std::size_t dot = ours.rfind('.');
  for (const auto& [name, theirs] : names) {
    if (name == ours) return theirs;
    if (name != ours.substr(0, dot)) continue;
    std::vector<std::string> whole = theirs;
    for (std::string& one : whole) one += ours.ends_with(".gain") ? ".weight" : ours.substr(dot);
    return whole;
  }
  return std::nullopt;
}

std::vector<std::string> names_of(const TensorNames& names, const std::string& ours) {
  std::optional<std::vector<std::string>> theirs = names_of(names.own, ours);
  for (const std::string& title : names.tables)
    if (!theirs) theirs = names_of(names_in(title), ours);
  return theirs.value_or(std::vector<std::string>{});
}

// The names with `*`, for the expert, once for each expert: all of the first name before those of the second.
std::vector<std::string> tensors_of(const std::vector<std::string>& names, std::int64_t experts) {
  std::vector<std::string> tensors;
  for (const std::string& name : names) {
    const std::size_t at = name.find('*');
    if (at == std::string::npos) tensors.push_back(name);
    for (std::int64_t e = 0; at != std::string::npos && e < experts; ++e)
      tensors.push_back(name.substr(0, at) + std::to_string(e) + name.substr(at + 1));
  }
  return tensors;
}

}  // namespace

std::vector<TensorPlace> places_of(const OpenConfig& config, const std::string& name) {
  const auto [ours, block] = without_block(name);
  std::vector<TensorPlace> places;
  const TensorNames& layout = *config.names;
  const bool of_heads = ours.starts_with("blocks.#.attention.qkv."), is_weight = ours.ends_with(".weight");
  const bool is_gate_up = ours.starts_with("blocks.#.feed_forward.gate_up."),
             is_down = ours.starts_with("blocks.#.feed_forward.down.");
  for (const std::string& theirs : tensors_of(names_of(layout, ours), config.sizes.experts)) {
    TensorPlace place{.name = theirs};
    if (const std::size_t at = place.name.find('#'); at != std::string::npos) place.name.replace(at, 1, block);
    if (of_heads && layout.pairs_interleaved && places.size() < 2) place.order = RowOrder::interleaved;
    if (of_heads && layout.queries_with_gates && places.empty()) place.order = RowOrder::queries;
    if (layout.queries_with_gates && ours == "blocks.#.attention.gate.weight") place.order = RowOrder::gates;
    if (of_heads && layout.heads_by_group) place.order = RowOrder::by_group;
    place.transposed = layout.transposed && block != "" && is_weight;
    if (ours == "embedding.position.weight") place.first_row = layout.first_position;
    switch (layout.experts) {
      case ExpertTensors::none:
        break;
      case ExpertTensors::apart:
        if (is_gate_up && is_weight) place.order = RowOrder::alternating;  // 2 E of (F, C)
        if (is_down && is_weight) place.experts = ExpertAxis::tensors;     // E of (C, F)
        break;
      case ExpertTensors::stacked:
        if (is_gate_up)
          place.order = RowOrder::alternating, place.experts = ExpertAxis::rows;  // two of (E, F, C), (E, F)
        if (is_down && is_weight) place.experts = ExpertAxis::columns;            // (E, C, F)
        if (is_down && !is_weight) place.transposed = true;                       // (E, C)
        break;
      case ExpertTensors::joined:
        if (is_gate_up) place.order = RowOrder::halves, place.experts = ExpertAxis::rows;  // (E, 2F, C)
        if (is_down) place.experts = ExpertAxis::columns;                                  // (E, C, F)
        break;
      case ExpertTensors::transposed:
        if (is_gate_up) place.transposed = is_weight, place.experts = ExpertAxis::rows;  // (E, C, 2F) and (E, 2F)
        if (is_down) place.transposed = true;                                            // (E, F, C) and (E, C)
        if (is_down && is_weight) place.experts = ExpertAxis::columns;
        break;
    }
    places.push_back(std::move(place));
  }
  return places;
}

bool is_left_out(const OpenConfig& config, const std::string& name) {
  const std::string ours = without_block(name).first;
  return std::ranges::any_of(config.names->own,
                             [&](const auto& one) { return one.first == ours && one.second.empty(); });
}

double value_left_out(const OpenConfig& config, const std::string& name) {
  return name.ends_with(".gain") ? config.gain_less : 0;
}

double gain_less(const OpenConfig& config, const ParameterInfo& parameter) {
  const bool is_stored_less =
      parameter.role == ParameterRole::norm_gain && !parameter.name.ends_with(".delta.norm.gain");
  return is_stored_less ? config.gain_less : 0;
}

bool is_of_vision(const OpenConfig& config, const std::string& tensor) {
  const std::string name = tensor.starts_with("model.") ? tensor.substr(6) : tensor;
  return config.with_vision && (name.starts_with("vision_tower.") || name.starts_with("multi_modal_projector.") ||
                                name.starts_with("visual."));
}

bool is_of_later_tokens(const OpenConfig& config, const std::string& tensor) {
  return config.origin->delta_rules && tensor.starts_with("mtp.");
}

bool is_of_quantized(const std::string& tensor) {
  for (const char* end : {".qweight", ".qzeros", ".g_idx", ".scales", ".biases", "_scale", "_scale_inv", ".absmax",
                          ".quant_map", "_packed", "_blocks", "_scales"})
    if (tensor.ends_with(end)) return true;
  return false;
}

bool is_no_weight(const OpenConfig& config, const std::string& tensor) {
  if (is_of_vision(config, tensor) || is_of_later_tokens(config, tensor)) return true;
  if (std::ranges::find(config.other_tensors, tensor) != config.other_tensors.end()) return true;
  for (const char* end : {".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias", "inv_freq",
                          "freq_cis_real", "freq_cis_imag"})
    if (tensor.ends_with(end)) return true;
  return false;
}

std::int64_t row_in(RowOrder order, std::int64_t r, const Sizes& sizes) {
  const std::int64_t D = sizes.width_of_head(), head = r / D, d = r % D;
  if (order == RowOrder::queries) return head * 2 * D + d;
  if (order == RowOrder::gates) return head * 2 * D + D + d;
  if (order == RowOrder::halves) {
    const std::int64_t F = sizes.feed_forward, of_expert = r % (2 * F);
    return r - of_expert + (of_expert % 2) * F + of_expert / 2;
  }
  if (order == RowOrder::interleaved) {
    const auto R = static_cast<std::int64_t>(std::llround((sizes.rotary_part > 0 ? sizes.rotary_part : 1) *
                                                          static_cast<double>(D)));  // of q and k, elements that rotate
    return d >= R || head >= sizes.heads + sizes.key_heads() ? r : head * D + (d < R / 2 ? 2 * d : 2 * (d - R / 2) + 1);
  }
  if (order == RowOrder::by_group) {
    const std::int64_t H = sizes.heads, G = sizes.key_heads(), queries = H / G;
    const std::int64_t group = head < H ? head / queries : (head - H) % G;
    const std::int64_t of_group = head < H ? head % queries : queries + (head - H) / G;
    return (group * (queries + 2) + of_group) * D + d;
  }
  return r;
}

std::int64_t rows_of_tensor(std::size_t n, const std::vector<TensorPlace>& places, std::int64_t rows,
                            const Sizes& sizes) {
  if (places[n].experts == ExpertAxis::tensors) return rows;
  if (places.size() != 3) return rows / static_cast<std::int64_t>(places.size());
  return (n == 0 ? sizes.heads : sizes.key_heads()) * sizes.width_of_head();
}

}  // namespace sink
