#include "io/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace semfuse {
namespace {

std::string digest(const std::string& text, std::size_t at_once = 1000) {
  Sha256 hash;
  for (std::size_t i = 0; i < text.size(); i += at_once) {
    const std::string part = text.substr(i, at_once);
    hash.add(std::as_bytes(std::span(part)));
  }
  return hash.digest();
}

// The standard's own examples.
TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnTheParts) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i);
  for (const std::size_t size : {1, 63, 64, 65, 128}) EXPECT_EQ(digest(text, size), digest(text)) << size;
}

}  // namespace
}  // namespace semfuse
