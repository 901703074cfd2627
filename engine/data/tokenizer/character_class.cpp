#include "engine/data/tokenizer/character_class.h"

#include <utf8proc.h>

#include <vector>

namespace sink {

namespace {

struct Range {
  std::uint32_t first, last;
};

// In Unicode 16 but not in utf8proc 2.8 (Unicode 15); a later utf8proc gives the same result.
constexpr Range kLetters16[] = {{0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3},
                                {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x11380, 0x11389},
                                {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
                                {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x13460, 0x143FA},
                                {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED},
                                {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D}};
constexpr Range kNumbers16[] = {{0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x16130, 0x16139},
                                {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9}, {0x1E5F1, 0x1E5FA}};
constexpr Range kUpper16[] = {
    {0x1C89, 0x1C89}, {0xA7CB, 0xA7CC}, {0xA7DA, 0xA7DA}, {0xA7DC, 0xA7DC}, {0x10D50, 0x10D65}};
constexpr Range kLower16[] = {{0x1C8A, 0x1C8A}, {0xA7CD, 0xA7CD}, {0xA7DB, 0xA7DB}, {0x10D70, 0x10D85}};
constexpr Range kMarks16[] = {{0x897, 0x897},     {0x10D69, 0x10D6D}, {0x10EFC, 0x10EFC}, {0x113B8, 0x113C0},
                              {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D0},
                              {0x113D2, 0x113D2}, {0x113E1, 0x113E2}, {0x11F5A, 0x11F5A}, {0x1611E, 0x1612F},
                              {0x1E5EE, 0x1E5EF}};
constexpr Range kPunctuation16[] = {{0x1B4E, 0x1B4F},   {0x1B7F, 0x1B7F},   {0x10D6E, 0x10D6E}, {0x113D4, 0x113D5},
                                    {0x113D7, 0x113D8}, {0x11BE1, 0x11BE1}, {0x16D6D, 0x16D6F}, {0x1E5FF, 0x1E5FF}};
constexpr Range kNumeric17[] = {{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}};
constexpr Range kSpaces[] = {{0x9, 0xD},       {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                             {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
// Alphabetic characters outside the letter categories, and joiners.
constexpr Range kOtherInWord[] = {
    {0x200C, 0x200D}, {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

std::uint8_t class_of_category(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kLetter | kInWord | kUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLetter | kInWord | kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter | kInWord;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
      return kNumber | kNumeric | kInWord;
    case UTF8PROC_CATEGORY_NO:
      return kNumber | kNumeric;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kInWord | kMark;
    case UTF8PROC_CATEGORY_PC:
      return kInWord | kPunctuation;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    default:
      return 0;
  }
}

std::vector<std::uint8_t> make_classes() {
  std::vector<std::uint8_t> classes(0x110000);
  for (std::uint32_t code = 0; code < classes.size(); ++code)
    classes[code] = class_of_category(utf8proc_category(static_cast<utf8proc_int32_t>(code)));
  auto add = [&](const auto& ranges, std::uint8_t bits) {
    for (const Range& range : ranges)
      for (std::uint32_t code = range.first; code <= range.last; ++code) classes[code] |= bits;
  };
  add(kLetters16, kLetter | kInWord);
  add(kNumbers16, kNumber | kNumeric | kInWord);
  add(kUpper16, kUpper);
  add(kLower16, kLower);
  add(kMarks16, kMark);
  add(kPunctuation16, kPunctuation);
  add(kNumeric17, kNumeric);
  add(kSpaces, kSpace);
  add(kOtherInWord, kInWord);
  return classes;
}

}  // namespace

const std::uint8_t* character_classes() {
  static const std::vector<std::uint8_t> classes = make_classes();
  return classes.data();
}

}  // namespace sink
