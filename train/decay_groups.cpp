#include "train/decay_groups.h"

#include "engine/check.h"

namespace sink {

Segment decayed_part(const ParameterInfo& parameter, const std::string& decay, const Sizes& sizes) {
  const std::string& name = parameter.name;
  const Segment all{0, parameter.shape.size()}, none{0, 0};
  const bool is_weight = parameter.role == ParameterRole::weight;
  const bool is_qkv = name.ends_with(".attention.qkv.weight");
  const auto all_if = [&](bool condition) { return condition ? all : none; };
  if (decay == "all") return all;
  if (decay == "matrices") return all_if(is_weight && parameter.shape.rank() == 2);
  if (decay == "ffn") return all_if(is_weight && name.find(".feed_forward.") != std::string::npos);
  if (decay == "embeddings") return all_if(parameter.role == ParameterRole::embedding || name == "unembedding.weight");
  if (decay == "gains") return all_if(parameter.role == ParameterRole::norm_gain);
  SINK_CHECK(decay == "qk" || decay == "vo", "decay", "unknown group " + decay);
  if (!is_qkv) return all_if(decay == "vo" && name.ends_with(".attention.out.weight"));
  const std::int64_t columns = parameter.shape[1];
  const std::int64_t values = (sizes.heads + sizes.key_heads()) * sizes.width_of_head() * columns;  // where they begin
  return decay == "qk" ? Segment{0, values} : Segment{values, all.end};
}

}  // namespace sink
