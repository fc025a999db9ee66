#include "serve/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace semfuse {
namespace {

HttpRequest from(const HttpHeaders& headers) {
  return {.method = "POST", .path = "/", .client = "", .headers = headers, .body = ""};
}

unsigned status_of(const std::function<void()>& check) {
  try {
    check();
  } catch (const ApiError& error) {
    return error.status();
  }
  return 200;
}

TEST(Access, KeysAreComparedWhole) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  for (const char* const wrong : {"", "s", "secre", "secrets", "Secret", "secretsecret"}) {
    EXPECT_FALSE(equal_in_constant_time("secret", wrong)) << wrong;
  }
  const Access access({.keys = {"one", "two"}});
  const auto key = [&](const HttpHeaders& headers) { return status_of([&] { access.check_key(from(headers)); }); };
  EXPECT_EQ(key({}), 401U);
  EXPECT_EQ(key({{"authorization", "Bearer two"}}), 200U);
  EXPECT_EQ(key({{"authorization", "bearer one"}}), 200U);
  EXPECT_EQ(key({{"x-api-key", "one"}}), 200U);
  EXPECT_EQ(key({{"authorization", "Bearer three"}}), 401U);
  EXPECT_EQ(key({{"authorization", "Basic one"}}), 401U);
  EXPECT_EQ(key({{"authorization", "Bearer "}}), 401U);
}

TEST(Access, WithoutKeysAnotherNameIsRefused) {
  const Access access(AccessOptions{});
  const auto host = [&](const std::string& name) {
    return status_of([&] { access.check_origin(from({{"host", name}})); });
  };
  for (const char* const good :
       {"127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "a.localhost:3", "10.0.0.7"})
    EXPECT_EQ(host(good), 200U) << good;
  for (const char* const bad :
       {"", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"})
    EXPECT_EQ(host(bad), 403U) << bad;
}

TEST(Access, PagesElsewhereNeedLeave) {
  const Access access({.origins = {"https://good.example"}});
  const auto origin = [&](const std::string& name) {
    return status_of([&] { access.check_origin(from({{"host", "127.0.0.1:8080"}, {"origin", name}})); });
  };
  EXPECT_EQ(origin("http://127.0.0.1:8080"), 200U);
  EXPECT_EQ(origin("https://good.example"), 200U);
  EXPECT_EQ(origin("https://good.example.evil.example"), 403U);
  EXPECT_EQ(origin("http://127.0.0.1:9"), 403U);
  EXPECT_EQ(origin("null"), 403U);
  EXPECT_EQ(access.cors_headers(from({{"origin", "https://good.example"}})).size(), 2U);
  // Who keeps answers must know that others get other ones.
  const HttpHeaders vary = {{"Vary", "Origin"}};
  EXPECT_EQ(access.cors_headers(from({{"origin", "https://evil.example"}})), vary);
  EXPECT_EQ(access.cors_headers(from({})), vary);
  EXPECT_TRUE(Access(AccessOptions{}).cors_headers(from({})).empty());
}

TEST(Access, OriginsAreThoseThatBrowsersSend) {
  for (const char* const good : {"*", "https://good.example", "http://localhost:3000", "http://[::1]:8080"})
    EXPECT_NO_THROW(check_origin_name(good)) << good;
  for (const char* const bad : {"", "good.example", "https://", "://x", "https://good.example/", "https://Good.example",
                                "https://*.example", "null"})
    EXPECT_THROW(check_origin_name(bad), Error) << bad;
}

TEST(Access, KeyFilesHaveOneALine) {
  EXPECT_THAT(parse_keys("# mine\n one \r\n\ntwo", "keys"), testing::ElementsAre("one", "two"));
  EXPECT_THROW(parse_keys("# none\n", "keys"), Error);
}

}  // namespace
}  // namespace semfuse
