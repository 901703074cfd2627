// A sublayer of a block, attention or feed-forward, with the norms that its placement gives it: attention(h, ctx) is
// the sublayer, attention.norm(x) its norm. Parameters: those of the norms first.
#pragma once

#include "autograd/ops/convert_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

template <class Norms, class Layer>
class Sublayer : public Norms {
 public:
  template <class... More>
  Sublayer(ParameterFactory& make, const std::string& prefix, SublayerKind kind, const More&... more)
      : Norms(make, prefix), layer_(make, prefix, more...), kind_(kind), compute_(make.compute()) {}

  // Reads h in the precision of products, which a norm gives and the residual stream may not have.
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const {
    Var in_BTC = convert(h_BTC, compute_);
    ctx.hooks->sublayer_input(ctx.layer, kind_, in_BTC);
    Var f_BTC = applied(in_BTC, ctx);
    ctx.hooks->sublayer_output(ctx.layer, kind_, f_BTC);
    return f_BTC;
  }

 private:
  Var applied(const Var& in_BTC, const ForwardContext& ctx) const {
    if constexpr (requires { layer_(in_BTC, ctx); })
      return layer_(in_BTC, ctx);
    else
      return layer_(in_BTC);
  }

  Layer layer_;
  SublayerKind kind_;
  DType compute_;
};

}  // namespace sink
