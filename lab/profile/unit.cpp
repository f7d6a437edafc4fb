/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// unit.cpp: for a compiler: templates of the standard library.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

template <class Key>
int count_of(const std::vector<Key> &keys) {
  std::map<Key, int> count;
  for (const Key &key : keys) count[key]++;
  std::vector<std::pair<int, Key>> order;
  for (const auto &pair : count) order.emplace_back(pair.second, pair.first);
  std::sort(order.begin(), order.end());
  return order.empty() ? 0 : order.back().first;
}

int of_numbers(const std::vector<int> &keys) { return count_of(keys); }
int of_texts(const std::vector<std::string> &keys) { return count_of(keys); }
int of_reals(const std::vector<double> &keys) { return count_of(keys); }
