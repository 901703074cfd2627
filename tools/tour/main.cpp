// tour: prints the numbers of one chapter of tools/tour/README.md, by the function that the chapter shows.
#include <CLI/CLI.hpp>
#include <map>

#include "engine/check.h"
#include "engine/io/program.h"
#include "tools/tour/tour_chapters.h"

namespace sink {
namespace {

int run(int argc, char** argv) {
  const std::map<int, void (*)()> examples{
      {1, tour::tensor_chapter}, {2, tour::tape_chapter}, {3, tour::rms_norm_chapter}, {4, tour::row_chapter},
      {6, tour::adamw_chapter},  {7, tour::sink_chapter}, {8, tour::online_chapter},   {9, tour::policy_chapter}};
  CLI::App app("Prints the numbers that a chapter of the tour works out by hand; begin with tools/tour/README.md.");
  int chapter = 0;
  app.add_option("chapter", chapter, "1, 2, 3, 4, 6, 7, 8 or 9 (the numbers of 5 are those of train_baseline)")
      ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; see --help", Exit::usage);
  }
  auto example = examples.find(chapter);
  SINK_CHECK(example != examples.end(), "tour",
             "expected a chapter 1, 2, 3, 4, 6, 7, 8 or 9, got " + std::to_string(chapter), Exit::usage);
  example->second();
  return 0;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("tour", [&] { return sink::run(argc, argv); });
}
