// llama2.c's files: every tensor's place in one by hand, and what is refused.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "tests/support/check_refused.h"
#include "tests/support/decode_rows.h"
#include "tests/support/files.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

TEST_CASE("llama2.c: names, shapes and places, whether the unembedding is shared or not") {
  TemporaryFolder folder;
  struct Place {
    const char* name;
    Shape shape;
    int first;  // the number it begins with
  };
  // 5 words of 4; then of both layers together: 2 x 4, 2 x 16, 2 x 8, 2 x 8, 2 x 16, 2 x 4, 3 times 2 x 12
  const Place places[] = {{"tok_embeddings.weight", {5, 4}, 0},
                          {"layers.0.attention_norm.weight", {4}, 20},
                          {"layers.1.attention_norm.weight", {4}, 24},
                          {"layers.0.attention.wq.weight", {4, 4}, 28},
                          {"layers.1.attention.wq.weight", {4, 4}, 44},
                          {"layers.0.attention.wk.weight", {2, 4}, 60},
                          {"layers.1.attention.wv.weight", {2, 4}, 84},
                          {"layers.0.attention.wo.weight", {4, 4}, 92},
                          {"layers.0.ffn_norm.weight", {4}, 124},
                          {"layers.0.feed_forward.w1.weight", {3, 4}, 132},
                          {"layers.1.feed_forward.w2.weight", {4, 3}, 168},
                          {"layers.0.feed_forward.w3.weight", {3, 4}, 180},
                          {"norm.weight", {4}, 204},
                          {"freq_cis_real", {2, 1}, 208},
                          {"freq_cis_imag", {2, 1}, 210}};
  for (bool shared : {true, false}) {
    write_bytes(folder / "x.bin", small_llama2c(shared));
    WeightFile file = open_weights(folder / "x.bin");
    CHECK(file.format() == "llama2.c");
    CHECK(file.tensors().size() == (shared ? 22 : 23));
    for (const Place& place : places) {
      CAPTURE(place.name);
      const StoredTensor& tensor = file.tensor(place.name);
      CHECK(tensor.shape == place.shape);
      std::vector<float> numbers(static_cast<std::size_t>(tensor.shape.size()));
      decode_rows(tensor, 0, tensor.rows(), numbers.data());
      CHECK(numbers.front() == static_cast<float>(place.first));
      CHECK(numbers.back() == static_cast<float>(place.first + tensor.shape.size() - 1));
    }
    CHECK((file.find("output.weight") == nullptr) == shared);
    if (!shared) CHECK(file.tensor("output.weight").shape == Shape{5, 4});
    CHECK(file.metadata("dim").integer() == 4);
    CHECK(file.metadata("n_kv_heads").integer() == 1);
    CHECK(file.metadata("vocab_size").integer() == (shared ? 5 : -5));
  }
}

TEST_CASE("llama2.c: files whose sizes are not those of their numbers are refused") {
  TemporaryFolder folder;
  auto refuse = [&](const std::string& bytes, std::initializer_list<std::string> words) {
    write_bytes(folder / "x.bin", bytes);
    check_refused([&] { open_weights(folder / "x.bin"); }, words, Exit::corrupt_checkpoint);
  };
  const std::string small = small_llama2c();
  auto with = [&](int number, std::int32_t value) {
    std::string bytes = small;
    return bytes.replace(static_cast<std::size_t>(4 * number), 4, raw_bytes(value));
  };
  refuse(small + "x", {"its sizes make 876 bytes, and it has 877"});
  refuse(small.substr(0, small.size() - 1), {"expected 8 bytes of the freq_cis_imag at byte 868, got 7"});
  refuse(small.substr(0, 27), {"seq_len"});
  refuse("", {"dim", "got 0"});
  for (int number = 0; number < 7; ++number) {
    refuse(with(number, 0), {"is 0; expected a number above 0"});
    if (number != 5) refuse(with(number, -2), {"is -2"});
    for (std::int32_t value : {1 << 30, 2147483647}) refuse(with(number, value), {"x.bin"});
  }
  refuse(with(5, -2147483647 - 1), {"x.bin"});
  refuse(with(3, 3), {"4, 3 and 1; expected each to divide"});
  std::string huge;
  for (int i = 0; i < 7; ++i) huge += raw_bytes(std::int32_t{1 << 30});
  refuse(huge, {"more elements than any memory holds"});
}
