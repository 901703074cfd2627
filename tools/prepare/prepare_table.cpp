#include "tools/prepare/prepare_table.h"

#include <cstdio>

#include "engine/io/printable.h"

namespace sink {
namespace {

void print_table(const std::vector<DomainCount>& counts, const std::vector<TextDomain>& domains) {
  double tokens = 0;
  for (const TextDomain& domain : domains) tokens += static_cast<double>(domain.train_tokens + domain.valid_tokens);
  std::printf("\n%-20s %9s %9s %13s %13s %11s %7s %7s %9s %9s %9s\n", "domain", "files", "documents", "bytes",
              "train tokens", "valid", "share", "weight", "empty", "too short", "copies");
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const DomainCount& count = counts[d];
    const TextDomain& domain = domains[d];
    auto own = static_cast<double>(domain.train_tokens + domain.valid_tokens);
    char weight[32] = "-";
    if (domain.weight > 0) std::snprintf(weight, sizeof weight, "%.4g", domain.weight);
    std::printf("%-20s %9lld %9lld %13llu %13lld %11lld %7.4f %7s %9lld %9lld %9lld\n", printable(domain.name).c_str(),
                static_cast<long long>(count.files), static_cast<long long>(count.documents),
                static_cast<unsigned long long>(count.bytes), static_cast<long long>(domain.train_tokens),
                static_cast<long long>(domain.valid_tokens), own / tokens, weight, static_cast<long long>(count.empty),
                static_cast<long long>(count.tiny), static_cast<long long>(count.duplicate));
  }
}

}  // namespace

void print_prepared(const std::vector<DomainCount>& counts, const TokenWriter& writer, std::int64_t vocabulary) {
  std::int64_t documents = 0;
  std::uint64_t bytes = 0;
  for (const DomainCount& count : counts) {
    documents += count.documents;
    bytes += count.bytes;
  }
  std::int64_t tokens = writer.train_tokens() + writer.valid_tokens();
  std::printf("documents         %lld\n", static_cast<long long>(documents));
  std::printf("vocabulary        %lld\n", static_cast<long long>(vocabulary));
  std::printf("train tokens      %lld\n", static_cast<long long>(writer.train_tokens()));
  std::printf("valid tokens      %lld\n", static_cast<long long>(writer.valid_tokens()));
  if (writer.predicted_tokens() < tokens)
    std::printf("predicted tokens  %lld\n", static_cast<long long>(writer.predicted_tokens()));
  std::printf("bytes per token   %.2f\n", static_cast<double>(bytes) / static_cast<double>(tokens));
  print_table(counts, writer.domains());
}

}  // namespace sink
