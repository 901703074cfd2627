// Spec: the one struct that names a model's mathematics. An ablation derives from another and changes a line.
//
// Requires the member types
//   Position     where order enters        (model/position/)
//   Placement    where norms stand         (model/placement/)
//   Norm         how they norm             (model/norm/)
//   FeedForward  the block after attention (model/feed_forward/)
//   Attention    similarity and divisor    (engine/ops/attention/attention_op.h)
#pragma once

#include <string>

namespace sink {

template <class S>
concept SpecLike = requires {
  typename S::Position;
  typename S::Placement;
  typename S::Norm;
  typename S::FeedForward;
  typename S::Attention;
};

// "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=SwiGlu attention=Softmax": stands in every checkpoint.
template <SpecLike Spec>
std::string policies_of() {
  return std::string("position=") + Spec::Position::name + " placement=" + Spec::Placement::name +
         " norm=" + Spec::Norm::name + " feed_forward=" + Spec::FeedForward::name +
         " attention=" + Spec::Attention::name;
}

}  // namespace sink
