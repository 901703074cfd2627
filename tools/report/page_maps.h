// Attention patterns as short text inside the page.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

constexpr std::size_t kMapBytes = 3'000'000;  // of the text of all maps of a page

struct MapLimits {
  std::size_t tokens = 512;   // of a sequence, from its begin
  std::size_t sequences = 8;  // of a run
};

// The largest limits with which the maps of all runs take at most `bytes` of text; tokens are reduced first.
MapLimits map_limits(const std::vector<Run>& runs, std::size_t bytes);

// {layers, heads, extra_key, sink_token, window, prefix, full, exponent, of, tokens: [sequence][T], chosen: {...},
// weights: [(sequence * layers + layer) * heads + head]}. A map is its weights divided by 2^exponent, as base64 of
// 16-bit floats (IEEE 754 binary16, little-endian, rounded to nearest even), row by row: the extra key's, if there is
// one, then those of the keys that the query sees (all keys, if `full`); null where the run has not stored it. `of` is
// the full number of tokens of the sequences.
nlohmann::json maps_json(const Run& run, const MapLimits& limits);

}  // namespace sink::report
