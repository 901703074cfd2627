// The functions of gates, f(g), with what the backward pass needs: dl f'(g), for l = f(g).
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/ops/gate/gate.h"

namespace sink {

struct LogisticGate {
  template <class R>
  SINK_HD static R f(R g) {
    return logistic_fast(g);
  }
  template <class R>
  SINK_HD static R backward(R dl, R, R l) {
    return dl * l * (1 - l);
  }
};

struct SiluGate {
  template <class R>
  SINK_HD static R f(R g) {
    return SiluFunction::f(g);
  }
  template <class R>
  SINK_HD static R backward(R dl, R g, R) {
    return dl * SiluFunction::df(g);
  }
};

// call(LogisticGate()) or call(SiluGate()).
template <class F>
void with_gate_function(GateFunction function, F&& call) {
  if (function == GateFunction::silu)
    call(SiluGate());
  else
    call(LogisticGate());
}

}  // namespace sink
