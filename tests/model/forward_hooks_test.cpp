// ForwardHooks: the order and shape of all points; reading a tensor changes no bit; a replaced tensor is used from
// there on, by closed forms.
#include "model/forward_hooks.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/model/model_support.h"

using namespace sink;
using namespace sink::test;

namespace {

std::string kind_name(SublayerKind kind) { return kind == SublayerKind::attention ? "attention" : "feed_forward"; }

// Notes every point as "name layer shape".
struct Listing : ForwardHooks {
  std::vector<std::string> seen;

  void note(const std::string& point, std::int64_t layer, const Tensor& x) {
    seen.push_back(point + " " + std::to_string(layer) + " " + x.shape().str());
  }
  void embedding(Var& e_BTC) override { note("embedding", 0, e_BTC.value()); }
  void residual_pre(std::int64_t layer, Residual& x) override { note("residual_pre", layer, x.sum().value()); }
  void residual_post(std::int64_t layer, Residual& x) override { note("residual_post", layer, x.sum().value()); }
  void residual_before_norm(std::int64_t layer, const Tensor& x) override { note("residual_before_norm", layer, x); }
  void sublayer_input(std::int64_t layer, SublayerKind kind, Var& h) override {
    note("input of " + kind_name(kind), layer, h.value());
  }
  void projection_input(std::int64_t layer, SublayerKind kind, Var& y) override {
    note("projection of " + kind_name(kind), layer, y.value());
  }
  void sublayer_output(std::int64_t layer, SublayerKind kind, Var& f) override {
    note("output of " + kind_name(kind), layer, f.value());
  }
  void projected_heads(std::int64_t layer, Var& qkv) override { note("projected heads", layer, qkv.value()); }
  void query_key_value(std::int64_t layer, Var& q, Var& k, Var& v) override {
    note("query", layer, q.value());
    note("key", layer, k.value());
    note("value", layer, v.value());
  }
  void attention(AttentionPoint& point) override {
    note("pattern", point.layer, point.pattern(0, 0));
    note("heads", point.layer, point.o_BHTD.value());
  }
};

Var constant_like(const Var& x, double value) { return Var(Tensor::full(x.value().shape(), value, x.value().dtype())); }

bool same_bits(const Tensor& a, const Tensor& b) {
  for (std::int64_t n = 0; n < a.size(); ++n)
    if (a.item(n) != b.item(n)) return false;
  return a.shape() == b.shape();
}

Tensor tokens() { return random_tokens(2, 7, small_sizes().vocabulary); }

}  // namespace

TEST_CASE("forward hooks: every point, in the order of the pass") {
  Sizes sizes = small_sizes();
  sizes.layers = 1;
  auto points = [&](const std::string& ablation) {
    Listing listing;
    make_model(ablation, sizes)->logits(tokens(), {.hooks = &listing});
    return listing.seen;
  };
  const std::vector<std::string> usual{"embedding 0 (2, 7, 24)",
                                       "residual_pre 0 (2, 7, 24)",
                                       "input of attention 0 (2, 7, 24)",
                                       "projected heads 0 (2, 7, 72)",
                                       "query 0 (2, 3, 7, 8)",
                                       "key 0 (2, 3, 7, 8)",
                                       "value 0 (2, 3, 7, 8)",
                                       "pattern 0 (7, 7)",
                                       "heads 0 (2, 3, 7, 8)",
                                       "projection of attention 0 (2, 7, 24)",
                                       "output of attention 0 (2, 7, 24)",
                                       "input of feed_forward 0 (2, 7, 24)",
                                       "projection of feed_forward 0 (2, 7, 20)",
                                       "output of feed_forward 0 (2, 7, 24)",
                                       "residual_post 0 (2, 7, 24)"};
  CHECK(points("baseline") == usual);
  std::vector<std::string> post = usual;
  post.insert(post.end() - 1, "residual_before_norm 0 (2, 7, 24)");
  CHECK(points("norm_post") == post);
  CHECK(points("bias_sinktoken").front() == "embedding 0 (2, 8, 24)");
}

TEST_CASE("forward hooks: looking leaves every ablation's bits alone") {
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    Sizes sizes = small_sizes();
    sizes.width = 3 * 64;  // bias_k_d64 learns 64 components of each head's key
    auto model = make_model(ablation.name, sizes);
    Listing listing;
    CHECK(same_bits(model->logits(tokens(), {.hooks = &listing}), model->logits(tokens())));
  }
}

TEST_CASE("forward hooks: without what sublayers add, hidden states are the embedding's") {
  struct Silent : HiddenStateHooks {
    std::vector<Tensor> states;
    void hidden_state(std::int64_t, const Tensor& x_BTC) override { states.push_back(x_BTC.clone()); }
    void sublayer_output(std::int64_t, SublayerKind, Var& f_BTC) override { f_BTC = constant_like(f_BTC, 0); }
  } silent;
  make_model("baseline")->logits(tokens(), {.hooks = &silent});
  REQUIRE(silent.states.size() == 3);
  CHECK(same_bits(silent.states[1], silent.states[0]));
  CHECK(same_bits(silent.states[2], silent.states[0]));
}

TEST_CASE("forward hooks: equal queries and keys give a uniform pattern, equal values that value") {
  struct Equal : ForwardHooks {
    Tensor pattern, o;
    void query_key_value(std::int64_t layer, Var& q, Var& k, Var& v) override {
      if (layer != 1) return;
      q = constant_like(q, 0.5);
      k = constant_like(k, -2);
      v = constant_like(v, 3);
    }
    void attention(AttentionPoint& point) override {
      if (point.layer != 1) return;
      pattern = point.pattern(1, 2);
      o = point.o_BHTD.value().clone();
    }
  } equal;
  make_model("baseline")->logits(tokens(), {.hooks = &equal});
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = 0; j < 7; ++j)
      CHECK(equal.pattern.item(i * 7 + j) ==
            doctest::Approx(j <= i ? 1 / static_cast<double>(i + 1) : 0).epsilon(1e-14));
  for (std::int64_t n = 0; n < equal.o.size(); ++n) CHECK(equal.o.item(n) == doctest::Approx(3).epsilon(1e-14));
}

TEST_CASE("forward hooks: a tensor that is replaced at any point reaches the logits") {
  enum class At { embedding, pre, post, input, query, heads, projection, output };
  struct Replacing : ForwardHooks {
    At at;
    std::int64_t calls = 0;
    explicit Replacing(At at) : at(at) {}
    void change(At here, std::int64_t layer, Var& x) {
      if (here != at || layer != 0) return;
      ++calls;
      x = constant_like(x, 0.25);
    }
    void embedding(Var& x) override { change(At::embedding, 0, x); }
    void residual_pre(std::int64_t layer, Residual& x) override { of_residual(At::pre, layer, x); }
    void residual_post(std::int64_t layer, Residual& x) override { of_residual(At::post, layer, x); }
    void of_residual(At here, std::int64_t layer, Residual& x) {
      Var sum = x.sum();
      change(here, layer, sum);
      x = sum;
    }
    void sublayer_input(std::int64_t layer, SublayerKind kind, Var& x) override {
      if (kind == SublayerKind::attention) change(At::input, layer, x);
    }
    void query_key_value(std::int64_t layer, Var& q, Var&, Var&) override { change(At::query, layer, q); }
    void attention(AttentionPoint& point) override { change(At::heads, point.layer, point.o_BHTD); }
    void projection_input(std::int64_t layer, SublayerKind kind, Var& x) override {
      if (kind == SublayerKind::feed_forward) change(At::projection, layer, x);
    }
    void sublayer_output(std::int64_t layer, SublayerKind kind, Var& x) override {
      if (kind == SublayerKind::feed_forward) change(At::output, layer, x);
    }
  };
  auto model = make_model("baseline");
  const Tensor plain = model->logits(tokens());
  for (At at : {At::embedding, At::pre, At::post, At::input, At::query, At::heads, At::projection, At::output}) {
    CAPTURE(static_cast<int>(at));
    Replacing hooks(at);
    const Tensor changed = model->logits(tokens(), {.hooks = &hooks});
    CHECK(hooks.calls == 1);
    CHECK(relative_difference(changed, plain) > 1e-6);
    // Where a constant replaces the whole stream, all rows are alike but for rotation, which equal values do not show.
    if (at == At::embedding || at == At::pre || at == At::post) {
      const std::int64_t V = changed.dim(2);
      for (std::int64_t v = 0; v < V; ++v)
        CHECK(changed.item(v) == doctest::Approx(changed.item(6 * V + v)).epsilon(1e-9));
    }
  }
}
