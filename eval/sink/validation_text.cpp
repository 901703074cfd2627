#include "eval/sink/validation_text.h"

#include "engine/check.h"
#include "engine/data/same_data.h"

namespace sink {

std::unique_ptr<DataSource> validation_text(const std::string& path, const Checkpoint& checkpoint, TrainedOn run,
                                            const std::string& other, const Sizes& sizes) {
  if (!other.empty()) run.data = other;
  if (run.task == "text" && run.data.empty())
    throw Error(
        path + " does not say what text it was trained on: give --data FOLDER, --text, --tokens" + " or --input random",
        Exit::usage);
  std::unique_ptr<DataSource> data = make_data_source(run, run.context, run.prefix);
  if (data->vocabulary() > sizes.vocabulary)
    throw Error((run.data.empty() ? "the task " + run.task : run.data) + " has " + std::to_string(data->vocabulary()) +
                    " kinds of tokens, the model " + std::to_string(sizes.vocabulary) +
                    ": give the data that it was trained on",
                Exit::bad_input);
  if (!other.empty())
    require_same_tokenizer(checkpoint, *data, run.data);
  else
    require_same_data(checkpoint, *data, run.data,
                      "give the folder that holds it as --data, or this one to measure on other text");
  return data;
}

}  // namespace sink
