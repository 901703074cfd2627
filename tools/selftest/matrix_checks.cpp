// The tensor cores' register layouts against CuTe's tables: every lane and every register.
#include <bit>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "engine/check.h"
#include "engine/rng.h"
#include "tools/selftest/finding.h"
#include "tools/selftest/selftest_kernels.h"

namespace sink::selftest {
namespace {

struct Coordinate {
  int row, column;
};
using Table = std::vector<std::vector<Coordinate>>;

// The register layouts of NVIDIA's CuTe. [lane][n]: the matrix coordinate of the n-th value in the lane's registers,
// the lower half of a register first. Names:
//   left, right, sums                     the operands of mma.m16n8k16
//   load, load_transposed                 ldmatrix.x4; the row is the lane that gave the address
//   swizzle_32, swizzle_64, swizzle_128   [row][n] of bf16 rows of that width; the column counts chunks of 16 bytes
Table golden_table(const std::string& name) {
  std::istringstream text(cute_tables_text());
  Table table;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(name + " ")) continue;
    int row = static_cast<int>(table.size());  // the lines of a table are in order
    std::istringstream coordinates(line.substr(line.find(':') + 1));
    table.emplace_back();
    for (std::string pair; coordinates >> pair;) {
      std::size_t comma = pair.find(',');
      table.back().push_back(comma == std::string::npos
                                 ? Coordinate{row, std::atoi(pair.c_str())}
                                 : Coordinate{std::atoi(pair.c_str()), std::atoi(pair.c_str() + comma + 1)});
    }
  }
  SINK_CHECK(!table.empty(), "selftest", "no table " + name + " in tests/golden/cuda/cute_tables.txt");
  return table;
}

std::string register_text(std::int64_t lane, std::int64_t n) {
  return "lane " + std::to_string(lane) + ", register " + std::to_string(n / 2) + ", " + (n % 2 ? "upper" : "lower") +
         " half";
}

// The n-th value in a lane's registers, two in each.
std::uint32_t half(std::uint32_t pair, std::int64_t n) { return n % 2 ? pair >> 16 : pair & 0xffffu; }

Finding pairs() {
  constexpr std::int64_t kCount = 1 << 14;
  Finding found;
  Tensor x = Tensor::empty({kCount, 2}), y = Tensor::empty({kCount}, DType::I32, Device::cuda);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    auto bits = static_cast<std::uint32_t>(i) * 0x9e3779b9u;  // of every exponent
    if (i % 4 == 1) bits = (bits & 0xffff0000u) | 0x8000u;    // halfway between two bf16
    auto value = std::bit_cast<float>(bits);
    x.data<float>()[i] = value == value ? value : 1;
  }
  pack_pairs(x.to(Device::cuda), y);
  Tensor back = y.to(Device::cpu);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    float value = x.data<float>()[i];
    found.compare(half(static_cast<std::uint32_t>(back.data<std::int32_t>()[i / 2]), i), bf16(value).bits, 0,
                  [&] { return std::to_string(value) + " as bits"; });
  }
  return found;
}

Finding loads(bool transposed) {
  constexpr std::int64_t kWarps = 64;
  Finding found;
  Table table = golden_table(transposed ? "load_transposed" : "load");
  // Row addresses in order, in reverse, and at random, with repetitions.
  Rng random(1, "selftest");
  Tensor chunks = Tensor::table<std::int32_t>(kWarps, 32, [&](std::int64_t w, std::int64_t l) {
    return w == 0   ? l
           : w == 1 ? 31 - l
                    : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(w * 32 + l), 64));
  });
  Tensor registers = Tensor::empty({kWarps, 32, 4}, DType::I32, Device::cuda);
  load_registers(chunks.to(Device::cuda), transposed, registers);
  Tensor back = registers.to(Device::cpu);
  for (std::int64_t w = 0; w < kWarps; ++w)
    for (std::int64_t l = 0; l < 32; ++l)
      for (std::int64_t n = 0; n < 8; ++n) {
        Coordinate from = table[static_cast<std::size_t>(l)][static_cast<std::size_t>(n)];
        auto pair = static_cast<std::uint32_t>(back.data<std::int32_t>()[(w * 32 + l) * 4 + n / 2]);
        found.compare(half(pair, n), chunks.data<std::int32_t>()[w * 32 + from.row] * 8 + from.column, 0,
                      [&] { return register_text(l, n) + ", warp " + std::to_string(w); });
      }
  return found;
}

// The registers of one warp that hold the matrix value(coordinate) in the table's layout.
template <class Value>
void fill_registers(const Table& table, std::int32_t* registers, Value&& value) {
  for (std::size_t l = 0; l < table.size(); ++l)
    for (std::size_t n = 0; n < table[l].size(); n += 2) {
      std::uint32_t first = bf16(value(table[l][n])).bits, second = bf16(value(table[l][n + 1])).bits;
      registers[l * table[l].size() / 2 + n / 2] = static_cast<std::int32_t>(first | second << 16);
    }
}

struct Product {
  float a[16][16], b[16][8], c[16][8];  // c: before the product
};

// One product per warp, against sums in double.
Finding multiply(const std::vector<Product>& products, double allowed) {
  const Table left = golden_table("left"), right = golden_table("right"), sums = golden_table("sums");
  auto warps = static_cast<std::int64_t>(products.size());
  Tensor a = Tensor::empty({warps, 32, 4}, DType::I32), b = Tensor::empty({warps, 32, 2}, DType::I32),
         c = Tensor::empty({warps, 32, 4});
  auto each_sum = [&](auto&& f) {
    for (std::int64_t w = 0; w < warps; ++w)
      for (std::int64_t l = 0; l < 32; ++l)
        for (std::int64_t n = 0; n < 4; ++n)
          f(products[static_cast<std::size_t>(w)], sums[static_cast<std::size_t>(l)][static_cast<std::size_t>(n)],
            (w * 32 + l) * 4 + n);
  };
  for (std::int64_t w = 0; w < warps; ++w) {
    const Product& one = products[static_cast<std::size_t>(w)];
    fill_registers(left, a.data<std::int32_t>() + w * 128, [&](Coordinate at) { return one.a[at.row][at.column]; });
    // CuTe's rows are the right matrix's columns.
    fill_registers(right, b.data<std::int32_t>() + w * 64, [&](Coordinate at) { return one.b[at.column][at.row]; });
  }
  each_sum([&](const Product& one, Coordinate at, std::int64_t i) { c.data<float>()[i] = one.c[at.row][at.column]; });
  Tensor on_device = c.to(Device::cuda);
  multiply_registers(a.to(Device::cuda), b.to(Device::cuda), on_device);
  Tensor back = on_device.to(Device::cpu);
  Finding found;
  each_sum([&](const Product& one, Coordinate at, std::int64_t i) {
    double expected = static_cast<double>(one.c[at.row][at.column]);
    for (int k = 0; k < 16; ++k)
      expected += static_cast<double>(one.a[at.row][k]) * static_cast<double>(one.b[k][at.column]);
    found.compare(back.data<float>()[i], expected, allowed, [&] {
      return "product " + std::to_string(i / 128) + ", lane " + std::to_string(i / 4 % 32) + ", sum " +
             std::to_string(i % 4);
    });
  });
  return found;
}

// One element of the left operand is 1, each in turn: the sums show its row and column.
Finding left_operand() {
  std::vector<Product> products(256);
  for (int p = 0; p < 256; ++p) {
    Product& one = products[static_cast<std::size_t>(p)] = {};
    one.a[p / 16][p % 16] = 1;
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < 8; ++n) one.b[k][n] = static_cast<float>(1 + k * 8 + n);
  }
  return multiply(products, 0);
}

Finding right_operand() {
  std::vector<Product> products(128);
  for (int p = 0; p < 128; ++p) {
    Product& one = products[static_cast<std::size_t>(p)] = {};
    one.b[p / 8][p % 8] = 1;
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < 16; ++k) one.a[i][k] = static_cast<float>(1 + i * 16 + k);
  }
  return multiply(products, 0);
}

// Full matrices. A tensor core may truncate each addend to the lowest bit of the largest, an error of up to one ulp of
// the largest for each addend.
Finding full_products() {
  Rng random(2, "selftest");
  std::vector<Product> products(64);
  std::uint64_t draw = 0;
  auto random_value = [&] { return static_cast<float>(bf16(static_cast<float>(2 * random.uniform(draw++) - 1))); };
  for (Product& one : products) {
    for (auto& row : one.a)
      for (float& x : row) x = random_value();
    for (auto& row : one.b)
      for (float& x : row) x = random_value();
    for (auto& row : one.c)
      for (float& x : row) x = random_value();
  }
  return multiply(products, 17 * 0x1p-19);
}

// Tiles of the attention kernels, with rows after the last: copied, and loaded in each of three ways.
Finding tiles(std::int64_t width, TileLoad load) {
  constexpr int kRows = 51;
  Finding found;
  const Table table = golden_table(load == TileLoad::columns ? "load_transposed" : "load");
  Tensor x = Tensor::empty({64, width}, DType::BF16);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<bf16>()[i].bits = static_cast<std::uint16_t>(i + 1);
  Tensor registers = Tensor::empty({4, width / 16, 32, 4}, DType::I32, Device::cuda);
  load_tile(x.to(Device::cuda), kRows, Order::swizzled, load, registers);
  Tensor back = registers.to(Device::cpu);
  for (std::int64_t i = 0; i < registers.size() * 2; ++i) {
    std::int64_t matrix = i / 256, lane = i / 8 % 32;
    Coordinate from = table[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i % 8)];
    // The 8 x 8 matrix that a lane's row belongs to. The first two of the four are neighbours in a row of matrices
    // where operands are rows of the tile, else in a column.
    int matrix_row = from.row / 8 % 2, matrix_column = from.row / 16;
    if (load == TileLoad::rows) std::swap(matrix_row, matrix_column);
    std::int64_t row = matrix / (width / 16) * 16 + matrix_row * 8 + from.row % 8,
                 column = matrix % (width / 16) * 16 + matrix_column * 8 + from.column;
    auto pair = static_cast<std::uint32_t>(back.data<std::int32_t>()[i / 2]);
    found.compare(half(pair, i), row < kRows ? static_cast<double>(row * width + column + 1) : 0, 0,
                  [&] { return register_text(lane, i % 8) + ", matrix " + std::to_string(matrix); });
  }
  return found;
}

// The swizzles of CuTe. It has none for rows of 96 values, which use that of 32 three times.
Finding swizzle(std::int64_t width) {
  Finding found;
  std::int64_t table_width = width == 96 ? 32 : width;
  const Table table = golden_table("swizzle_" + std::to_string(table_width));
  Tensor columns = Tensor::empty({64, width / 8}, DType::I32, Device::cuda);
  swizzled_columns(columns);
  Tensor back = columns.to(Device::cpu);
  for (std::int64_t i = 0; i < columns.size(); ++i) {
    std::int64_t row = i / (width / 8), chunk = i % (width / 8), n = chunk % (table_width / 8);
    int expected = table[static_cast<std::size_t>(row % 8)][static_cast<std::size_t>(n)].column;
    found.compare(back.data<std::int32_t>()[i], static_cast<double>(chunk - n + expected), 0,
                  [&] { return "row " + std::to_string(row) + ", chunk " + std::to_string(chunk); });
  }
  return found;
}

}  // namespace

std::vector<Check> matrix_checks() {
  std::vector<Check> checks{{"pack_bf16x2, rounded to nearest even", pairs},
                            {"ldmatrix.x4, every lane and register", [] { return loads(false); }},
                            {"ldmatrix.x4.trans, every lane and register", [] { return loads(true); }},
                            {"mma.m16n8k16, every element on the left", left_operand},
                            {"mma.m16n8k16, every element on the right", right_operand},
                            {"mma.m16n8k16, full matrices added to sums", full_products}};
  for (std::int64_t width : {32, 64, 96, 128})
    checks.push_back({"SharedTile, rows " + std::to_string(width) + " wide, swizzle", [=] { return swizzle(width); }});
  for (std::int64_t width : {32, 64, 96, 128})
    for (auto [load, name] :
         {std::pair{TileLoad::left, "left operands"}, {TileLoad::rows, "rows"}, {TileLoad::columns, "columns"}})
      checks.push_back({"SharedTile, rows " + std::to_string(width) + " wide, " + name,
                        [width, load = load] { return tiles(width, load); }});
  return checks;
}

}  // namespace sink::selftest
