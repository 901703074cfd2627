#include "model/parameter_factory.h"

#include <cmath>

namespace sink {

InitScheme init_scheme(const std::string& name) {
  if (name == "torch") return InitScheme::torch;
  if (name == "formula") return InitScheme::formula;
  if (name == "formula-study") return InitScheme::formula_study;
  fail("init", "expected torch, formula or formula-study, got " + name, Exit::usage);
}

namespace {

// For a product whose outputs sum `in` terms.
Init init_of_sum(InitScheme scheme, std::int64_t in) {
  const auto fan_in = static_cast<double>(in);
  return scheme == InitScheme::torch ? Init{Init::Kind::uniform, 1 / std::sqrt(fan_in)}
                                     : Init{Init::Kind::normal, std::sqrt(2 / (5 * fan_in))};
}

}  // namespace

const Parameter& ParameterFactory::linear(const std::string& name, std::int64_t out, std::int64_t in,
                                          const std::string& axes) {
  return parameters_.add({name, {out, in}, axes, ParameterRole::weight, init_of_sum(scheme_, in)});
}

const Parameter& ParameterFactory::stacked_linear(const std::string& name, std::int64_t out, std::int64_t in,
                                                  std::int64_t E) {
  return parameters_.add({name, {out, E * in}, "out E*in", ParameterRole::weight, init_of_sum(scheme_, in)});
}

const Parameter* ParameterFactory::linear_biases(const std::string& name, std::int64_t out, std::int64_t E,
                                                 bool present) {
  if (!present) return nullptr;
  return &parameters_.add({name, {out, E}, "out E", ParameterRole::linear_bias, {Init::Kind::constant, 0}});
}

const Parameter& ParameterFactory::depth_scaled_linear(const std::string& name, std::int64_t out, std::int64_t in,
                                                       bool of_swiglu) {
  if (scheme_ == InitScheme::torch || (scheme_ == InitScheme::formula_study && !of_swiglu))
    return linear(name, out, in);
  double layers = static_cast<double>(sizes_.layers);
  Init init{Init::Kind::normal, 1 / (std::sqrt(static_cast<double>(in)) * layers)};
  return parameters_.add({name, {out, in}, "out in", ParameterRole::weight, init});
}

const Parameter& ParameterFactory::embedding(const std::string& name, std::int64_t rows, std::int64_t C,
                                             const std::string& axes) {
  double deviation = scheme_ == InitScheme::torch ? 1 : std::sqrt(2 / (5 * static_cast<double>(C)));
  return parameters_.add({name, {rows, C}, axes, ParameterRole::embedding, {Init::Kind::normal, deviation}});
}

const Parameter& ParameterFactory::gain(const std::string& name, std::int64_t C, const std::string& axes) {
  return parameters_.add({name, {C}, axes, ParameterRole::norm_gain, {Init::Kind::constant, 1}});
}

const Parameter& ParameterFactory::bias(const std::string& name, std::int64_t C, const std::string& axes) {
  return parameters_.add({name, {C}, axes, ParameterRole::norm_bias, {Init::Kind::constant, 0}});
}

const Parameter* ParameterFactory::linear_bias(const std::string& name, std::int64_t out, bool present) {
  if (!present) return nullptr;
  return &parameters_.add({name, {out}, "out", ParameterRole::linear_bias, {Init::Kind::constant, 0}});
}

const Parameter& ParameterFactory::recurrence(const std::string& name, const Shape& shape, const std::string& axes,
                                              std::int64_t in) {
  return parameters_.add({name, shape, axes, ParameterRole::recurrence, init_of_sum(scheme_, in)});
}

const Parameter& ParameterFactory::normal_init(ParameterRole role, const std::string& name, const Shape& shape,
                                               const std::string& axes) {
  return parameters_.add({name, shape, axes, role, {Init::Kind::normal, 0.02}});
}

ParameterArena ParameterFactory::take() {
  if (scheme_ != InitScheme::uninitialized) parameters_.allocate(seed_);
  return std::move(parameters_);
}

}  // namespace sink
