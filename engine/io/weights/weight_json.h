// JSON of files of weights as events: whoever derives says where they may come, all others are refused with their
// place.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/io/weights/weight_failure.h"

namespace sink {

class WeightJson : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Throws WeightFailure.
  void parse(std::string_view text) { nlohmann::json::sax_parse(text.begin(), text.end(), this); }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a bool"); }
  bool number_integer(number_integer_t number) override { refuse(std::to_string(number)); }
  bool number_unsigned(number_unsigned_t number) override { refuse(std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(in_quotes(text)); }
  bool string(string_t& text) override { refuse(in_quotes(text)); }
  bool binary(binary_t&) override { refuse("bytes"); }
  bool start_object(std::size_t) override { refuse("an object"); }
  bool start_array(std::size_t) override { refuse("a list"); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) override {
    throw WeightFailure("it has no sound JSON: it breaks off, or goes wrong, at byte " + std::to_string(at) + " of it");
  }

 protected:
  // "at `name`: expected <what>, got <got>"
  [[noreturn]] void refuse(const std::string& got) const {
    throw WeightFailure("at " + in_quotes(where()) + " of its JSON: expected " + expected() + ", got " + got);
  }
  virtual std::string where() const = 0;
  virtual const char* expected() const = 0;
};

}  // namespace sink
