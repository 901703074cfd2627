// Spec: the one struct that names a model's mathematics. An ablation derives from another and changes a line.
//
// Requires the member types
//   Position      where order enters                          (model/position/)
//   Placement     where norms stand                           (model/placement/)
//   Norm          how they norm                               (model/norm/)
//   FeedForward   the sublayer after attention                (model/feed_forward/)
//   Heads         how the heads of attention join             (model/heads/)
//   QueryKeyNorm  whether queries and keys are normed         (model/query_key_norm/)
//   Features      what maps queries and keys before they meet (model/features/)
//   Attention     similarity, divisor and their constants     (model/attention/constants.h)
//   Extra         extra keys, values and tokens               (model/extra/)
//   Gate          what gates the output of attention          (model/gate/)
#pragma once

#include <string>

#include "model/attention/constants.h"

namespace sink {

template <class S>
concept SpecLike = requires {
  typename S::Position;
  typename S::Placement;
  typename S::Norm;
  typename S::FeedForward;
  typename S::Heads;
  typename S::QueryKeyNorm;
  typename S::Features;
  typename S::Attention;
  typename S::Extra;
  typename S::Gate;
};

// "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=SwiGlu attention=Softmax": stands in every checkpoint.
// Policies that most models do not have are named only where they are present.
template <SpecLike Spec>
std::string policies_of() {
  std::string text = std::string("position=") + Spec::Position::name + " placement=" + Spec::Placement::name +
                     " norm=" + Spec::Norm::name + " feed_forward=" + Spec::FeedForward::name +
                     " attention=" + AttentionPolicy<typename Spec::Attention>::name();
  auto add = [&](const char* policy, const std::string& name) {
    if (!name.empty()) text += std::string(" ") + policy + "=" + name;
  };
  add("heads", Spec::Heads::name);
  add("query_key_norm", Spec::QueryKeyNorm::name);
  add("features", Spec::Features::name);
  add("extra", Spec::Extra::name());
  add("gate", Spec::Gate::name);
  return text;
}

}  // namespace sink
