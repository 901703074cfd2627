// SHA-256, by OpenSSL.
#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sink {

// An incremental digest.
class Sha256 {
 public:
  Sha256();
  void add(const void* data, std::size_t bytes);
  std::string hex();  // 64 hexadecimal digits; call once

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace sink
