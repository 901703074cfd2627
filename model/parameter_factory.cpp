#include "model/parameter_factory.h"

#include <cmath>

namespace sink {

InitScheme init_scheme(const std::string& name) {
  if (name == "torch") return InitScheme::torch;
  if (name == "formula") return InitScheme::formula;
  fail("init", "expected torch or formula, got " + name, Exit::usage);
}

const Parameter& ParameterFactory::linear(const std::string& name, std::int64_t out, std::int64_t in) {
  double fan_in = static_cast<double>(in);
  if (scheme_ == InitScheme::torch) return add(name, {out, in}, {Init::Kind::uniform, 1 / std::sqrt(fan_in)});
  return add(name, {out, in}, {Init::Kind::normal, std::sqrt(2 / (5 * fan_in))});
}

const Parameter& ParameterFactory::depth_scaled_linear(const std::string& name, std::int64_t out, std::int64_t in) {
  if (scheme_ == InitScheme::torch) return linear(name, out, in);
  double layers = static_cast<double>(sizes_.layers);
  return add(name, {out, in}, {Init::Kind::normal, 1 / (std::sqrt(static_cast<double>(in)) * layers)});
}

const Parameter& ParameterFactory::embedding(const std::string& name, std::int64_t rows, std::int64_t C) {
  double deviation = scheme_ == InitScheme::torch ? 1 : std::sqrt(2 / (5 * static_cast<double>(C)));
  return add(name, {rows, C}, {Init::Kind::normal, deviation});
}

const Parameter& ParameterFactory::gain(const std::string& name, std::int64_t C) {
  return add(name, {C}, {Init::Kind::constant, 1});
}

const Parameter& ParameterFactory::zeros(const std::string& name, const Shape& shape) {
  return add(name, shape, {Init::Kind::constant, 0});
}

const Parameter& ParameterFactory::small(const std::string& name, const Shape& shape) {
  return add(name, shape, {Init::Kind::normal, 0.02});
}

const Parameter& ParameterFactory::add(const std::string& name, const Shape& shape, const Init& init) {
  parameters_.push_back(std::make_unique<Parameter>(name, shape, init, seed_, compute_));
  return *parameters_.back();
}

}  // namespace sink
