#include "engine/check.h"

namespace sink {

void fail(const char* tag, const std::string& message, Exit code) {
  throw Error(std::string("[") + tag + "] " + message, code);
}

}  // namespace sink
