#include "engine/io/build_info.h"

namespace sink {

const std::string& build_commit() {
  static const std::string commit =
#include "build_commit.inc"  // written by tools/build_commit.cmake
      ;
  return commit;
}

}  // namespace sink
