// A sublayer of a block, attention or feed-forward, with the norms that its placement gives it: attention(h, pass) is
// the sublayer, attention.norm(x) its norm. Parameters: those of the norms first.
#pragma once

#include "autograd/ops/convert_node.h"
#include "model/parameter_factory.h"
#include "model/pass.h"

namespace sink {

template <class Norms, class Layer>
class Sublayer : public Norms {
 public:
  template <class... More>
  Sublayer(ParameterFactory& make, const std::string& prefix, const More&... more)
      : Norms(make, prefix), layer_(make, prefix, more...), compute_(make.compute()) {}

  // Reads h in the precision of products, which a norm gives and the residual stream may not have.
  Var operator()(const Var& h_BTC, const Pass& pass) const {
    Var in_BTC = convert(h_BTC, compute_);
    if (pass.edit) in_BTC = Var(pass.edit->sublayer_input(in_BTC.value()));
    if constexpr (requires { layer_(in_BTC, pass); })
      return layer_(in_BTC, pass);
    else
      return layer_(in_BTC);
  }

 private:
  Layer layer_;
  DType compute_;
};

}  // namespace sink
