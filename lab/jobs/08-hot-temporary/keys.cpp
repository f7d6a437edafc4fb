/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// keys.cpp: looks up a key a million times, and makes a string of it each time; 200,000 values are kept.
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

__attribute__((noinline)) std::string format_key(int number) {
  return "customer/of/this/shop/with/the/number/" + std::to_string(number);
}

__attribute__((noinline)) std::unique_ptr<int[]> make_value(int number) {
  std::unique_ptr<int[]> value(new int[16]);
  value[0] = number;
  return value;
}

int main() {
  std::unordered_map<std::string, int> table;
  std::vector<std::unique_ptr<int[]>> values;
  for (int i = 0; i < 1000; i++) table[format_key(i)] = i;
  long sum = 0, made = 0;
  for (int i = 0; i < 1000000; i++) {
    sum += table.find(format_key(i % 1000))->second;
    made++;
    if (i % 5 == 0) values.push_back(make_value(i));
  }
  std::fprintf(stderr, "truth: %ld blocks\n", made);
  return sum == 1;
}
