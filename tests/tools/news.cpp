/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* news.cpp: every form of operator new and delete once: `news each` makes 8 calls of new and 12 of delete; `news` none.
 * The odd four deletes get nullptr. */
#include <cstring>
#include <new>

namespace {

constexpr std::align_val_t align{64};

void plain()
{
  ::operator delete(::operator new(10));
  ::operator delete[](::operator new[](10));
}

void nothrow()
{
  ::operator delete(::operator new(10, std::nothrow), std::nothrow);
  ::operator delete[](::operator new[](10, std::nothrow), std::nothrow);
}

void aligned()
{
  ::operator delete(::operator new(100, align), align);
  ::operator delete[](::operator new[](100, align), align);
}

void aligned_nothrow()
{
  ::operator delete(::operator new(100, align, std::nothrow), align, std::nothrow);
  ::operator delete[](::operator new[](100, align, std::nothrow), align, std::nothrow);
}

void sized()
{
  ::operator delete(nullptr, std::size_t{10});
  ::operator delete[](nullptr, std::size_t{10});
  ::operator delete(nullptr, std::size_t{100}, align);
  ::operator delete[](nullptr, std::size_t{100}, align);
}

} // namespace

int main(int argc, char **argv)
{
  if (argc > 1 && std::strcmp(argv[1], "each") == 0) {
    plain();
    nothrow();
    aligned();
    aligned_nothrow();
    sized();
  }
  return 0;
}
