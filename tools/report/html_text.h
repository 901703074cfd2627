// Texts of the page: values formatted independently of the locale, and files. See engine/io/html.h for escaping and
// templates.
#pragma once

#include <cstdint>
#include <string>

#include "engine/io/html.h"

namespace sink::report {

std::string number(double value, int decimals);  // fixed point; an en dash for NaN
std::string percent(double share);               // 0.6213 -> "62 %", 0.0312 -> "3.1 %"
std::string significant(double value);           // three digits, never with an exponent: 0.0312, 4.57, 128
std::string plain(double value);                 // two digits for a sentence, no trailing zeros: 0.031, 1.9, 0.4
std::string grouped(std::int64_t value);         // 1234567 -> "1 234 567", with narrow spaces

// The files of tools/report/page as they were when the program was built. By name ("style.css"); throws Error when
// there is none.
std::string page_file(const std::string& name);

}  // namespace sink::report
