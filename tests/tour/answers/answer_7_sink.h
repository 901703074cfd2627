// An answer to exercise 7 of the tour.
#pragma once

#include <cmath>
#include <vector>

namespace sink::tour {

using Map = std::vector<std::vector<double>>;

inline double alpha_of(const Map& map, int k, bool proxy) {
  double sum = 0;
  std::size_t key = static_cast<std::size_t>(k - 1);
  for (std::size_t i = key; i < map.size(); ++i) {
    double mass = 0;
    for (double a : map[i]) mass += std::abs(a);
    sum += proxy ? std::abs(map[i][key]) / mass : map[i][key];
  }
  return sum / static_cast<double>(map.size() - key);
}

inline double sink_of(const std::vector<Map>& heads, int k, bool proxy) {
  int above = 0;
  for (const Map& map : heads) above += alpha_of(map, k, proxy) > 0.3;
  return 100.0 * above / static_cast<double>(heads.size());
}

}  // namespace sink::tour
