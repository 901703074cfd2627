// Fuzzes the TOML of studies: the input up to a zero byte is the study, the rest its recipe.
#include "tests/fuzz/fuzz_support.h"
#include "tools/sweep/study_file.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = view_of(data, size), study = text.substr(0, text.find('\0'));
  const std::string_view recipe = text.substr(std::min(text.size(), study.size() + 1));
  may_refuse({Exit::usage}, [&] {
    const StudyFile read = study_from_toml(std::string(study), "study.toml", std::string(recipe), "recipe.toml");
    must(!read.name.empty() && !read.seeds.empty() && !read.runs.empty(), "a study has a name, seeds and runs");
  });
  return 0;
}
