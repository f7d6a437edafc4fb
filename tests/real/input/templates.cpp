/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A template-heavy C++ file: the standard library's large templates, and recursive and variadic templates of this file.
// cases/gxx.py compiles, links and runs the file. -DWRONG makes the compilation fail with a long message.
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <unsigned N>
struct Fibonacci {
  static constexpr unsigned long long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value;
};
template <>
struct Fibonacci<0> { static constexpr unsigned long long value = 0; };
template <>
struct Fibonacci<1> { static constexpr unsigned long long value = 1; };

template <typename... Types>
struct Record {
  std::tuple<Types...> fields;
  template <std::size_t... I>
  std::string text(std::index_sequence<I...>) const {
    std::ostringstream out;
    ((out << std::get<I>(fields) << (I + 1 < sizeof...(Types) ? "," : "")), ...);
    return out.str();
  }
  std::string text() const { return text(std::index_sequence_for<Types...>{}); }
};

template <typename Key, typename Value, std::size_t Depth>
struct Nested { using type = std::map<Key, typename Nested<Key, Value, Depth - 1>::type>; };
template <typename Key, typename Value>
struct Nested<Key, Value, 0> { using type = Value; };

using Shape = std::variant<int, double, std::string, std::vector<int>, std::shared_ptr<std::string>>;

static std::size_t measure(const Shape &shape) {
  return std::visit([](const auto &value) -> std::size_t {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<T>) return sizeof(T);
    else if constexpr (std::is_same_v<T, std::shared_ptr<std::string>>) return value->size();
    else return value.size();
  }, shape);
}

template <std::size_t... N>
static auto table(std::index_sequence<N...>) {
  return std::array<unsigned long long, sizeof...(N)>{Fibonacci<N>::value...};
}

static std::size_t count_words(const std::string &text) {
  const std::regex word("([a-z]+)([0-9]*)");
  std::unordered_map<std::string, std::size_t> seen;
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) ++seen[(*it)[1].str()];
  return seen.size();
}

#ifdef WRONG
struct Unordered {};
static std::set<Unordered> broken() { std::set<Unordered> set; set.insert(Unordered{}); return set; }
static int use = broken().size();
#endif

int main() {
  auto fibonacci = table(std::make_index_sequence<90>{});
  std::cout << std::accumulate(fibonacci.begin(), fibonacci.end(), 0ull) << '\n';

  Nested<std::string, std::vector<int>, 3>::type deep;
  for (int i = 0; i < 3000; ++i)
    deep[std::to_string(i % 7)][std::to_string(i % 11)][std::to_string(i % 13)].push_back(i);
  std::size_t leaves = 0;
  for (auto &[a, x] : deep)
    for (auto &[b, y] : x)
      for (auto &[c, z] : y) leaves += z.size() + a.size() + b.size() + c.size();
  std::cout << leaves << '\n';

  std::vector<Shape> shapes{1, 2.5, std::string("three"), std::vector<int>(40),
                            std::make_shared<std::string>("five five")};
  std::cout << std::accumulate(shapes.begin(), shapes.end(), std::size_t{0},
                               [](std::size_t sum, const Shape &s) { return sum + measure(s); }) << '\n';

  std::cout << Record<int, std::string, double, char>{{7, "seven", 7.5, 'x'}}.text() << '\n';

  std::ostringstream text;
  for (int i = 0; i < 500; ++i) text << char('a' + i % 26) << char('a' + i % 5) << i << ' ';
  std::cout << count_words(text.str()) << '\n';

  std::function<int(int)> chain = [](int x) { return x; };
  for (int i = 1; i <= 200; ++i) chain = [chain, i](int x) { return chain(x) + i; };
  std::cout << chain(0) << '\n';
}
