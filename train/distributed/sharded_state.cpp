#include "train/distributed/sharded_state.h"

#include <nlohmann/json.hpp>

namespace sink {
namespace {

// The tensors that slices by name are made of: one for each moment, laid out like the arena.
std::vector<OptimizerState> whole_moments(const Optimizer& optimizer, const ParameterArena& parameters) {
  std::vector<OptimizerState> whole;
  for (const OptimizerState& moment : optimizer.moments())
    whole.push_back({moment.name, Tensor::zeros({parameters.padded_size()}, moment.values.dtype())});
  return whole;
}

std::vector<OptimizerState> slices_by_name(const std::vector<OptimizerState>& whole, const ParameterArena& parameters) {
  std::vector<OptimizerState> state;
  for (const auto& parameter : parameters)
    for (const OptimizerState& moment : whole)
      state.push_back({moment.name + "/" + parameter->name(), ParameterArena::slice(moment.values, *parameter)});
  return state;
}

// Calls f(bucket, this rank's rows of `own` in it, a buffer for the whole bucket) for a tensor of the rank's shards.
template <class F>
void for_each_bucket(TrainingRun& run, const Tensor& own, F&& f) {
  const ParameterShards& shards = run.optimizer().shards();
  const std::vector<Segment>& buckets = run.model().parameters().buckets();
  for (std::size_t n = 0; n < buckets.size(); ++n) {
    const Segment place = shards.local(shards.owned()[n]);
    Tensor rows = own.rows(place.begin, place.end);
    Tensor buffer = own.new_empty({buckets[n].size()}, own.dtype());
    f(buckets[n], rows, buffer);
  }
}

// `own` of all ranks, in `whole` of the writer.
void gather_at_writer(TrainingRun& run, const Tensor& own, Tensor whole) {
  Communicator& ranks = run.ranks();
  for_each_bucket(run, own, [&](const Segment& bucket, Tensor& rows, Tensor& buffer) {
    ranks.chunk_of(buffer).copy_from(rows);
    ranks.all_gather(buffer);
    ranks.wait();
    if (ranks.is_writer()) whole.rows(bucket.begin, bucket.end).copy_from(buffer);
  });
  ranks.wait();  // throws if the last gather was aborted while it was copied
}

void broadcast_each(Communicator& ranks, const std::vector<OptimizerState>& state) {
  for (const OptimizerState& one : state) {
    Tensor values = one.values;
    ranks.broadcast(values);
  }
  ranks.wait();
}

std::string text_of(const RunState& state) {
  return nlohmann::json{state.step, state.updates, state.skipped_in_a_row, state.initial_sha256}.dump();
}

RunState state_of(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {json.at(0), json.at(1), json.at(2), json.at(3)};
}

}  // namespace

std::vector<OptimizerState> gather_optimizer_state(TrainingRun& run) {
  Communicator& ranks = run.ranks();
  std::vector<OptimizerState> state;
  if (run.optimizer().shards().is_whole()) {
    if (!ranks.is_writer()) return {};
    for (const OptimizerState& one : run.optimizer().state()) state.push_back({one.name, one.values.to(Device::cpu)});
    return state;
  }
  const ParameterArena& parameters = run.model().parameters();
  std::vector<OptimizerState> whole;
  if (ranks.is_writer()) whole = whole_moments(run.optimizer(), parameters);
  const std::vector<OptimizerState> moments = run.optimizer().moments();
  for (std::size_t n = 0; n < moments.size(); ++n)
    gather_at_writer(run, moments[n].values, ranks.is_writer() ? whole[n].values : Tensor());
  return slices_by_name(whole, parameters);
}

std::vector<OptimizerState> state_to_restore(TrainingRun& run) {
  if (run.optimizer().shards().is_whole()) return run.optimizer().state();
  const ParameterArena& parameters = run.model().parameters();
  return slices_by_name(whole_moments(run.optimizer(), parameters), parameters);
}

void scatter_state(TrainingRun& run, const std::vector<OptimizerState>& state) {
  Communicator& ranks = run.ranks();
  if (ranks.is_single_process()) return;
  ParameterArena& parameters = run.model().parameters();
  RunState place = state_of(ranks.exchange(text_of(run.state())).front());
  place.last = run.state().last;
  run.set_state(place);
  ranks.broadcast(parameters.masters());
  ranks.wait();
  parameters.refresh();
  if (run.state().step == 0) return;
  if (run.optimizer().shards().is_whole()) return broadcast_each(ranks, run.optimizer().state());
  std::size_t moment = 0;
  const std::vector<OptimizerState> moments = run.optimizer().moments();
  for (const OptimizerState& own : moments) {
    for_each_bucket(run, own.values, [&](const Segment& bucket, Tensor& rows, Tensor& buffer) {
      if (ranks.is_writer())
        for (std::size_t n = 0; n < parameters.size(); ++n) {
          const Segment segment = parameters[n]->segment();
          if (segment.begin < bucket.begin || segment.begin >= bucket.end) continue;
          buffer.rows(segment.begin - bucket.begin, segment.end - bucket.begin)
              .copy_from(state[n * moments.size() + moment].values.reshape({segment.size()}));
        }
      ranks.broadcast(buffer);
      ranks.wait();
      rows.copy_from(ranks.chunk_of(buffer));
    });
    ++moment;
  }
}

}  // namespace sink
