#include "engine/io/weights/shard_index.h"

#include <algorithm>

#include "engine/io/weights/weight_json.h"

namespace sink {
namespace {

class ShardIndexEvents : public WeightJson {
 public:
  bool start_object(std::size_t) override {
    if (depth_ == 0 || (depth_ == 1 && (word_ == "weight_map" || word_ == "metadata"))) {
      if (depth_++ == 1) part_ = word_;
      has_map_ = has_map_ || part_ == "weight_map";
      return true;
    }
    return pass_over(1);
  }
  bool end_object() override {
    if (passed_over_ > 0) return pass_over(-1);
    part_.clear();
    return depth_-- > 0;
  }
  bool start_array(std::size_t) override { return pass_over(1); }
  bool end_array() override { return pass_over(-1); }
  bool key(string_t& word) override {
    if (passed_over_ > 0) return true;
    if (depth_ == 1 && word == "weight_map" && has_map_) throw WeightFailure("it has two `weight_map`");
    word_ = word;
    return true;
  }
  bool string(string_t& text) override {
    if (at_map()) {
      check_file_name(text);
      index.files.emplace_back(word_, text);
      return true;
    }
    return scalar(text);
  }
  bool number_unsigned(number_unsigned_t number) override { return scalar(std::to_string(number)); }
  bool number_integer(number_integer_t number) override { return scalar(std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text); }
  bool boolean(bool) override { return pass_over(0); }
  bool null() override { return pass_over(0); }

  bool has_map() const { return has_map_; }
  ShardIndex index;

 private:
  bool at_map() const { return depth_ == 2 && passed_over_ == 0 && part_ == "weight_map"; }
  // Into or out of what nobody reads.
  bool pass_over(int levels) {
    if (depth_ == 0 || at_map()) refuse("something else");
    if (depth_ == 1 && passed_over_ == 0 && word_ == "weight_map") refuse("something else");
    passed_over_ += levels;
    return true;
  }
  bool scalar(const std::string& text) {
    if (depth_ == 2 && passed_over_ == 0 && part_ == "metadata") {
      index.metadata.emplace_back(word_, text);
      return true;
    }
    return pass_over(0);
  }
  void check_file_name(const std::string& file) const {
    if (file.empty() || file.front() == '.' || file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
      throw WeightFailure(in_quotes(word_) + " is in the file " + in_quotes(file) +
                          "; expected a plain name of a file beside the index");
    if (file.ends_with(".json"))
      throw WeightFailure(in_quotes(word_) + " is in the file " + in_quotes(file) +
                          "; expected a file of weights, not an index again");
  }
  std::string where() const override { return word_; }
  const char* expected() const override {
    return depth_ == 0 ? "an object" : at_map() ? "the name of a file" : "an object of names and files";
  }

  int depth_ = 0;        // of what is read
  int passed_over_ = 0;  // levels below it
  bool has_map_ = false;
  std::string word_, part_;
};

}  // namespace

ShardIndex parse_shard_index(std::string_view json) {
  ShardIndexEvents events;
  events.parse(json);
  if (!events.has_map()) throw WeightFailure("it has no `weight_map`");
  auto& files = events.index.files;
  std::sort(files.begin(), files.end());
  auto twice = std::adjacent_find(files.begin(), files.end(), [](auto& a, auto& b) { return a.first == b.first; });
  if (twice != files.end()) throw WeightFailure("it names " + in_quotes(twice->first) + " twice");
  return std::move(events.index);
}

}  // namespace sink
