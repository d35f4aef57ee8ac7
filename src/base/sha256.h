#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace tutti {

// The SHA-256 digest of content that comes in pieces. Used by one thread at a time.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  // The digest of all that was added, in lower-case hexadecimal. Nothing may be added after it.
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

// The digest of content that is there as a whole.
std::string sha256_hex(std::string_view bytes);

// Whether it is written like such a digest.
bool is_sha256(std::string_view text);

}  // namespace tutti
