/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// templates.cpp: the benchmark's source for g++: deep and wide templates, of the library and of this file. The
// allocator sees a compiler's load: trees of small nodes that live to the end, hash tables and vectors that grow,
// strings that come and go. The benchmark only compiles this file, but the program would run.
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// ---- arithmetic on types: a chain of instantiations per number ----

template <unsigned N>
struct collatz {
    static constexpr unsigned steps = 1 + collatz<N % 2 == 0 ? N / 2 : 3 * N + 1>::steps;
};
template <>
struct collatz<1> {
    static constexpr unsigned steps = 0;
};

template <std::size_t... I>
constexpr auto collatz_table(std::index_sequence<I...>)
{
    return std::array<unsigned, sizeof...(I)>{collatz<I + 1>::steps...};
}

// ---- lists of types: sorted by insertion, every step a new type ----

template <unsigned N>
struct tag {
    static constexpr unsigned value = N;
    char space[N % 64 + 1];
};

template <typename... T>
struct types {};

template <typename T, typename Done, typename Rest>
struct insert;
template <typename T, typename... Done>
struct insert<T, types<Done...>, types<>> {
    using type = types<Done..., T>;
};
template <typename T, typename... Done, typename Head, typename... Tail>
struct insert<T, types<Done...>, types<Head, Tail...>> {
    using type = typename std::conditional_t<(T::value < Head::value),
        std::enable_if<true, types<Done..., T, Head, Tail...>>,
        insert<T, types<Done..., Head>, types<Tail...>>>::type;
};

template <typename List, typename Sorted = types<>>
struct sorted;
template <typename Sorted>
struct sorted<types<>, Sorted> {
    using type = Sorted;
};
template <typename Head, typename... Tail, typename Sorted>
struct sorted<types<Head, Tail...>, Sorted> {
    using type = typename sorted<types<Tail...>, typename insert<Head, types<>, Sorted>::type>::type;
};

template <std::size_t... I>
types<tag<(I * 37 + 11) % 101>...> scrambled(std::index_sequence<I...>);

template <typename... T>
constexpr std::size_t total_size(types<T...>)
{
    return (sizeof(T) + ... + 0);
}

// ---- expressions as types ----

template <typename Left, typename Right, typename Operation>
struct node {
    Left left;
    Right right;
    auto operator()(double x) const { return Operation{}(left(x), right(x)); }
};
struct variable {
    double operator()(double x) const { return x; }
};
template <int N>
struct constant {
    double operator()(double) const { return N; }
};

template <unsigned Depth>
auto polynomial()
{
    if constexpr (Depth == 0) {
        return variable{};
    } else {
        using inner = decltype(polynomial<Depth - 1>());
        using product = node<inner, variable, std::multiplies<>>;
        return node<product, constant<Depth>, std::plus<>>{};
    }
}

// ---- variants, visitors, containers of containers: a family per number ----

template <unsigned N>
struct record {
    std::variant<int, double, std::string, std::vector<tag<N>>> value;
    std::map<std::string, std::optional<tag<N>>> fields;
    std::unordered_map<std::string, std::shared_ptr<record>> children;

    std::size_t weight() const
    {
        std::size_t sum = std::visit([](const auto &v) { return sizeof v; }, value) + fields.size();
        for (const auto &[name, child] : children)
            sum += name.size() + child->weight();
        return sum;
    }
};

template <unsigned N>
std::size_t build_record()
{
    record<N> root;
    root.value = std::vector<tag<N>>(N + 1);
    root.fields.emplace("field", tag<N>{});
    auto child = root.children.try_emplace("child", std::make_shared<record<N>>()).first->second;
    child->value = std::to_string(N);
    std::vector<std::tuple<std::string, tag<N>, std::function<std::size_t()>>> work;
    work.emplace_back("weight", tag<N>{}, [&root] { return root.weight(); });
    std::sort(work.begin(), work.end(), [](auto &a, auto &b) { return std::get<0>(a) < std::get<0>(b); });
    return std::get<2>(work.front())();
}

template <std::size_t... I>
std::size_t build_records(std::index_sequence<I...>)
{
    return (build_record<I>() + ... + 0);
}

int main()
{
    constexpr auto table = collatz_table(std::make_index_sequence<200>{});
    using list = typename sorted<decltype(scrambled(std::make_index_sequence<40>{}))>::type;
    std::cout << *std::max_element(table.begin(), table.end()) << ' ' << total_size(list{}) << ' '
              << polynomial<40>()(0.5) << ' ' << build_records(std::make_index_sequence<2>{}) << '\n';
}
