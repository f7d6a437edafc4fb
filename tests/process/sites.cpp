/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sites.cpp: hakmem.h's figures of this program's call sites. */
#include <dlfcn.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <vector>

#include "observe.h"

namespace {

hak_site_stats row(unsigned n) {
  hak_site_stats s = {};
  s.version = HAK_SITE_VERSION;
  s.size = sizeof s;
  if (!hak_site(n, &s)) s.version = 0;
  return s;
}

/* All rows whose address lies in this function's code. */
std::vector<hak_site_stats> rows_of(const void *function) {
  std::vector<hak_site_stats> found;
  Dl_info own, other;
  work_expect(dladdr(function, &own) != 0, "dladdr");
  for (unsigned n = 0; row(n).version != 0; n++) {
    const hak_site_stats s = row(n);
    const bool known = s.address != 0 && dladdr(reinterpret_cast<void *>(s.address), &other) != 0;
    if (known && other.dli_saddr == own.dli_saddr) found.push_back(s);
  }
  return found;
}

void use(void *p, size_t bytes) {
  work_expect(p != nullptr, "no memory");
  memset(p, 1, bytes);
}

}  // namespace

#define SITE extern "C" __attribute__((noinline, visibility("default")))

SITE void *site_one(size_t n) {
  void *volatile p = malloc(n);
  return p;
}
SITE void *site_two(size_t n) {
  void *volatile p = calloc(n, 1);
  return p;
}
SITE char *site_new(size_t n) {
  char *volatile p = new char[n];
  return p;
}
SITE void *site_aligned(size_t n) {
  void *volatile p = aligned_alloc(4096, n);
  return p;
}
/* Templates make longer names. */
#define SITE_50 "site_named_by_a_word_of_fifty_characters_and_more_"
#define SITE_LONG SITE_50 SITE_50 SITE_50 SITE_50 SITE_50 SITE_50 SITE_50 SITE_50 SITE_50 SITE_50
SITE void *site_long(size_t n) __asm__(SITE_LONG);
SITE void *site_long(size_t n) {
  void *volatile p = malloc(n);
  return p;
}
SITE void *site_realloc(void *old, size_t n) {
  void *volatile p = realloc(old, n);
  return p;
}

namespace {

void hits() {
  for (int n = 0; n < 10; n++) {
    void *p = site_one(2 * MIB);
    use(p, 2 * MIB);
    free(p);
  }
  const auto rows = rows_of(reinterpret_cast<void *>(site_one));
  work_expect(rows.size() == 1, "ten blocks of one site are not one row");
  work_expect(rows[0].count == 10 && rows[0].hits == 9 && rows[0].live == 0, "nine of ten are hits");
  work_expect(rows[0].gaps == 9 && rows[0].fetched == 2 * MIB / page_bytes(), "gaps, fetched pages");
  work_expect(rows[0].bytes == 20 * MIB && rows[0].sizes == 2 * MIB, "bytes, sizes");
}

void apart() {
  void *kept = site_one(2 * MIB), *zero = site_two(2 * MIB), *aligned = site_aligned(2 * MIB);
  char *made = site_new(2 * MIB);
  free(site_one(2 * MIB));
  const auto one = rows_of(reinterpret_cast<void *>(site_one)), two = rows_of(reinterpret_cast<void *>(site_two));
  work_expect(one.size() == 1 && one[0].count == 2 && one[0].live == 1 && one[0].live_bytes == 2 * MIB, "malloc's");
  work_expect(two.size() == 1 && two[0].count == 1 && two[0].live == 1, "calloc's");
  work_expect(rows_of(reinterpret_cast<void *>(site_aligned)).size() == 1, "aligned_alloc's");
  work_expect(rows_of(reinterpret_cast<void *>(site_new)).size() == 1, "new's: its caller's caller");
  free(kept), free(zero), free(aligned);
  delete[] made;
  void *grown = site_realloc(site_one(2 * MIB), 9 * MIB);
  work_expect(rows_of(reinterpret_cast<void *>(site_one))[0].live_bytes == 9 * MIB, "a resized block is its site's");
  free(grown);
  work_expect(rows_of(reinterpret_cast<void *>(site_one))[0].live_bytes == 0, "and goes whole");
}

/* Both sites have freed a block of the same size: each gets its own block again. */
void routes() {
  void *wall[2], *a = site_one(2 * MIB), *b;
  wall[0] = malloc(3 * MIB); /* free neighbours would merge */
  b = site_two(2 * MIB);
  wall[1] = malloc(3 * MIB);
  for (int n = 0; n < 20; n++) {
    const uintptr_t at_one = reinterpret_cast<uintptr_t>(a), at_two = reinterpret_cast<uintptr_t>(b);
    free(n % 2 == 0 ? a : b), free(n % 2 == 0 ? b : a);
    if (n % 4 < 2) a = site_one(2 * MIB), b = site_two(2 * MIB);
    else b = site_two(2 * MIB), a = site_one(2 * MIB);
    work_expect(reinterpret_cast<uintptr_t>(a) == at_one && reinterpret_cast<uintptr_t>(b) == at_two, "the other's block");
  }
  free(a), free(b), free(wall[0]), free(wall[1]);
}

hak_site_stats sum_of(const void *function) {
  hak_site_stats sum = {};
  for (const auto &s : rows_of(function)) {
    sum.count += s.count, sum.bytes += s.bytes, sum.live += s.live, sum.live_bytes += s.live_bytes;
  }
  return sum;
}

/* With the setting: runs that magazines serve, too. */
void runs() {
  for (int n = 0; n < 100; n++) free(site_one(100000));
  void *kept = site_one(70000);
  const auto rows = rows_of(reinterpret_cast<void *>(site_one));
  work_expect(!rows.empty(), "no row");
  uint64_t count = 0, live = 0;
  for (const auto &s : rows) count += s.count, live += s.live;
  work_expect(count == 101 && live == 1, "runs are not counted");
  free(kept);
}

/* Without the setting: short runs that no magazine served. */
void short_runs() {
  const void *one = reinterpret_cast<void *>(site_one), *two = reinterpret_cast<void *>(site_two);
  void *kept[20];
  for (void *&p : kept) p = site_one(100000);
  const size_t whole = (100000 + page_bytes() - 1) / page_bytes() * page_bytes();
  work_expect(sum_of(one).count == 20 && sum_of(one).live == 20 && sum_of(one).live_bytes == 20 * whole, "what stays");
  for (int n = 0; n < 1000; n++) free(site_two(200000)), free(malloc(200000)); /* this malloc opens the magazine */
  work_expect(sum_of(two).count > 0 && sum_of(two).live == 0, "what goes");
  for (int n = 0; n < 5; n++) free(site_two(4 * 65536)), work_expect(sum_of(two).live == 0, "of two kinds");
  for (void *p : kept) free(p);
  work_expect(sum_of(one).live == 0 && sum_of(one).live_bytes == 0, "all went");
  free(site_one(65535));
  work_expect(sum_of(one).count == 20, "too short to be told");
}

/* With the setting: a run that shrinks in place counts for its site until the free, whatever frees it. */
void shrunk() {
  constexpr size_t kUnit = 65536;
  const void *one = reinterpret_cast<void *>(site_one), *two = reinterpret_cast<void *>(site_two);
  for (const size_t units : {7, 4}) {
    void *p = site_one(units * kUnit);
    void *q = realloc(p, 2 * kUnit);
    work_expect(q == p, "it does not shrink where it lies");
    work_expect(sum_of(one).live == 1 && sum_of(one).live_bytes == 2 * kUnit, "a shrunk block is not its site's");
    void *rest = site_two((units - 2) * kUnit);
    work_expect(sum_of(one).live_bytes == 2 * kUnit, "another block's bytes");
    work_expect(sum_of(two).live == 1 && sum_of(two).live_bytes == (units - 2) * kUnit, "what lies in the rest");
    free(rest);
    free(q);
    work_expect(sum_of(one).live == 0 && sum_of(one).live_bytes == 0, "and does not go whole");
    work_expect(sum_of(two).live == 0 && sum_of(two).live_bytes == 0, "nor does the rest");
  }
  work_expect(sum_of(one).count == 2 && sum_of(one).bytes == 4 * kUnit, "counted as what they became");
}

void names() {
  char text[HAK_SITE_NAME_BYTES], brief[8];
  free(site_one(2 * MIB));
  const uint64_t address = rows_of(reinterpret_cast<void *>(site_one))[0].address;
  work_expect(hak_site_name(address, text, sizeof text) == 0, text);
  work_expect(strncmp(text, "site_one+0x", 11) == 0 && strstr(text, "process_sites)") != nullptr, text);
  work_expect(hak_site_name(address, brief, sizeof brief) != 0 && strcmp(brief, "site_on") == 0, "cut names");
  work_expect(hak_site_name(0x123, text, sizeof text) == 0 && strcmp(text, "0x123") == 0, text);
}

void long_names() {
  char text[2 * sizeof SITE_LONG];
  constexpr size_t kLength = sizeof SITE_LONG - 1;
  free(site_long(2 * MIB));
  const uint64_t address = rows_of(reinterpret_cast<void *>(site_long))[0].address;
  work_expect(hak_site_name(address, text, sizeof text) == 0, text);
  work_expect(strncmp(text, SITE_LONG "+0x", kLength + 3) == 0, text);
  work_expect(strstr(text, "process_sites)") != nullptr, text);
  const size_t all = strlen(text) + 1;
  work_expect(hak_site_name(address, text, all) == 0 && strlen(text) == all - 1, "it fits exactly");
  work_expect(hak_site_name(address, text, all - 1) == ERANGE && strlen(text) == all - 2, "one short");
  work_expect(hak_site_name(address, text, HAK_SITE_NAME_BYTES) == ERANGE, "cut, and not told");
  work_expect(strlen(text) == HAK_SITE_NAME_BYTES - 1 && memcmp(text, SITE_LONG, HAK_SITE_NAME_BYTES - 1) == 0, text);
  work_expect(hak_site_name(address, text, 1) == ERANGE && text[0] == '\0', "room for nothing");
  work_expect(hak_site_name(address, nullptr, 0) == ERANGE, "no room at all");
}

/* A block each in turn, explicit sites. */
void five_thousand() {
  for (int round = 0; round < 2; round++) {
    for (uintptr_t n = 1; n <= 5000; n++) {
      void *p = hak_alloc_at(2 * MIB, reinterpret_cast<void *>(n * 16));
      *static_cast<volatile char *>(p) = 1;
      free(p);
    }
  }
  uint64_t sites = 0, hits = 0;
  for (unsigned n = 0; row(n).version != 0; n++) {
    const hak_site_stats s = row(n);
    sites += s.address != 0 && s.address <= 5000 * 16;
    hits += s.address != 0 && s.address <= 5000 * 16 ? s.hits : 0;
  }
  work_expect(sites == 5000 && hits == 9999, "5,000 sites do not hit");
}

long faults() {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

/* 40 MiB every second: at the price the memory is released and fetched anew each time. */
long faults_of_a_period(const void *site) {
  const long before = faults();
  for (int round = 0; round < 3; round++) {
    void *p[10];
    for (void *&q : p) use(q = hak_alloc_at(4 * MIB, site), 4 * MIB);
    for (void *q : p) free(q);
    for (int n = 0; n < 10; n++) usleep(100000), free(site_two(2 * MIB));
  }
  return faults() - before;
}

void keep() {
  static char told, untold;
  work_expect(hak_keep_at(nullptr, 100) == EINVAL, "nobody's keep time");
  work_expect(hak_keep_at(&told, 1500) == 0, "no keep time");
  const long without = faults_of_a_period(&untold), with = faults_of_a_period(&told);
  const long small_pages = page_bytes() / 4096; /* a period fetches as many fewer, as pages are longer */
  work_expect(with * small_pages < 11000 && without * small_pages > 25000, "a site was told 1.5 s and is fetched anew every second");
  for (unsigned n = 0; row(n).version != 0; n++) {
    if (row(n).address == reinterpret_cast<uintptr_t>(&told)) return work_expect(row(n).keep_ms == 2048, "keep_ms");
  }
  work_failed("no row for a site that was told a keep time");
}

void small_at() {
  for (int n = 0; n < 7; n++) free(hak_alloc_at(100, reinterpret_cast<void *>(uintptr_t{48})));
  for (unsigned n = 0; row(n).version != 0; n++) {
    if (row(n).address == 48) work_expect(row(n).count == 7 && row(n).live == 0, "small blocks of a site");
    if (row(n).address == 48) return;
  }
  work_failed("no row for a site of small blocks");
}

const struct {
  const char *name;
  void (*run)();
} ways[] = {{"hits", hits}, {"apart", apart}, {"routes", routes}, {"runs", runs}, {"short_runs", short_runs}, {"shrunk", shrunk},
            {"names", names}, {"long_names", long_names}, {"five_thousand", five_thousand}, {"small_at", small_at}, {"keep", keep}};

}  // namespace

int main(int, char **arguments) {
  for (const auto &way : ways) {
    if (strcmp(way.name, arguments[1]) == 0) return way.run(), 0;
  }
  return 2;
}
