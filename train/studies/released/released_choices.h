// Six configurations failed in the paper (Gu et al. 2025, Table 15 and appendix D.4) and train here. These ablations
// add the choices of the paper's released code to them, one at a time, to show which choice makes which training fail.
// The study is failed.toml in this folder. Not part of every build; made by
//
//   cmake --preset release -DSINK_ABLATIONS=train/studies/released/released_choices.h
#pragma once

#include "model/ablations.h"

namespace sink {

// x rounded to bf16's eight bits, as a tensor of that type would hold it. NaN and infinities stay.
template <class R>
R in_bf16(R x) {
  return static_cast<R>(static_cast<float>(bf16(static_cast<float>(x))));
}

// elu(s) + 1 as its code computes it in bf16: s is rounded, elu(s), then the sum, which cancels for negative s. Below
// -6.24 or so nothing is left (e^-6.24 = 2^-9), and a row can be without any weight. The derivative e^s does not
// cancel. The products around it are as precise as the run says.
struct EluInBf16 : AttentionOpDefaults {
  static constexpr bool has_derivative_of_its_own = true;
  template <class R>
  static R g(R x) {
    R s = in_bf16(x);
    R elu = in_bf16(exp_fast(s > R(0) ? R(0) : s) - R(1));
    return in_bf16(s > R(0) ? s + R(1) : elu + R(1));
  }
  template <class R>
  static R dg(R x) {
    R s = in_bf16(x);
    return in_bf16(exp_fast(s > R(0) ? R(0) : s));
  }
};

struct EluNormInBf16 : DividedBySumOf<EluInBf16> {};

// The same without the cancellation: rounded once. What is different from it comes from the cancellation.
struct EluNormRounded : DividedBySum {
  static constexpr bool has_derivative_of_its_own = true;
  template <class R>
  static R g(R x) {
    return in_bf16(Elu::g(in_bf16(x)));
  }
  template <class R>
  static R dg(R x) {
    return in_bf16(Elu::dg(in_bf16(x)));
  }
};

// The cancelling values with a divisor that cannot vanish: a row without weight has no gradient of 10^8 then.
struct EluNormInBf16Floor : EluInBf16 {
  static constexpr Normalizer normalizer = Normalizer::sum;
  template <class R>
  static R z(R S) {
    return S + R(1);
  }
  template <class R>
  static R dz(R) {
    return R(1);
  }
};

// s / max(sum |s|, 1): the signed similarity divided by a sum that cannot cancel.
struct LinearMaxOfAbs : Linear {
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
  template <class R>
  static R r(R x) {
    using std::abs;
    return abs(x);
  }
  template <class R>
  static R dr(R x) {
    using std::copysign;
    return x == R(0) ? R(0) : copysign(R(1), x);
  }
  template <class R>
  static R z(R S) {
    return S < R(1) ? R(1) : S;
  }
  template <class R>
  static R dz(R S) {
    return S > R(1) ? R(1) : R(0);
  }
};

// e^s / (sum e^(p s))^(1/p) without the row maximum taken off, as the formula is written: in float it overflows where
// p s > 88.7.
struct PNormExpAsWritten : AttentionOpDefaults {
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
  Constant p, root, root_minus_1;

  PNormExpAsWritten(double p = 2) : p(p), root(1 / p), root_minus_1(1 / p - 1) {}
  template <class R>
  static R g(R x) {
    using std::exp;
    return exp(x);
  }
  template <class R>
  static R dg(R x) {
    using std::exp;
    return exp(x);
  }
  template <class R>
  R r(R x) const {
    using std::exp;
    return exp(R(p) * x);
  }
  template <class R>
  R dr(R x) const {
    using std::exp;
    return R(p) * exp(R(p) * x);
  }
  template <class R>
  R z(R S) const {
    using std::pow;
    return pow(S, R(root));
  }
  template <class R>
  R dz(R S) const {
    using std::pow;
    return R(root) * pow(S, R(root_minus_1));
  }
};

// Rotary positions whose table of cosines and sines is rounded to bf16.
struct RotaryInBf16 : Rotary {
  static std::string name() { return "RotaryInBf16"; }
  explicit RotaryInBf16(ParameterFactory& make) : Rotary(make) {
    for (RotaryTable* table : {&global_, &local_})
      for (Tensor* t : {&table->cos_TE, &table->sin_TE}) *t = make.constant(t->to(DType::BF16).to(make.real()));
  }
};

}  // namespace sink

namespace sink::ablations {

// elu + 1, normalised: "failed" in the paper.
struct op_elu_norm_bf16 : op_elu_norm {
  using Attention = EluNormInBf16;
};
struct op_elu_norm_rounded : op_elu_norm {
  using Attention = EluNormRounded;
};
struct op_elu_norm_floor : op_elu_norm {
  using Attention = EluNormInBf16Floor;
};
struct op_elu_none_bf16 : op_elu_none {
  using Attention = EluInBf16;
};

// Kernels: "failed" are elu without a divisor and the identity divided by its signed sum.
struct kern_id_norm_abs : kern_id_norm {
  using Attention = LinearMaxOfAbs;
};

// The p-norm of exponentials: "diverged" for 2, 3 and 4.
struct pnorm_exp_2_written : baseline {
  using Attention = With<PNormExpAsWritten, 2.0>;
};
struct pnorm_exp_3_written : baseline {
  using Attention = With<PNormExpAsWritten, 3.0>;
};
struct pnorm_exp_4_written : baseline {
  using Attention = With<PNormExpAsWritten, 4.0>;
};

// Tables in bf16, alone and in each that failed.
struct pos_rotary_bf16 : baseline {
  using Position = RotaryInBf16;
};
struct op_elu_norm_table : op_elu_norm {
  using Position = RotaryInBf16;
};
struct kern_elu_none_table : kern_elu_none {
  using Position = RotaryInBf16;
};
struct kern_id_norm_table : kern_id_norm {
  using Position = RotaryInBf16;
};

}  // namespace sink::ablations
