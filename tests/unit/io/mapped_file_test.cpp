#include "io/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

namespace semfuse {
namespace {

// Bytes of the process that are in memory.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(MappedFile, KeepsNoMoreOfALargeFileThanItMay) {
  const TemporaryFolder folder;
  constexpr std::size_t kNumbers = std::size_t{16} << 20;  // 128 MB.
  constexpr std::size_t kMost = std::size_t{8} << 20;
  {
    std::vector<std::uint64_t> numbers(kNumbers / 16);
    std::ofstream file(folder / "numbers", std::ios::binary);
    for (std::size_t part = 0; part < 16; ++part) {
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 3 * (part * numbers.size() + i);
      file.write(reinterpret_cast<const char*>(numbers.data()),
                 static_cast<std::streamsize>(numbers.size() * sizeof(std::uint64_t)));
    }
  }
  const MappedFile file(folder / "numbers", kNumbers * sizeof(std::uint64_t), kMost);
  const std::span<const std::uint64_t> numbers = file.as<std::uint64_t>();
  [[maybe_unused]] const std::size_t before = resident_bytes();
  std::size_t most = 0;
  const auto read = [&](std::size_t step) {
    std::size_t wrong = 0;
    for (std::size_t n = 0, i = 0; n < 100'000; ++n, i = (i + step) % kNumbers) {
      file.note_read(i * sizeof(std::uint64_t), sizeof(std::uint64_t));
      wrong += numbers[i] == 3 * i ? 0 : 1;
      if (n % 1000 == 0) most = std::max(most, resident_bytes());
    }
    EXPECT_EQ(wrong, 0U);
  };
  for (const std::size_t step : {167, 999'983, 7'777'777}) read(step);
#ifndef __SANITIZE_THREAD__  // Its own notes of what was read are four times as large, and stay.
  // As many parts as are read before it looks, if the system maps 2 MB at a time.
  EXPECT_LT(most, before + kMost + (std::size_t{72} << 20));
#endif
  // Several at once: what one gives back another has still.
  std::vector<std::thread> threads;
  for (const std::size_t step : {12'345, 765'431}) {
    threads.emplace_back([&, step] {
      for (std::size_t n = 0, i = 0; n < 50'000; ++n, i = (i + step) % kNumbers) {
        file.note_read(i * sizeof(std::uint64_t), sizeof(std::uint64_t));
        ASSERT_EQ(numbers[i], 3 * i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace semfuse
