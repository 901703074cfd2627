// What `prepare` made, as text on stdout: all of it, and domain by domain.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/token_writer.h"
#include "tools/prepare/corpus.h"

namespace sink {

void print_prepared(const std::vector<DomainCount>& counts, const TokenWriter& writer, std::int64_t vocabulary);

}  // namespace sink
