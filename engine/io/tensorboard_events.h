// Event files of TensorBoard: records of length, checksum and a small protobuf message each, as
// https://github.com/tensorflow/tensorboard reads them (tensorboard/compat/proto/event.proto, record_writer.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sink {

// The checksum of the records: CRC-32 by Castagnoli's polynomial (RFC 3720, section B.4).
std::uint32_t crc32c(std::string_view bytes);

// The first record of a file. `time`: seconds since 1970.
std::string tensorboard_header(double time);
// Begins or resumes a run: earlier records of `step` and later steps are ignored.
std::string tensorboard_start(double time, std::int64_t step);
// The scalars of one step by name; the prefix of a name before "/" is its card.
std::string tensorboard_scalars(double time, std::int64_t step,
                                const std::vector<std::pair<std::string, double>>& scalars);

}  // namespace sink
