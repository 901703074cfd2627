// The distributions of initial values, by scheme and kind of feed-forward block (paper: the released _init_weights).
#include "model/parameter_factory.h"

#include <doctest/doctest.h>

#include <cmath>

#include "model/feed_forward/feed_forward.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

template <class FeedForward>
Init last_matrix(const std::string& scheme) {
  ParameterFactory make({.layers = 5, .width = 8, .feed_forward = 16}, 0, init_scheme(scheme), 1, DType::F32);
  FeedForward block(make, "ffn", false);
  ParameterArena parameters = make.take();
  for (const auto& parameter : parameters)
    if (parameter->name() == "ffn.down.weight") return parameter->info().init;
  fail("test", "no ffn.down.weight");
}

template <class FeedForward>
void check_scales(bool study_shrinks) {
  double shrunk = 1 / (std::sqrt(16.0) * 5), whole = std::sqrt(2 / (5 * 16.0));
  CHECK(last_matrix<FeedForward>("torch").kind == Init::Kind::uniform);
  CHECK(last_matrix<FeedForward>("formula").scale == doctest::Approx(shrunk).epsilon(1e-14));
  CHECK(last_matrix<FeedForward>("formula-study").scale ==
        doctest::Approx(study_shrinks ? shrunk : whole).epsilon(1e-14));
  CHECK(last_matrix<FeedForward>("formula-study").kind == Init::Kind::normal);
}

}  // namespace

TEST_CASE("initial values: the paper's formula shrinks the last matrix of SwiGLU alone, ours that of every kind") {
  check_scales<SwiGlu>(true);
  check_scales<GeGlu>(false);
  check_scales<ReGlu>(false);
  check_scales<GeluFeedForward>(false);
  check_scales<ReluFeedForward>(false);
  check_scales<SwishFeedForward>(false);
  CHECK(exit_of([] { init_scheme("xavier"); }) == Exit::usage);
}
