// Event files against the bytes that the package `tensorboard` (2.21.0) writes for the same events.
#include "engine/io/tensorboard_events.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace sink;

namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("tensorboard: the checksum is that of RFC 3720, section B.4") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c("") == 0);
}

// RecordWriter of Event(wall_time=12.5, file_version="brain.Event:2"), Event(wall_time=12.5, step=301,
// session_log=SessionLog(status=START)) and Event(wall_time=13.75, step=300, summary=Summary(value=[
// Value(tag="loss/train", simple_value=4.25), Value(tag="sink/sink_1", simple_value=nan)])).
TEST_CASE("tensorboard: records are the package's, byte for byte") {
  CHECK(hex(tensorboard_header(12.5)) ==
        "1800000000000000a37f4b220900000000000029401a0d627261696e2e4576656e743a326394a44f");
  CHECK(hex(tensorboard_start(12.5, 301)) == "100000000000000095fbfe1809000000000000294010ad023a020801c6202a32");
  CHECK(
      hex(tensorboard_scalars(13.75, 300, {{"loss/train", 4.25}, {"sink/sink_1", NAN}})) ==
      "3500000000000000d6c55de6090000000000802b4010ac022a270a110a0a6c6f73732f747261696e15000088400a120a0b73696e6b2f7369"
      "6e6b5f31150000c07fafcafac6");
}
