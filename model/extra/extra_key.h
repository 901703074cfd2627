// Extra policies with one extra key for every query, which has no position and belongs to no token: KV biases, K biases
// and the implicit logits of softmax-off-by-one and learned sinks (Gu et al. 2025, section 7.3; Miller 2023).
#pragma once

#include <cmath>
#include <optional>

#include "model/extra/extra_defaults.h"
#include "model/extra/head_vectors.h"

namespace sink {

// Keys: the score of the extra key.

// scale q . k*_h with k* learned; kDimensions: only the first elements of k* are learned (0: all).
template <Scope kScope, int kDimensions = 0>
class LearnedKey {
 public:
  static std::string name() {
    if (kDimensions > 0) return "LearnedKey(" + std::to_string(kDimensions) + ")";
    return kScope == Scope::shared ? "LearnedKey(shared)" : "LearnedKey";
  }
  static void check(const Sizes& sizes) {
    SINK_CHECK(kDimensions <= sizes.width_of_head(), "extra key",
               "this ablation learns " + std::to_string(kDimensions) + " elements of a key, but heads are " +
                   std::to_string(sizes.width_of_head()) + " wide; take fewer heads or a larger width",
               Exit::usage);
  }
  LearnedKey(ParameterFactory& make, const std::string& prefix)
      : vectors_(make, ParameterRole::extra_key, prefix + ".extra.key", kScope, kDimensions) {}
  void add_to(ExtraKeyVars& extra) const { extra.k_HD = vectors_(); }

 private:
  HeadVectors vectors_;
};

// A learned scalar b_h (gpt-oss 2025).
class LearnedLogit {
 public:
  static std::string name() { return "LearnedLogit"; }
  static void check(const Sizes&) {}
  LearnedLogit(ParameterFactory& make, const std::string& prefix)
      : logit_H_(make.normal_init(ParameterRole::extra_logit, prefix + ".extra.logit", {make.sizes().heads}, "H")) {}
  void add_to(ExtraKeyVars& extra) const { extra.logit_H = logit_H_.var(); }

 private:
  const Parameter& logit_H_;
};

// The same in blocks with a window. In the others it is so low that the key has no weight (MiMo-V2 2026).
class WindowedLogit {
 public:
  static std::string name() { return "WindowedLogit"; }
  static void check(const Sizes&) {}
  WindowedLogit(ParameterFactory& make, const std::string& prefix) {
    const std::string blocks = "blocks.";
    if (make.sizes().is_global(std::stoll(prefix.substr(blocks.size()))))
      logit_H_ = Var(Tensor::full({make.sizes().heads}, kNever, make.real(), make.device()));
    else
      learned_.emplace(make, prefix);
  }
  void add_to(ExtraKeyVars& extra) const {
    if (learned_)
      learned_->add_to(extra);
    else
      extra.logit_H = logit_H_;
  }

 private:
  static constexpr double kNever = -1e4;  // e^-10000 is 0 in F64, too

  std::optional<LearnedLogit> learned_;
  Var logit_H_;
};

// 0, which adds 1 to softmax's denominator ("softmax-off-by-one", Miller 2023).
class ZeroLogit {
 public:
  static std::string name() { return "ZeroLogit"; }
  static void check(const Sizes&) {}
  ZeroLogit(ParameterFactory& make, const std::string&)
      : logit_H_(Tensor::zeros({make.sizes().heads}, make.real(), make.device())) {}
  void add_to(ExtraKeyVars& extra) const { extra.logit_H = Var(logit_H_); }

 private:
  Tensor logit_H_;
};

// Values of the extra key.

struct ZeroValue {
  static constexpr bool kZero = true;
  static std::string name() { return "ZeroValue"; }
  ZeroValue(ParameterFactory&, const std::string&) {}
  void add_to(ExtraKeyVars&) const {}
};

template <Scope kScope>
class LearnedValue {
 public:
  static constexpr bool kZero = false;
  static std::string name() { return kScope == Scope::shared ? "LearnedValue(shared)" : "LearnedValue"; }
  LearnedValue(ParameterFactory& make, const std::string& prefix)
      : vectors_(make, ParameterRole::extra_value, prefix + ".extra.value", kScope) {}
  void add_to(ExtraKeyVars& extra) const { extra.v_HD = vectors_(); }

 private:
  HeadVectors vectors_;
};

// Fixed vectors of Euclidean norm kNorm: along the first axis, or with equal elements (Gu et al. 2025, Table 5).
enum class Direction { first_axis, all_axes };

template <Direction kDirection, int kNorm>
class FixedValue {
 public:
  static constexpr bool kZero = false;
  static std::string name() {
    return "FixedValue(" + std::to_string(kNorm) + (kDirection == Direction::first_axis ? " e1)" : " u)");
  }
  FixedValue(ParameterFactory& make, const std::string&) {
    std::int64_t D = make.sizes().width_of_head();
    auto v = [D](std::int64_t, std::int64_t d) {
      return kNorm * (kDirection == Direction::all_axes ? 1 / std::sqrt(static_cast<double>(D)) : d == 0);
    };
    v_HD_ = make.constant(Tensor::table<double>(make.sizes().heads, D, v));
  }
  void add_to(ExtraKeyVars& extra) const { extra.v_HD = Var(v_HD_); }

 private:
  Tensor v_HD_;
};

template <class Key, class Value>
class ExtraKey : public ExtraDefaults {
 public:
  static constexpr bool kExtraKey = true;
  static constexpr bool kExtraKeyHasValue = !Value::kZero;
  static std::string name() { return Key::name() + "+" + Value::name(); }

  static void check(const Sizes& sizes) { Key::check(sizes); }

  ExtraKey(ParameterFactory& make, const std::string& prefix) : key_(make, prefix), value_(make, prefix) {}

  ExtraKeyVars extra_key() const {
    ExtraKeyVars extra;
    key_.add_to(extra);
    value_.add_to(extra);
    return extra;
  }

 private:
  Key key_;
  Value value_;
};

}  // namespace sink
