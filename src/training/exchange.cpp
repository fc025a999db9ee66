#include "training/exchange.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

namespace semfuse {
namespace {

// Every process' bytes, as many of each as `all` has room for, to all.
void gather(Exchange& exchange, std::span<const std::byte> own, std::span<const std::span<std::byte>> all) {
  std::vector<Exchange::Outgoing> sends;
  std::vector<Exchange::Incoming> receives;
  for (std::size_t rank = 0; rank < exchange.size(); ++rank) {
    if (rank == exchange.rank()) {
      std::copy(own.begin(), own.end(), all[rank].begin());
    } else {
      sends.push_back({rank, own});
      receives.push_back({rank, all[rank]});
    }
  }
  exchange.start(sends, receives);
  exchange.wait();
}

template <class T>
std::vector<T> gather(Exchange& exchange, const T& own) {
  std::vector<T> all(exchange.size());
  std::vector<std::span<std::byte>> places;
  places.reserve(all.size());
  for (T& value : all) places.push_back(std::as_writable_bytes(std::span(&value, 1)));
  gather(exchange, std::as_bytes(std::span(&own, 1)), places);
  return all;
}

}  // namespace

void Exchange::wait() {
  const auto begin = std::chrono::steady_clock::now();
  finish();
  seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::string> gather_texts(Exchange& exchange, const std::string& own) {
  const std::vector<std::uint64_t> sizes = gather<std::uint64_t>(exchange, own.size());
  std::vector<std::string> texts(exchange.size());
  std::vector<std::span<std::byte>> places;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    texts[rank].resize(sizes[rank]);
    places.push_back(std::as_writable_bytes(std::span(texts[rank])));
  }
  gather(exchange, std::as_bytes(std::span(own)), places);
  return texts;
}

int largest(Exchange& exchange, int own) {
  const std::vector<int> all = gather(exchange, own);
  return *std::max_element(all.begin(), all.end());
}

void broadcast(Exchange& exchange, std::span<std::byte> bytes) {
  std::vector<Exchange::Outgoing> sends;
  std::vector<Exchange::Incoming> receives;
  if (exchange.rank() > 0) {
    receives.push_back({0, bytes});
  } else {
    for (std::size_t rank = 1; rank < exchange.size(); ++rank) sends.push_back({rank, bytes});
  }
  exchange.start(sends, receives);
  exchange.wait();
}

void broadcast(Exchange& exchange, std::string& text) {
  std::uint64_t size = text.size();
  broadcast(exchange, std::as_writable_bytes(std::span(&size, 1)));
  text.resize(size);
  broadcast(exchange, std::as_writable_bytes(std::span(text)));
}

}  // namespace semfuse
