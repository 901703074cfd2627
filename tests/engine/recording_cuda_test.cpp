// Recordings on the CUDA device: recorded work runs again with the current contents of tensors, and work that cannot be
// repeated is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/ops/add/add.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/recording.h"
#include "tests/support/check_refused.h"
#include "tests/support/in_child.h"

using namespace sink;

namespace {

Tensor on_device(const std::vector<float>& values) {
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values).to(Device::cuda);
}

}  // namespace

TEST_CASE("recording: nothing runs while it is made, and every run reads what is there then") {
  Tensor x = on_device({1, 2}), sum = on_device({10, 10});
  Recording adding(Device::cuda, [&] { add_into(sum, x); });
  CHECK(sum.item(0) == 10);
  adding.run();
  adding.run();
  CHECK(sum.item(0) == 12);
  CHECK(sum.item(1) == 14);
  x.copy_from(on_device({100, 200}));
  adding.run();
  CHECK(sum.item(1) == 214);
}

TEST_CASE("recording: work with tensors and products of its own, in the order of the calls") {
  Tensor a = Tensor::from<float>({2, 2}, {1, 2, 3, 4}).to(Device::cuda),
         out = Tensor::zeros({2, 2}, DType::F32, Device::cuda);
  Recording squaring(Device::cuda, [&] {
    Tensor square = a.new_empty({2, 2}, DType::F32);
    matmul({a}, {a}, square);
    Tensor again = a.new_empty({2, 2}, DType::F32);
    matmul({square}, {a}, again);
    square = Tensor();  // freed before the next is asked for: it may get the same memory
    Tensor twice = again.clone();
    add_into(twice, again);
    out.copy_from(twice);
  });
  for (int run = 0; run < 3; ++run) {
    out.fill(NAN);
    squaring.run();
    const std::vector<double> cube{37, 54, 81, 118};
    for (std::int64_t i = 0; i < 4; ++i) CHECK(out.item(i) == 2 * cube[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("recording: memory that the work asks for is fresh at every run") {
  Tensor out = on_device({0}), one = on_device({1});
  Recording reading(Device::cuda, [&] {
    Tensor fresh = out.new_empty({1}, DType::F32);
    out.copy_from(fresh);
    fresh.copy_from(one);
  });
  for (int run = 0; run < 2; ++run) {
    reading.run();
    if (description_of(Device::cuda) == "cuda (emulated)") CHECK(std::isnan(out.item()));
  }
}

TEST_CASE("recording: what cannot be repeated is refused, and the device goes on") {
  Tensor x = on_device({1, 2}), kept, kept_too, on_host = Tensor::zeros({2});
  auto before = std::make_unique<Tensor>(on_device({3, 4}));
  auto refused = [&](const std::string& words, auto&& launches) {
    check_refused([&] { Recording(Device::cuda, launches); }, {words}, Exit::failure);
  };
  refused("a copy between the host and the device", [&] { x.copy_from(on_host); });
  refused("a copy between the host and the device", [&] { x.item(); });
  refused("2 tensors that the work made are still held", [&] { kept = x.clone(), kept_too = x.clone(); });
  refused("was there before", [&] { before.reset(); });
  refused("another one is being made", [&] { Recording(Device::cuda, [] {}); });
  refused("[own] failure", [&] {
    Tensor lost = x.clone();
    fail("own", "failure");
  });
  Recording adding(Device::cuda, [&] { add_into(x, x.clone()); });
  adding.run();
  CHECK(x.item(1) == 4);
}

TEST_CASE("recording: of nothing, dropped before it ran, and dropped with others alive") {
  Recording nothing(Device::cuda, [] {});
  nothing.run();
  Tensor x = on_device({1});
  auto add_own = [&] { add_into(x, x.clone()); };
  auto first = std::make_unique<Recording>(Device::cuda, add_own),
       second = std::make_unique<Recording>(Device::cuda, add_own);
  first.reset();
  second->run();
  CHECK(x.item() == 2);
}

TEST_CASE("recording: the device can record, and refuses without memory pools") {
  CHECK(recording_refusal(Device::cuda) == "");
  CHECK(recording_refusal(Device::cpu) != "");
  CHECK(memory_pools_allowed());
  CHECK(in_child([] {
          ::setenv("SINK_MEMORY_POOLS", "off", 1);
          return !memory_pools_allowed() ? 0 : 1;
        }) == 0);
  for (const char* wrong : {"0", "OFF", ""})
    CHECK(in_child([wrong] {
            ::setenv("SINK_MEMORY_POOLS", wrong, 1);
            try {
              memory_pools_allowed();
            } catch (const Error& error) {
              std::fprintf(stderr, "%s\n", error.what());
              return static_cast<int>(error.code);
            }
            return 0;
          }) == static_cast<int>(Exit::usage));
}
