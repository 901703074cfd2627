// One error of each kind that the preset asan must stop at: memory_error KIND. Each is a fault that our code could
// have: a loop one step too long, a view of memory that is gone, an index that overflows.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

volatile std::int64_t zero = 0;  // what the compiler cannot know

// Reads one element after a row.
double heap_overflow() {
  const std::int64_t columns = 8 + zero;
  const auto row = std::make_unique<double[]>(static_cast<std::size_t>(columns));
  double sum = 0;
  for (std::int64_t i = 0; i <= columns; ++i) sum += row[static_cast<std::size_t>(i)];
  return sum;
}

// Keeps a pointer to elements that a growing vector has left.
double use_after_free() {
  std::vector<double> values(4, 1.0);
  const double* first = values.data();
  values.resize(4096 + static_cast<std::size_t>(zero));
  return *first;
}

// Writes after an array on the stack.
double stack_overflow() {
  volatile float lanes[8];
  for (std::int64_t i = 0; i <= 8 + zero; ++i) lanes[i] = 1;
  return lanes[0];
}

// Loses a buffer.
double leak() {
  auto* lost = static_cast<double*>(std::malloc(static_cast<std::size_t>(800 + zero)));
  lost[0] = 1;
  const double value = lost[0];
  std::memset(&lost, 0, sizeof lost);
  return value;
}

// A number of elements that does not fit its type.
double integer_overflow() {
  const std::int32_t rows = 65536 + static_cast<std::int32_t>(zero);
  return static_cast<double>(rows * rows);
}

// More bits than the type has.
double wide_shift() { return static_cast<double>(std::int32_t{1} << (32 + zero)); }

// A float read at an address that is no multiple of four.
double misaligned() {
  alignas(8) unsigned char bytes[16] = {};
  return *reinterpret_cast<const float*>(bytes + 1 + zero);
}

// A double that no integer of the type can be.
double wide_conversion() { return static_cast<double>(static_cast<std::int32_t>(1e30 + static_cast<double>(zero))); }

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, double (*)()> kinds{{"heap_overflow", heap_overflow},
                                                  {"use_after_free", use_after_free},
                                                  {"stack_overflow", stack_overflow},
                                                  {"leak", leak},
                                                  {"integer_overflow", integer_overflow},
                                                  {"wide_shift", wide_shift},
                                                  {"misaligned", misaligned},
                                                  {"wide_conversion", wide_conversion}};
  const auto kind = kinds.find(argc > 1 ? argv[1] : "");
  if (kind == kinds.end()) return 2;
  std::printf("%g: nothing stopped it\n", kind->second());
  return 0;
}
