#include "train/optimizer.h"

#include <algorithm>

#include "engine/ops/reductions/partial_squared_norms.h"
#include "train/optimizers/optimizers.h"

namespace sink {

Segment decayed_part(const ParameterInfo& parameter, const std::string& decay, const Sizes& sizes) {
  const std::string& name = parameter.name;
  const Segment all{0, parameter.shape.size()}, none{0, 0};
  const bool is_weight = parameter.role == ParameterRole::weight;
  const bool is_qkv = name.ends_with(".attention.qkv.weight");
  const auto all_if = [&](bool condition) { return condition ? all : none; };
  if (decay == "all") return all;
  if (decay == "matrices") return all_if(is_weight && parameter.shape.rank() == 2);
  if (decay == "ffn") return all_if(is_weight && name.find(".feed_forward.") != std::string::npos);
  if (decay == "embeddings") return all_if(parameter.role == ParameterRole::embedding || name == "unembedding.weight");
  if (decay == "gains") return all_if(parameter.role == ParameterRole::norm_gain);
  SINK_CHECK(decay == "qk" || decay == "vo", "decay", "unknown group " + decay);
  if (!is_qkv) return all_if(decay == "vo" && name.ends_with(".attention.out.weight"));
  const std::int64_t columns = parameter.shape[1];
  const std::int64_t values = (sizes.heads + sizes.key_heads()) * sizes.width_of_head() * columns;  // where they begin
  return decay == "qk" ? Segment{0, values} : Segment{values, all.end};
}

Optimizer::Optimizer(ParameterArena& parameters, const RunConfig& config, ParameterShards shards)
    : parameters_(parameters),
      shards_(std::move(shards)),
      squares_(parameters.masters().new_zeros({parameters.padded_size() / kSquaredNormBlock}, DType::F64)),
      weight_decay_(config.weight_decay),
      decay_(config.decay),
      sizes_(config) {
  static_assert(ParameterArena::kBucketAlignment == kSquaredNormBlock);
  parameters_.allocate_gradients();
}

void Optimizer::sum_squared_gradients(Tensor& sum, DistributedStrategy* strategy) const {
  // The arena has gradients of earlier steps where no gradient arrived in this one.
  for (const auto& parameter : parameters_)
    if (!parameter->var().grad().defined()) ParameterArena::slice(parameters_.gradients(), *parameter).fill(0);
  Tensor all_squares = squares_;
  auto blocks = [](const Segment& segment) {
    return Segment{segment.begin / kSquaredNormBlock, segment.end / kSquaredNormBlock};
  };
  for (const Segment& owned : shards_.owned()) {
    Tensor squares = all_squares.rows(blocks(owned).begin, blocks(owned).end);
    partial_squared_norms(parameters_.gradients().rows(owned.begin, owned.end), squares);
  }
  if (strategy) strategy->all_gather_shards(all_squares, kSquaredNormBlock);
  std::vector<Segment> buckets;
  for (const Segment& bucket : parameters_.buckets()) buckets.push_back(blocks(bucket));
  sum_squared_norms(all_squares, buckets, sum);
}

void Optimizer::step(const Tensor& step_scalars) {
  update(step_scalars);
  zero_grad();
}

void Optimizer::zero_grad() { parameters_.clear_gradients(); }

double Optimizer::weight_decay_of(const Parameter& parameter) const {
  const Segment part = decayed_part(parameter.info(), decay_, sizes_);
  const bool is_whole = part.size() == parameter.info().shape.size();
  SINK_CHECK(is_whole || part.size() == 0, "optimizer", "only a part of " + parameter.name() + " decays");
  return is_whole ? weight_decay_ : 0;
}

std::vector<Optimizer::Range> Optimizer::ranges_of(const std::function<bool(const Parameter&)>& belongs) const {
  std::vector<Range> ranges;
  const auto add = [&](Segment segment, double decay) {
    if (segment.size() == 0) return;
    if (!ranges.empty() && ranges.back().segment.end == segment.begin && ranges.back().weight_decay == decay)
      ranges.back().segment.end = segment.end;
    else
      ranges.push_back({segment, decay});
  };
  for (std::size_t n = 0; n < parameters_.size(); ++n) {
    const Parameter& parameter = *parameters_[n];
    if (!belongs(parameter)) continue;
    const bool last = n + 1 == parameters_.size();
    const auto [begin, end] = parameter.segment();
    const std::int64_t padded_end = last ? parameters_.padded_size() : parameters_[n + 1]->segment().begin;
    const Segment part = decayed_part(parameter.info(), decay_, sizes_);
    const std::int64_t decay_begin = begin + part.begin, decay_end = begin + part.end;
    add({begin, decay_begin}, 0);
    add({decay_begin, decay_end == end ? padded_end : decay_end}, weight_decay_);
    if (decay_end != end) add({decay_end, padded_end}, 0);
  }
  return ranges;
}

void Optimizer::for_each_with_gradient(const std::vector<Range>& ranges,
                                       const std::function<void(const Range&, Slices&)>& f) const {
  Tensor copy = parameters_.copy();
  const std::vector<Segment> spans = parameters_.spans_with_gradient();
  for (const Segment& owned : shards_.owned())
    for (const Segment& span : spans)
      for (const Range& range : ranges) {
        Segment all{std::max({owned.begin, span.begin, range.segment.begin}),
                    std::min({owned.end, span.end, range.segment.end})};
        if (all.begin >= all.end) continue;
        Slices slices{parameters_.gradients().rows(all.begin, all.end), parameters_.masters().rows(all.begin, all.end),
                      copy.defined() ? copy.rows(all.begin, all.end) : Tensor()};
        f({all, range.weight_decay}, slices);
      }
}

Tensor Optimizer::zeros_like_masters() const {
  return parameters_.masters().new_zeros({shards_.size()}, parameters_.masters().dtype());
}

Tensor Optimizer::rows_of(const Tensor& moment, const Range& range) const {
  const Segment place = shards_.local(range.segment);
  return moment.rows(place.begin, place.end);
}

std::vector<OptimizerState> Optimizer::state() const {
  SINK_CHECK(shards_.is_whole(), "train",
             "state() of an optimiser that has a shard of it (train/distributed/sharded_state.h)");
  std::vector<OptimizerState> state;
  for (const auto& parameter : parameters_)
    for (const OptimizerState& moment : moments())
      state.push_back({moment.name + "/" + parameter->name(), ParameterArena::slice(moment.values, *parameter)});
  return state;
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
  return make_optimizer(parameters, config, ParameterShards(parameters));
}

std::unique_ptr<Optimizer> make_optimizer(ParameterArena& parameters, const RunConfig& config,
                                          const ParameterShards& shards) {
  const OptimizerKind& kind = optimizer_kind(config.optimizer);
  if (!kind.element_wise && !shards.is_whole())
    fail("train",
         "--zero shards the state of element-wise optimizers (" +
             optimizers_that([](const OptimizerKind& other) { return other.element_wise; }) + "); " + kind.name +
             " looks at whole matrices: it needs --zero 0",
         Exit::usage);
  return kind.make(parameters, config, shards);
}

}  // namespace sink
