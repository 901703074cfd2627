#include "engine/check.h"

namespace sink {

void fail(const char* tag, const std::string& message, Exit code) {
  throw Error(code == Exit::failure ? std::string("[") + tag + "] " + message : message, code);
}

}  // namespace sink
