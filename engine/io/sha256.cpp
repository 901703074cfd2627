#include "engine/io/sha256.h"

#include "engine/check.h"

namespace sink {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  SINK_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "sha256",
             "the OpenSSL library offers no SHA-256");
}

void Sha256::add(const void* data, std::size_t bytes) { EVP_DigestUpdate(context_.get(), data, bytes); }

std::string Sha256::hex() {
  unsigned char digest[32];
  EVP_DigestFinal_ex(context_.get(), digest, nullptr);
  std::string text;
  for (unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes.data(), bytes.size());
  return digest.hex();
}

}  // namespace sink
