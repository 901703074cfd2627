// JSONL: one JSON object per line, empty lines skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/io/bounded_json.h"

namespace sink {

// take(object, line), lines counted from 1, for each of the file `path` until it says false; `-` is standard input.
// Throws Error (Exit::bad_input) that names file and line where one is no JSON object, is not UTF-8, or `take` throws
// JsonFailure.
void for_each_json_line(const char* tag, const std::string& path,
                        const std::function<bool(const nlohmann::json& object, std::int64_t line)>& take);

}  // namespace sink
