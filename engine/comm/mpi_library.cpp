#include "engine/comm/mpi_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

namespace sink {
namespace {

// The library is in the folder of the program, or one folder above (for tests).
std::string mpi_library() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const auto& place : {folder, folder.parent_path()})
    if (auto file = place / "libsinklab_mpi.so"; std::filesystem::exists(file, error)) return file.string();
  return "";
}

}  // namespace

void require_mpi_library() {
  if (mpi_library().empty())
    fail("ranks",
         "this build has no MPI, by which ranks communicate: install libopenmpi-dev and openmpi-bin (bash "
         "tools/setup.sh --cluster) and build again",
         Exit::device);
}

std::unique_ptr<Links> mpi_links(double time_out) {
  require_mpi_library();
  const std::string file = mpi_library();
  // MPI loads parts of its own, which look for its names among those of the program.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  using Make = Links* (*)(double);
  Make make = library ? reinterpret_cast<Make>(::dlsym(library, "sinklab_mpi_links")) : nullptr;
  if (!make) {
    const char* why = ::dlerror();
    fail("ranks", file + " cannot be loaded: " + (why ? why : "no reason given"), Exit::device);
  }
  return std::unique_ptr<Links>(make(time_out));
}

}  // namespace sink
