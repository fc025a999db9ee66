#include "data/block_stages.h"

#include <array>
#include <exception>
#include <utility>
#include <vector>

namespace semfuse {
namespace {

struct Group {
  std::vector<RecordBlock> blocks;
  std::vector<std::exception_ptr> failures;  // Of the work on each.
  std::size_t num_read = 0;
  std::size_t num_worked = 0;
};

}  // namespace

void run_stages(RecordReader& records, ThreadPool& pool, const BlockStages& stages) {
  std::array<Group, 2> groups;
  for (Group& group : groups) {
    group.blocks.resize(stages.group);
    group.failures.resize(stages.group);
  }
  bool at_end = false;
  std::exception_ptr failure;  // Of reading: what was read before it is worked on first.
  const auto read = [&](Group& group) {
    group.num_read = 0;
    try {
      while (!at_end && group.num_read < stages.group) {
        at_end = !records.next_block(group.blocks[group.num_read]);
        if (!at_end) ++group.num_read;
      }
    } catch (...) {
      at_end = true;
      failure = std::current_exception();
    }
  };

  read(groups[0]);
  for (std::size_t turn = 0; groups[0].num_read + groups[1].num_read + groups[(turn + 1) % 2].num_worked > 0; ++turn) {
    const std::size_t first = turn * stages.group;  // Every group but the last one is full.
    Group& here = groups[turn % 2];
    Group& other = groups[(turn + 1) % 2];  // Worked on in the turn before: is finished, and read anew.
    pool.run(here.num_read + 2, [&](std::size_t task, std::size_t) {
      if (task == 0) {
        read(other);
      } else if (task == 1) {
        for (std::size_t i = 0; stages.finish && i < other.num_worked; ++i) stages.finish(first - stages.group + i);
      } else {
        const std::size_t i = task - 2;
        try {
          stages.work(here.blocks[i], first + i);
        } catch (...) {
          here.failures[i] = std::current_exception();
        }
      }
    });
    for (std::size_t i = 0; i < here.num_read; ++i) {
      if (here.failures[i]) std::rethrow_exception(here.failures[i]);
    }
    here.num_worked = std::exchange(here.num_read, 0);
    other.num_worked = 0;
    if (stages.between) stages.between();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace semfuse
