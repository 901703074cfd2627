#include "engine/data/data_source.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/data/bigram_backcopy.h"
#include "engine/data/text_source.h"

namespace sink {

std::int64_t ignored_targets(const DataConfig& config, std::int64_t prefix, bool validation) {
  return validation && config.prefix_validation == "study" ? 0 : std::max<std::int64_t>(0, prefix - 1);
}

std::unique_ptr<DataSource> make_data_source(const DataConfig& config, std::int64_t context, std::int64_t prefix) {
  SINK_CHECK(prefix <= 1 || prefix < context, "data",
             "the prefix must be shorter than a sequence, got a prefix of " + std::to_string(prefix) +
                 " and sequences of " + std::to_string(context) + " tokens",
             Exit::usage);
  if (config.task == "text") return std::make_unique<TextSource>(config, context, prefix);
  if (config.task == "bigram-backcopy") return std::make_unique<BigramBackcopy>(config, context, prefix);
  fail("data", "the task is text or bigram-backcopy, got '" + config.task + "'", Exit::usage);
}

}  // namespace sink
