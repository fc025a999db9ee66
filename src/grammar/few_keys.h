// A set that mostly holds few keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <vector>

namespace semfuse {

// A list while that is fast, and then a table. Its memory is kept for the next use.
template <typename Key>
class FewKeys {
 public:
  bool insert(Key key) {  // False if it was there.
    constexpr std::size_t kFew = 16;
    if (table_.empty() && list_.size() < kFew) {
      if (std::find(list_.begin(), list_.end(), key) != list_.end()) return false;
      list_.push_back(key);
      return true;
    }
    if (table_.empty()) table_.insert(list_.begin(), list_.end());
    return table_.insert(key).second;
  }
  void clear() {
    list_.clear();
    if (!table_.empty()) table_ = {};
  }

 private:
  std::vector<Key> list_;
  std::unordered_set<Key> table_;
};

}  // namespace semfuse
