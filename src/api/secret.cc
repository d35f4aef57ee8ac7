#include "api/secret.h"

#include <openssl/crypto.h>

namespace tutti {

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace tutti
