// The formula of an attention operation in words, which `explain` shows and OPERATIONS.md lists.
#pragma once

#include <string>

namespace sink {

struct OperationFormula {
  std::string whole = "";        // "e^s / sum e^s"; empty: the operation does not say it
  std::string g = "";            // "e^x"
  std::string r = "g";           // what S sums
  std::string z = "1";           // "S"
  std::string m = "0";           // "row maximum"
  std::string post = "";         // "clip"; empty: none
  std::string proposed_by = "";  // "Vaswani et al. 2017"
};

}  // namespace sink
