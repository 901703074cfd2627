#include "train/optimizer.h"

#include <algorithm>

#include "engine/ops/sum_of_squares/sum_of_squares.h"
#include "train/optimizers/adamw_optimizer.h"
#include "train/optimizers/lion_optimizer.h"
#include "train/optimizers/muon_optimizer.h"
#include "train/optimizers/ortho_adam_optimizer.h"
#include "train/optimizers/sgd_optimizer.h"

namespace sink {

Optimizer::Optimizer(ParameterArena& parameters, const RunConfig& config)
    : parameters_(parameters), weight_decay_(config.weight_decay), decays_matrices_alone_(config.decay == "matrices") {
  parameters_.allocate_gradients();
}

void Optimizer::sum_squared_gradients(Tensor& sum) const {
  sum_of_squares(parameters_.gradients(), parameters_.segments_with_gradient(), sum);
}

void Optimizer::step(const Tensor& numbers) {
  update(numbers);
  parameters_.clear_gradients();
}

void Optimizer::skip() { parameters_.clear_gradients(); }

double Optimizer::weight_decay_of(const Parameter& parameter) const {
  bool is_matrix = parameter.info().role == ParameterRole::weight && parameter.info().shape.rank() == 2;
  return decays_matrices_alone_ && !is_matrix ? 0 : weight_decay_;
}

std::vector<Optimizer::Range> Optimizer::ranges_of(const std::function<bool(const Parameter&)>& belongs) const {
  std::vector<Range> ranges;
  for (std::size_t n = 0; n < parameters_.size(); ++n) {
    const Parameter& parameter = *parameters_[n];
    if (!belongs(parameter)) continue;
    bool last = n + 1 == parameters_.size();
    Segment padded{parameter.segment().begin,
                   last ? parameters_.masters().size() : parameters_[n + 1]->segment().begin};
    double decay = weight_decay_of(parameter);
    if (!ranges.empty() && ranges.back().segment.end == padded.begin && ranges.back().weight_decay == decay)
      ranges.back().segment.end = padded.end;
    else
      ranges.push_back({padded, decay});
  }
  return ranges;
}

void Optimizer::for_each_with_gradient(const std::vector<Range>& ranges,
                                       const std::function<void(const Range&, Slices&)>& f) const {
  Tensor copy = parameters_.copy();
  for (const Segment& span : parameters_.spans_with_gradient())
    for (const Range& range : ranges) {
      Segment both{std::max(span.begin, range.segment.begin), std::min(span.end, range.segment.end)};
      if (both.begin >= both.end) continue;
      Slices slices{parameters_.gradients().rows(both.begin, both.end),
                    parameters_.masters().rows(both.begin, both.end),
                    copy.defined() ? copy.rows(both.begin, both.end) : Tensor()};
      f({both, range.weight_decay}, slices);
    }
}

Tensor Optimizer::zeros_like_masters() const {
  return parameters_.masters().new_zeros(parameters_.masters().shape(), parameters_.masters().dtype());
}

Optimizer::Slices Optimizer::slices_of(const Parameter& parameter) const {
  Tensor copy = parameters_.copy();
  return {ParameterArena::slice(parameters_.gradients(), parameter),
          ParameterArena::slice(parameters_.masters(), parameter),
          copy.defined() ? ParameterArena::slice(copy, parameter) : Tensor()};
}

bool is_hidden_matrix(const Parameter& parameter) {
  const ParameterInfo& info = parameter.info();
  return info.role == ParameterRole::weight && info.shape.rank() == 2 && !info.axes.starts_with("V ");
}

std::unique_ptr<Optimizer> make_optimizer(ParameterArena& parameters, const RunConfig& config) {
  if (config.optimizer == "adamw") return std::make_unique<AdamwOptimizer>(parameters, config);
  if (config.optimizer == "sgd") return std::make_unique<SgdOptimizer>(parameters, config);
  if (config.optimizer == "lion") return std::make_unique<LionOptimizer>(parameters, config);
  if (config.optimizer == "muon") return std::make_unique<MuonOptimizer>(parameters, config);
  if (config.optimizer == "orthoadam") return std::make_unique<OrthoAdamOptimizer>(parameters, config);
  fail("train", "expected the optimiser adamw, sgd, lion, muon or orthoadam, got " + config.optimizer, Exit::usage);
}

}  // namespace sink
