// Blocks of records go through stages that work at the same time: some are read while those before them are worked on
// by threads, and those before these are finished in their order.
#pragma once

#include <cstddef>
#include <functional>

#include "core/thread_pool.h"
#include "data/record_reader.h"

namespace semfuse {

struct BlockStages {
  std::size_t group = 2;  // Blocks that are worked on at a time.
  // Several at a time. `index` is the block's place in the files, from 0; of the last 2 * group blocks each is either
  // worked on or waits to be finished, so what belongs to one may be kept at index % (2 * group).
  std::function<void(const RecordBlock& block, std::size_t index)> work;
  // One at a time, in the order of the file, while others are worked on. Empty: there is nothing to finish.
  std::function<void(std::size_t index)> finish;
  // Now and then, while no other thread does anything.
  std::function<void()> between;
};

// Returns when every block is finished. What is thrown is what comes first in the file, whatever the threads did: by
// work(), by the reader, or by finish(), which ends everything at once.
void run_stages(RecordReader& records, ThreadPool& pool, const BlockStages& stages);

}  // namespace semfuse
