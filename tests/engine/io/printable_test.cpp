// Text on its way to a terminal: one line, no escape sequences, and what is readable stays.
#include "engine/io/printable.h"

#include <doctest/doctest.h>

#include "engine/io/text_table.h"
#include "engine/io/utf8.h"

using namespace sink;

TEST_CASE("printable: what is visible stays") {
  for (const char* text :
       {"", "runs/first", "caf\u00e9 \u65e5\u672c \U0001f642", "a b", "back\\slash \"quoted\" 'x' ~"})
    CHECK(printable(text) == text);
}

TEST_CASE("printable: what moves the cursor, colours, ends the line or reorders text is spelt out") {
  CHECK(printable("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(printable("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m");
  CHECK(printable("\x1b]0;title\x07") == "\\x1b]0;title\\x07");
  CHECK(printable(std::string("zero\0byte", 9)) == "zero\\x00byte");
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");  // CSI as one character
  CHECK(printable("\x9b"
                  "31m") == "\\x9b31m");  // and as a bare byte
  CHECK(printable("a\u202eb\u2066c\u200fd") == "a\\u202eb\\u2066c\\u200fd");
  CHECK(printable("a\u2028b\u2029c") == "a\\u2028b\\u2029c");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xe6\x97") == "\\xe6\\x97");
}

TEST_CASE("printable: a name in quotes is of bounded length") {
  CHECK(in_quotes("llama") == "`llama`");
  CHECK(in_quotes("a\nb") == "`a\\nb`");
  CHECK(in_quotes(std::string(100, 'x')) == "`" + std::string(100, 'x') + "`");
  CHECK(in_quotes(std::string(20000, 'x')) == "`" + std::string(100, 'x') + "...`");
  CHECK(in_quotes(std::string(20000, '\1')).size() < 500);
  for (std::size_t before : {97, 98, 99})
    CHECK(in_quotes(std::string(before, 'x') + "\u20ac\u20ac") ==
          "`" + std::string(before, 'x') + (before == 97 ? "\u20ac" : "") + "...`");
}

TEST_CASE("printable: any bytes become valid UTF-8 without control characters, and nothing is escaped twice over") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      std::string shown = printable(std::string{static_cast<char>(first), static_cast<char>(second)});
      CHECK(utf8_valid_prefix(shown) == shown.size());
      for (char c : shown) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
      CHECK(printable(shown) == shown);
    }
  }
}

TEST_CASE("printable lines: line ends and tabs stay, all else is as above") {
  CHECK(printable_lines("a\n\tb caf\u00e9 \U0001f642\n") == "a\n\tb caf\u00e9 \U0001f642\n");
  CHECK(printable_lines("a\r\x1b[2J\x7f\u009b\xe6\x97\u202e") == "a\\r\\x1b[2J\\x7f\\u009b\\xe6\\x97\\u202e");
}

TEST_CASE("text table: a text is cut and filled by its characters, not by its bytes") {
  const std::string text = "a\u00e4\u20ac\U0001f600z";  // of 1, 2, 3, 4 and 1 bytes
  CHECK(text_width(text) == 5);
  CHECK(cut_to(text, 5) == text);
  CHECK(cut_to(text, 3) == "a\u00e4\u20ac");
  CHECK(cut_to(text, 0).empty());
  CHECK(padded(text, 2) == "a\u00e4");
  CHECK(padded(text, 7) == text + "  ");
  CHECK(aligned({{"\u20ac", "x"}, {"ab", "y"}}) == "\u20ac   x\nab  y\n");
}

TEST_CASE("put_text: what is no terminal gets every byte") {
  std::FILE* file = std::tmpfile();
  const std::string text("\x1b[31m\0\xff\n", 8);
  put_text(file, text);
  std::rewind(file);
  std::string back(16, '\0');
  back.resize(std::fread(back.data(), 1, back.size(), file));
  std::fclose(file);
  CHECK(back == text);
}
