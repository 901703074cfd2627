// Gate policies: factors on the output of attention before the output projection, or on the values, computed from the
// normed input h of the layer (Qiu et al. 2025, "gated attention": no sink, no massive activations).
#pragma once

#include "autograd/ops/gate_node.h"
#include "autograd/ops/gather_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/linear_node.h"
#include "model/parameter_factory.h"

namespace sink {

struct NoGate {
  static std::string name() { return "NoGate"; }
  NoGate(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& o_BTE, const Var&) const { return o_BTE; }
};

// o f(h W^T), with W of `gates` rows and f = sigmoid or silu.
class OutputGate {
 public:
  Var operator()(const Var& o_BTE, const Var& h_BTC) const { return gate(o_BTE, linear(h_BTC, weight_), f_); }

 protected:
  OutputGate(ParameterFactory& make, const std::string& prefix, std::int64_t gates,
             GateFunction f = GateFunction::logistic)
      : weight_(make.linear(prefix + ".gate.weight", gates, make.sizes().width)), f_(f) {}

 private:
  const Parameter& weight_;
  GateFunction f_;
};

// One gate per head.
struct HeadGate : OutputGate {
  static std::string name() { return "HeadGate"; }
  HeadGate(ParameterFactory& make, const std::string& prefix) : OutputGate(make, prefix, make.sizes().heads) {}
};

// One gate per element.
struct ElementGate : OutputGate {
  static std::string name() { return "ElementGate"; }
  ElementGate(ParameterFactory& make, const std::string& prefix)
      : OutputGate(make, prefix, make.sizes().heads * make.sizes().width_of_head()) {}
};

// One gate per element, without an upper bound: silu in place of sigmoid.
struct SwishGate : OutputGate {
  static std::string name() { return "SwishGate"; }
  SwishGate(ParameterFactory& make, const std::string& prefix)
      : OutputGate(make, prefix, make.sizes().heads * make.sizes().width_of_head(), GateFunction::silu) {}
};

// One gate per head, computed from the first eighth of the elements of h (modded-nanogpt's "sparse" gate reads 12 of
// 768).
class TruncatedGate {
 public:
  static std::string name() { return "TruncatedGate"; }
  TruncatedGate(ParameterFactory& make, const std::string& prefix)
      : read_(std::max<std::int64_t>(1, make.sizes().width / 8)),
        shape_{make.sizes().heads, make.sizes().width},
        weight_(make.linear(prefix + ".gate.weight", shape_[0], read_)),
        index_(make.constant(padding(shape_, read_))) {}

  Var operator()(const Var& o_BTE, const Var& h_BTC) const {
    return gate(o_BTE, linear(h_BTC, gather(weight_, index_, shape_)));
  }

 private:
  // Where each element of a (out, in) matrix is in an (out, read) one; -1: it is 0.
  static Tensor padding(const Shape& shape, std::int64_t read) {
    Tensor index = Tensor::empty(shape, DType::I32);
    for (std::int64_t n = 0; n < index.size(); ++n) {
      const std::int64_t row = n / shape[1], column = n % shape[1];
      index.data<std::int32_t>()[n] = column < read ? static_cast<std::int32_t>(row * read + column) : -1;
    }
    return index;
  }

  std::int64_t read_;
  Shape shape_;
  const Parameter& weight_;
  Tensor index_;
};

// One gate per element of the values, v sigmoid(h W^T), before they are mixed (position G2 of Qiu et al. 2025): a token
// that all queries attend to need not add anything.
class ValueGate {
 public:
  static std::string name() { return "ValueGate"; }
  ValueGate(ParameterFactory& make, const std::string& prefix)
      : weight_(make.linear(prefix + ".gate.weight", make.sizes().key_heads() * make.sizes().width_of_head(),
                            make.sizes().width)) {}
  Var operator()(const Var& o_BTE, const Var&) const { return o_BTE; }
  Var values(const Var& v_BGTD, const Var& h_BTC) const {
    return unmerge_heads(gate(merge_heads(v_BGTD), linear(h_BTC, weight_)), v_BGTD.value().dim(1));
  }

 private:
  const Parameter& weight_;
};

}  // namespace sink
