#include "tools/report/interventions_reader.h"

#include <algorithm>

#include "engine/io/file.h"
#include "tools/report/json_input.h"

namespace sink::report {
namespace {

constexpr std::size_t kMostInterventions = 1000;
constexpr std::size_t kLongestName = 40;

// "W8A8" as change_w8a8, "removed 1" as change_removed_1.
std::string key_of(const std::string& name, const Place& at) {
  std::string key = "change_";
  for (char c : name) {
    const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
    if (!(digit || lower || upper || c == ' ') || key.size() > kLongestName)
      damaged(at, "expected names of letters, digits and blanks");
    key += upper ? static_cast<char>(c - 'A' + 'a') : c == ' ' ? '_' : c;
  }
  return key;
}

}  // namespace

void read_interventions(const std::string& file, Run& run) {
  const nlohmann::json object = parse_json(read_file("report", file), {file, ""});
  if (!object.is_object() || !object.contains("interventions") || !object["interventions"].is_array())
    damaged({file, "interventions"}, "expected a list: the JSON of `eval_<ablation> interventions`");
  if (Reader{object, file}.integer("step", run.step) != run.step) return;
  const auto& list = object["interventions"];
  if (list.size() > kMostInterventions) damaged({file, "interventions"}, "too long a list");
  for (const auto& one : list) {
    const Place at{file, "interventions"};
    if (!one.is_object() || !one.contains("change")) damaged(at, "expected objects with name and change");
    run.evaluation->scalar[key_of(Reader{one, file}.text("name", ""), at)] = to_number(one["change"], at);
  }
}

}  // namespace sink::report
