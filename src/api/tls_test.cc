#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "api/server.h"
#include "api/testing/fake_services.h"
#include "base/unique_fd.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

void close_file(std::FILE* file) {
  std::fclose(file);
}

// Writes a key and a certificate that it signed itself.
void make_certificate(const std::string& certificate_path, const std::string& key_path) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Owned<X509> certificate(X509_new(), X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const Owned<std::FILE> certificate_file(std::fopen(certificate_path.c_str(), "w"), close_file);
  PEM_write_X509(certificate_file.get(), certificate.get());
  const Owned<std::FILE> key_file(std::fopen(key_path.c_str(), "w"), close_file);
  PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

// Sends a request over TLS and gives all that comes back.
std::string ask(std::uint16_t port, std::string_view request) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const Owned<SSL> tls(SSL_new(context.get()), SSL_free);
  SSL_set_fd(tls.get(), fd.get());
  EXPECT_EQ(SSL_connect(tls.get()), 1);
  EXPECT_GT(SSL_write(tls.get(), request.data(), static_cast<int>(request.size())), 0);
  std::string answer;
  char buffer[4096];
  for (int n = 0; (n = SSL_read(tls.get(), buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  return answer;
}

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    std::string pattern = (fs::temp_directory_path() / "tutti-tls-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    options.unix_path = (folder / "sock").string();
    options.tcp = "127.0.0.1:0";
    options.token = "s3cret";
    options.tls_certificate = (folder / "cert.pem").string();
    options.tls_key = (folder / "key.pem").string();
  }
  ~TlsTest() override { fs::remove_all(folder); }

  FakeWorld world;
  fs::path folder;
  ServerOptions options;
};

TEST_F(TlsTest, requests_are_answered_over_tls) {
  make_certificate(options.tls_certificate, options.tls_key);
  Server server(options, world.services());
  const auto started = server.start();
  ASSERT_TRUE(started) << started.error().message;
  const std::string end = "Connection: close\r\n\r\n";
  EXPECT_THAT(
      ask(server.tcp_port(), "GET /v1/nodes HTTP/1.1\r\nAuthorization: Bearer s3cret\r\n" + end),
      HasSubstr("200 OK"));
  EXPECT_THAT(ask(server.tcp_port(), "GET /v1/nodes HTTP/1.1\r\n" + end), HasSubstr("401 "));
}

TEST_F(TlsTest, a_certificate_that_cannot_be_used_is_named) {
  Server missing(options, world.services());
  const auto started = missing.start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("cert.pem"));
  make_certificate(options.tls_certificate, options.tls_key);
  std::ofstream(options.tls_key) << "no key";
  Server broken(options, world.services());
  EXPECT_FALSE(broken.start());
}

}  // namespace
}  // namespace tutti
