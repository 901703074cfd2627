// Values of every stored type as floats, compared with closed forms and values that PyPI's gguf dequantized
// (tests/golden/weights). They must be equal to the last bit.
#include "tests/support/decode_rows.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "engine/rng.h"
#include "engine/stored/stored_blocks.h"
#include "tests/support/check_refused.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

namespace {

const std::string kGolden = SINK_SOURCE_DIR "/tests/golden/weights/";

std::vector<float> decoded(const StoredTensor& stored) {
  std::vector<float> all(static_cast<std::size_t>(stored.shape.size()));
  decode_rows(stored, 0, stored.rows(), all.data());
  return all;
}

StoredTensor stored(StoredType type, const Shape& shape, const std::string& bytes) {
  REQUIRE(stored_bytes("x", type, shape) == bytes.size());
  return {"x", type, shape, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("decode: every f16 is what its sign, exponent and fraction say, alone and in a row") {
  std::vector<std::uint16_t> all(1 << 16);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  std::vector<float> row(all.size());
  decode(StoredType::F16, reinterpret_cast<const unsigned char*>(all.data()), 1 << 16, row.data());
  for (int bits = 0; bits < 1 << 16; ++bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits >> 15 ? -1 : 1;
    float expected = static_cast<float>(
        sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25)));
    if (exponent == 31) expected = static_cast<float>(sign) * std::numeric_limits<float>::infinity();
    float got = float_of_f16(static_cast<std::uint16_t>(bits));
    bool same = exponent == 31 && fraction != 0
                    ? std::isnan(got)
                    : std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(expected);
    CHECK_MESSAGE(same, bits, ": expected ", expected, ", got ", got);
    const float of_row = row[static_cast<std::size_t>(bits)];
    CHECK((std::isnan(got) ? std::isnan(of_row)
                           : std::bit_cast<std::uint32_t>(of_row) == std::bit_cast<std::uint32_t>(got)));
  }
}

TEST_CASE("decode: plain types, at any address, are the numbers that PyPI safetensors wrote") {
  WeightFile file = read_safetensors(kGolden + "types.safetensors");
  for (const char* name : {"float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8"}) {
    CAPTURE(name);
    CHECK(decoded(file.tensor(name)) == std::vector<float>{-3, -2, -1, 0, 1, 2});
  }
  CHECK(decoded(file.tensor("uint8")) == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(decoded(file.tensor("bool")) == std::vector<float>{0, 1, 0, 1, 0, 1});
  CHECK(decoded(file.tensor("scalar")) == std::vector<float>{2.5});
  CHECK(decoded(file.tensor("empty")).empty());
  std::string bytes(1, '?');
  bytes += raw_floats({1.5, -2});
  StoredTensor odd{"x", StoredType::F32, {2}, reinterpret_cast<const unsigned char*>(bytes.data()) + 1, 8};
  CHECK(decoded(odd) == std::vector<float>{1.5, -2});
}

TEST_CASE("decode: wide numbers are rounded once") {
  std::string doubles = raw_bytes(0.1) + raw_bytes(1e300) + raw_bytes(-1e-300);
  CHECK(same_bits(decoded(stored(StoredType::F64, {3}, doubles)), {0.1f, INFINITY, -0.0f}));
  std::string longs = raw_bytes(std::int64_t{(1 << 24) + 1}) + raw_bytes(std::numeric_limits<std::int64_t>::max());
  CHECK(decoded(stored(StoredType::I64, {2}, longs)) == std::vector<float>{1 << 24, 9223372036854775808.0f});
}

TEST_CASE("decode: blocks have the bits of PyPI gguf's dequantize") {
  WeightFile file = read_gguf(kGolden + "blocks.gguf"), expected = read_safetensors(kGolden + "blocks.safetensors");
  CHECK(file.tensors().size() == 18);
  for (const StoredTensor& tensor : file.tensors()) {
    CAPTURE(tensor.name);
    CHECK(tensor.name == layout_of(tensor.type).name);
    const StoredTensor& e = expected.tensor(tensor.name);
    CHECK(tensor.shape == e.shape);
    CHECK(e.type == StoredType::F32);
    CHECK(same_bits(decoded(tensor), decoded(e)));
    double largest = 0;
    for (float x : decoded(e)) largest = std::max(largest, std::abs(static_cast<double>(x)));
    CHECK(largest > 0.1);
  }
}

TEST_CASE("decode: dot products with rows of every type have the bits of those with decoded rows") {
  WeightFile file = read_gguf(kGolden + "blocks.gguf");
  for (const StoredTensor& tensor : file.tensors()) {
    CAPTURE(tensor.name);
    const std::int64_t row = tensor.row_size();
    const std::vector<float> all = decoded(tensor);
    std::vector<float> x(static_cast<std::size_t>(row));
    const Rng rng(3, "x");
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(rng.uniform(i)) - 0.5f;
    for (std::int64_t r = 0; r < tensor.rows(); ++r) {
      const unsigned char* bytes = tensor.data + static_cast<std::size_t>(r) * (tensor.bytes / tensor.rows());
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < row; ++i) {
        const double term = static_cast<double>(x[i]) * static_cast<double>(all[r * row + i]);
        sum += term;
        magnitude += std::abs(term);
      }
      const float got = dot(tensor.type, bytes, x.data(), row), same = dot(all.data() + r * row, x.data(), row);
      if (!std::isfinite(sum)) continue;  // values of MXFP4 beyond f32
      CHECK(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(same));
      if (magnitude < 1e38) CHECK(std::abs(static_cast<double>(got) - sum) <= 1e-6 * magnitude);
    }
  }
}

TEST_CASE("decode: rows are the last axis, from any to any") {
  WeightFile file = read_gguf(kGolden + "blocks.gguf");
  for (const StoredTensor& tensor : file.tensors()) {
    CAPTURE(tensor.name);
    std::vector<float> all = decoded(tensor);
    std::int64_t row = tensor.row_size();
    CHECK(row == tensor.shape[-1]);
    CHECK(tensor.rows() == tensor.shape.size() / row);
    for (std::int64_t first = 0; first < tensor.rows(); ++first) {
      std::vector<float> last(static_cast<std::size_t>((tensor.rows() - first) * row));
      decode_rows(tensor, first, tensor.rows() - first, last.data());
      CHECK(same_bits(last, {all.begin() + first * row, all.end()}));
    }
    decode_rows(tensor, tensor.rows(), 0, nullptr);
    check_refused([&] { decode_rows(tensor, 1, tensor.rows(), all.data()); }, {tensor.name, "rows; asked for"});
    check_refused([&] { decode_rows(tensor, -1, 1, all.data()); }, {tensor.name});
  }
}

// gguf computes a number (engine/io/weights/README.md).
TEST_CASE("decode: each code of E4M3, alone and with a scale, is the number that its standard says") {
  for (int code = 0; code < 256; ++code) {
    CAPTURE(code);
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    const double x = code < 128 ? magnitude : -magnitude;
    const std::string byte(1, static_cast<char>(code));
    if ((code & 127) == 127) {
      CHECK(std::isnan(decoded(stored(StoredType::F8_E4M3, {1}, byte))[0]));
      continue;
    }
    CHECK(decoded(stored(StoredType::F8_E4M3, {1}, byte))[0] == x);
    const float scale = 0.37f;
    std::string block(reinterpret_cast<const char*>(&scale), 4);
    for (int i = 0; i < 32; ++i) block += byte;
    for (float y : decoded(stored(StoredType::ScaledF8, {32}, block))) CHECK(y == scale * static_cast<float>(x));
  }
}

TEST_CASE("decode: four bits with a scale and an offset in F32 are d code + m") {
  const float d = 0.37f, m = -1.85f;
  std::string block(reinterpret_cast<const char*>(&d), 4);
  block.append(reinterpret_cast<const char*>(&m), 4);
  for (int i = 0; i < 16; ++i) block += static_cast<char>(i | (15 - i) << 4);
  const auto values = decoded(stored(StoredType::Scaled4, {32}, block));
  for (std::size_t i = 0; i < 32; ++i)
    CHECK(
        static_cast<double>(values[i]) ==
        doctest::Approx(0.37 * (i < 16 ? static_cast<double>(i) : 31.0 - static_cast<double>(i)) - 1.85).epsilon(1e-6));
}

TEST_CASE("decode: a scale of 255 in MXFP4 is NaN") {
  for (float x : decoded(stored(StoredType::MXFP4, {32}, "\xFF" + std::string(16, '\x21')))) CHECK(std::isnan(x));
}
