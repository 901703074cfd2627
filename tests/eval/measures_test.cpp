// The table of measures: its page, and what every row must have.
#include "eval/sink/measures.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

#include "engine/io/file.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

// The hook or statistic that a measure needs.
std::string needed(const Measure& measure) {
  if (std::holds_alternative<OfAttention>(measure.source)) return "statistics of attention";
  if (std::holds_alternative<OfPoint>(measure.source)) return "the attention of a layer";
  if (std::holds_alternative<OfLosses>(measure.source)) return "losses";
  if (const auto* of = std::get_if<OfVectors>(&measure.source)) {
    const char* hooks[] = {"hidden states", "sums before the last norm", "keys", "values"};
    return hooks[static_cast<std::size_t>(of->vectors)];
  }
  return measure.scalar.index() == 2 || measure.values.index() > 2 ? "column sums of attention" : "other measures";
}

std::string in_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  for (std::size_t at = 0; (at = text.find('*', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

// The name in files, with the suffix of the values: `value_share`, `_layer_head`.
std::string line_of(const Measure& measure) {
  const bool scalar = measure.scalar.index() > 0, scores = measure.scalar.index() == 2 || measure.values.index() > 2;
  std::string keys, axes(measure.axes.names);
  if (scalar) keys = "`" + key_of(measure, false, false) + "`";
  if (measure.values.index() > 0 && (!scalar || !measure.axes.suffix.empty()))
    keys += (scalar ? ", `" : "`") + (scalar ? std::string(measure.axes.suffix) : key_of(measure, false, true)) + "`";
  if (scores) keys += ", `_raw`";
  if (measure.summary != Summary::none) axes += measure.summary == Summary::mean ? "; mean" : "; largest";
  return "| " + keys + " | " + in_cell(measure.symbol) + " | " + in_cell(measure.unit) + " | " + axes + " | " +
         in_cell(measure.formula) + " | " + needed(measure) + " |\n";
}

}  // namespace

TEST_CASE("measures: the page has a line for each, as its row says") {
  const std::string path = std::string(SINK_SOURCE_DIR) + "/eval/sink/MEASURES.md", begin = "| --- |\n";
  std::string page = read_bytes(path), lines;
  for (const Measure& measure : kMeasures) lines += line_of(measure);
  if (std::getenv("SINK_WRITE_PAGE")) {
    page = page.substr(0, page.find(begin) + begin.size()) + lines;
    write_file_atomically(path, page);
  }
  CHECK(page.ends_with(begin + lines));
}

TEST_CASE("measures: every row has a name, a unit and a formula, and no key, member or value is of two rows") {
  std::set<std::string> keys;
  std::set<const void*> places;
  Evaluation e;
  for_each_measure(e, [&](const Measure& measure, bool raw, double* scalar, auto values) {
    CAPTURE(measure.name);
    for (const char* text : {measure.name, measure.symbol, measure.unit, measure.formula}) CHECK((text && *text));
    if (scalar) {
      CHECK(keys.insert(key_of(measure, raw, false)).second);
      CHECK(places.insert(scalar).second);
      CHECK(std::isnan(*scalar));  // unknown until it is measured
    }
    if constexpr (!std::is_null_pointer_v<decltype(values)>) {
      CHECK(keys.insert(key_of(measure, raw, true)).second);
      CHECK(places.insert(values).second);
      CHECK(values->empty());
      CHECK(!measure.axes.names.empty());
    } else {
      CHECK(scalar);
    }
  });
  CHECK(keys.size() > 45);
  CHECK(name_of(&Evaluation::loss) == std::string("val_loss"));
  CHECK(name_of(&SinkScores::sink_star) == std::string("sink_star"));
}

TEST_CASE("measures: the scalar of a table is the mean of its values, or the largest") {
  Measure measure{.name = "", .symbol = "", .unit = "", .formula = "", .summary = Summary::mean};
  CHECK(summary_of(measure, ValueTable{{1, 2}, {3, 10}}) == 4);
  measure.summary = Summary::max;
  CHECK(summary_of(measure, std::vector<double>{1, 5, 3}) == 5);
  CHECK(std::isnan(summary_of(measure, std::vector<double>{})));
}
