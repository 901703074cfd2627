// The stages of a trace that are the same for every operation.
#include "engine/ops/attention/ref/attention_trace_ref.h"

namespace sink::ref {

AttentionTrace trace_of_scores(const Head& head, std::int64_t b, std::int64_t h, std::int64_t i) {
  std::int64_t g = head.group_of(h);
  std::vector<std::int64_t> keys = keys_of(head, b, i);
  Row q = head.q(b, h, head.row(i));
  std::vector<double> s = score_row(head, i, q, keys, head.k(b, g, keys));
  AttentionTrace trace;
  trace.i = i, trace.head = h, trace.key_head = g;
  trace.scale = head.config.scale, trace.has_bias = !head.bias.empty();
  trace.n = static_cast<double>(keys.size());
  trace.q = copy_of(q);
  trace.q_norm = norm_of(q);
  for (std::size_t n = 0; n < s.size(); ++n) {
    AttentionTrace::Key key;
    bool extra = n == keys.size();
    key.j = extra ? AttentionTrace::kExtraKey : keys[n];
    key.k = copy_of(extra ? head.extra_k : head.k(b, g, key.j));
    key.v = copy_of(extra ? head.extra_v : head.v(b, g, key.j));
    key.k_norm = norm_of(key.k), key.v_norm = norm_of(key.v);
    key.q_dot_k = key.k.empty() ? 0 : dot(q, key.k);
    double norms = trace.q_norm * key.k_norm;
    key.cosine = norms > 0 ? key.q_dot_k / norms : 0;
    key.bias = extra ? 0 : head.bias_at(i, key.j);
    key.s = s[n];
    trace.keys.push_back(key);
  }
  return trace;
}

void trace_mix(AttentionTrace& trace) {
  trace.o_norm = norm_of(trace.o);
  for (AttentionTrace::Key& key : trace.keys) {
    key.mixed_norm = std::abs(key.a) * key.v_norm;
    if (trace.o_norm > 0 && !key.v.empty()) key.share = key.a * dot(key.v, trace.o) / (trace.o_norm * trace.o_norm);
  }
}

}  // namespace sink::ref
