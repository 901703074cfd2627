// The sizes of a Tensor, at most five of them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace sink {

class Shape {
 public:
  static constexpr int kMaxRank = 5;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);

  int rank() const { return rank_; }
  // Size of one axis; negative axes count from the back.
  std::int64_t operator[](int axis) const { return sizes_[axis < 0 ? axis + rank_ : axis]; }
  std::int64_t& operator[](int axis) { return sizes_[axis < 0 ? axis + rank_ : axis]; }
  // Number of elements (1 for a scalar of rank 0).
  std::int64_t size() const;
  bool operator==(const Shape& other) const = default;  // unused sizes are 0
  // "(2, 8, 64)"
  std::string str() const;
  void append(std::int64_t size);

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

}  // namespace sink
