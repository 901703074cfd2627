#include "train/data/data_source.h"

#include "engine/check.h"
#include "train/data/bigram_backcopy.h"
#include "train/data/text_source.h"

namespace sink {

std::unique_ptr<DataSource> make_data_source(const RunConfig& config) {
  if (config.task == "text") return std::make_unique<TextSource>(config);
  if (config.task == "bigram-backcopy") return std::make_unique<BigramBackcopy>(config);
  fail("data", "the task is text or bigram-backcopy, got '" + config.task + "'", Exit::usage);
}

}  // namespace sink
