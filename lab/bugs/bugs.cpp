/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bugs.cpp: one error of memory a process, under whatever malloc is preloaded: bugs NAME.
 *
 * what      Prints, each on a line, as far as the process comes:
 *               done      the statement with the error has run
 *               leaks     it read what was not its own
 *               damages   bytes of another live block have changed
 *               end       10,000 blocks were taken and freed after it
 *           An allocator that finds the error ends the process before. `bugs` lists the names; `bugs --who` the files
 *           of malloc and free.
 * not here  The verdicts: lab/hakmem_lab/bugs.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

namespace {

constexpr size_t kSmall = 56, kLarge = 3 << 20, kAround = 24, kChurned = 10000, kReused = 20000;
constexpr char kSecret = 0x5e, kOwn = 0x11;

char *around[kAround]; /* live blocks of the same size, with kOwn in each byte */

/* For the compiler the block may be any other: one that is handed out twice is compared. */
__attribute__((noinline)) char *take(size_t n) {
  void *p = malloc(n);
  __asm__ volatile("" : "+r"(p));
  return static_cast<char *>(p);
}

__attribute__((noinline)) void drop(void *p) { free(p); }
__attribute__((noinline)) volatile char *hidden(char *p) { return p; } /* no compiler sees what it is */

void say(const char *word) {
  const ssize_t written = write(1, word, strlen(word));
  (void)written;
}

void leaks_if(bool secret) {
  if (secret) say("leaks\n");
}

/* ---- frees ---- */

void double_free() {
  char *p = take(kSmall);
  drop(p), drop(p);
}

void double_free_with_one_between() {
  char *p = take(kSmall), *q = take(kSmall);
  drop(p), drop(q), drop(p);
}

void double_free_with_thousands_between() {
  static char *many[3000];
  char *p = take(kSmall);
  for (char *&each : many) each = take(kSmall);
  drop(p);
  for (char *each : many) drop(each);
  drop(p);
}

void *drop_there(void *p) { return drop(p), nullptr; }

void double_free_by_two_threads() {
  char *p = take(kSmall);
  pthread_t thread;
  pthread_create(&thread, nullptr, drop_there, p);
  pthread_join(thread, nullptr);
  drop(p);
}

void double_free_of_a_large_block() {
  char *p = take(kLarge);
  drop(p), drop(p);
}

void free_of_the_next_owners_block() {
  char *p = take(kSmall);
  drop(p);
  char *q = take(kSmall);
  drop(p);
  char *r = take(kSmall);
  memset(q, kOwn, kSmall);
  memset(r, kSecret, kSmall);
  if (*hidden(q) != kOwn) say("damages\n");
}

/* The address has a new owner, however long the allocator keeps freed blocks back. */
void free_of_the_next_owners_block_after_reuse() {
  char *p = take(kSmall), *q = nullptr;
  drop(p);
  for (size_t i = 0; i < kReused && q != p; i++) {
    q = take(kSmall);
    if (q != p && i % 2 == 0) drop(q);
  }
  if (q != p) return;
  memset(q, kOwn, kSmall);
  drop(p);
  for (size_t i = 0; i < kReused; i++) memset(take(kSmall), kSecret, kSmall);
  if (*hidden(q) != kOwn) say("damages\n");
}

void free_inside_a_block() { drop(take(kSmall) + 16); }
void free_inside_a_large_block() { drop(take(kLarge) + 4096); }

void free_of_the_stack() {
  alignas(16) char place[256] = {0};
  drop(const_cast<char *>(hidden(place + 64)));
}

void free_of_static_data() {
  alignas(16) static char place[256];
  drop(const_cast<char *>(hidden(place + 64)));
}

void free_of_a_mapping() {
  void *p = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  drop(static_cast<char *>(p) + 4096);
}

/* A pretended block in static data, with the header that glibc would write: the next request may get it. */
void free_of_a_forged_block() {
  alignas(16) static uint64_t place[64];
  for (size_t i = 1; i < 64; i += 10) place[i] = 0x51;
  char *p = reinterpret_cast<char *>(&place[2]);
  drop(const_cast<char *>(hidden(p)));
  if (take(kSmall + 16) == p) say("damages\n");
}

/* Where the mapping below that of the blocks begins: the tables of an allocator that keeps them apart. */
char *other_mapping() {
  static char text[1 << 16];
  const int file = open("/proc/self/maps", O_RDONLY);
  size_t length = 0;
  for (ssize_t n; (n = read(file, text + length, sizeof text - 1 - length)) > 0;) length += static_cast<size_t>(n);
  close(file);
  char *before = nullptr, *line = text;
  for (char *end; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
    char *rest = nullptr;
    const uintptr_t first = strtoull(line, &rest, 16), last = strtoull(rest + 1, &rest, 16);
    const uintptr_t at = reinterpret_cast<uintptr_t>(around[0]);
    if (at >= first && at < last) return before;
    const bool anonymous = strncmp(rest, " rw-p 00000000 00:00 0", 22) == 0;
    if (anonymous && memchr(rest, '[', static_cast<size_t>(end - rest)) == nullptr) before = reinterpret_cast<char *>(first);
  }
  return nullptr;
}

void free_inside_the_tables() {
  char *p = other_mapping();
  if (p != nullptr) drop(const_cast<char *>(hidden(p + 4096)));
}

void sized_delete_of_another_size() { operator delete(operator new(kSmall), size_t{4000}); }

void delete_of_another_alignment() { operator delete(operator new(kSmall), std::align_val_t{256}); }

void delete_of_an_aligned_block() { operator delete(operator new(kSmall, std::align_val_t{256})); }

/* ---- writes ---- */

void write_one_byte_behind() { hidden(around[kAround / 2])[malloc_usable_size(around[0])] = kSecret; }

void write_one_byte_behind_and_free() {
  char *p = take(kSmall);
  hidden(p)[malloc_usable_size(p)] = kSecret;
  drop(p);
}

void write_64_bytes_behind() {
  volatile char *p = hidden(around[kAround / 2]);
  for (size_t i = 0, n = malloc_usable_size(around[0]); i < 64; i++) p[n + i] = kSecret;
}

void write_16_bytes_before() {
  volatile char *p = hidden(around[kAround / 2]);
  for (int i = 1; i <= 16; i++) p[-i] = kSecret;
}

void write_behind_a_large_block() {
  char *p = take(kLarge);
  hidden(p)[malloc_usable_size(p) + 8] = kSecret;
  drop(p);
}

void write_before_and_free() {
  char *p = take(kSmall);
  volatile uint64_t *word = reinterpret_cast<volatile uint64_t *>(const_cast<char *>(hidden(p)));
  word[-1] = 0x4141414141414141;
  drop(p);
}

void write_after_free() {
  char *p = take(kSmall);
  drop(p);
  memset(const_cast<char *>(hidden(p)), kSecret, 16);
}

void write_after_free_to_the_next_owner() {
  char *p = take(kSmall);
  drop(p);
  char *q = take(kSmall);
  memset(q, kOwn, kSmall);
  memset(const_cast<char *>(hidden(p)), kSecret, 16);
  if (*hidden(q) != kOwn) say("damages\n");
}

void write_after_free_of_a_large_block() {
  char *p = take(kLarge);
  memset(p, 1, kLarge);
  drop(p);
  hidden(p)[kLarge / 2] = kSecret;
}

/* The first word of a free block is a link in many allocators: two requests later it may be handed out. */
void forged_link() {
  alignas(16) static char target[256];
  char *p = take(kSmall), *q = take(kSmall);
  drop(q), drop(p);
  *reinterpret_cast<char *volatile *>(const_cast<char *>(hidden(p))) = target + 64;
  for (int i = 0; i < 4; i++) {
    if (take(kSmall) == target + 64) say("damages\n");
  }
}

/* ---- reads ---- */

void read_behind() {
  memset(around[kAround / 2 + 1], kSecret, kSmall);
  const volatile char *p = hidden(around[kAround / 2]);
  bool found = false;
  for (size_t i = 0; i < 256; i++) found |= p[kSmall + i] == kSecret;
  memset(around[kAround / 2 + 1], kOwn, kSmall);
  leaks_if(found);
}

void read_behind_a_large_block() {
  char *p = take(kLarge), *q = take(kLarge);
  memset(p, kSecret, kLarge), memset(q, kSecret, kLarge);
  const size_t n = malloc_usable_size(p);
  bool found = false;
  const size_t two_pages = 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < two_pages; i++) found |= hidden(p)[n + i] == kSecret || hidden(q)[n + i] == kSecret;
  leaks_if(found);
}

void read_before() {
  memset(around[kAround / 2 - 1], kSecret, kSmall);
  const volatile char *p = hidden(around[kAround / 2]);
  bool found = false;
  for (int i = 1; i <= 256; i++) found |= p[-i] == kSecret;
  memset(around[kAround / 2 - 1], kOwn, kSmall);
  leaks_if(found);
}

void read_after_free_of_a_large_block() {
  char *p = take(kLarge);
  memset(p, kSecret, kLarge);
  drop(p);
  leaks_if(hidden(p)[kLarge / 2] == kSecret);
}

void read_after_free_of_the_next_owners_block() {
  char *p = take(kSmall);
  drop(p);
  memset(take(kSmall), kSecret, kSmall);
  leaks_if(hidden(p)[32] == kSecret);
}

void read_after_free() {
  char *p = take(kSmall);
  memset(p, kSecret, kSmall);
  drop(p);
  leaks_if(hidden(p)[32] == kSecret);
}

void read_of_what_was_never_written() {
  char *p = take(kSmall);
  memset(p, kSecret, kSmall);
  drop(p);
  leaks_if(hidden(take(kSmall))[32] == kSecret);
}

void read_of_what_was_never_written_in_a_large_block() {
  char *p = take(kLarge);
  memset(p, kSecret, kLarge);
  drop(p);
  leaks_if(hidden(take(kLarge))[kLarge / 2] == kSecret);
}

/* ---- the process ---- */

struct {
  const char *name;
  void (*run)();
} const bug[] = {
#define BUG(name) {#name, name}
    BUG(double_free), BUG(double_free_with_one_between), BUG(double_free_with_thousands_between),
    BUG(double_free_by_two_threads), BUG(double_free_of_a_large_block), BUG(free_of_the_next_owners_block),
    BUG(free_of_the_next_owners_block_after_reuse), BUG(free_inside_a_block), BUG(free_inside_a_large_block),
    BUG(free_of_the_stack), BUG(free_of_static_data), BUG(free_of_a_mapping), BUG(free_of_a_forged_block),
    BUG(free_inside_the_tables), BUG(sized_delete_of_another_size), BUG(delete_of_another_alignment),
    BUG(delete_of_an_aligned_block), BUG(write_one_byte_behind), BUG(write_one_byte_behind_and_free),
    BUG(write_64_bytes_behind), BUG(write_16_bytes_before), BUG(write_behind_a_large_block),
    BUG(write_before_and_free), BUG(write_after_free), BUG(write_after_free_to_the_next_owner),
    BUG(write_after_free_of_a_large_block), BUG(forged_link), BUG(read_behind), BUG(read_behind_a_large_block),
    BUG(read_before), BUG(read_after_free), BUG(read_after_free_of_the_next_owners_block),
    BUG(read_after_free_of_a_large_block), BUG(read_of_what_was_never_written),
    BUG(read_of_what_was_never_written_in_a_large_block),
};

void look_around() {
  for (const char *each : around) {
    for (size_t i = 0; i < kSmall; i++) {
      if (each[i] != kOwn) return say("damages\n");
    }
  }
}

void churn() {
  static char *many[kChurned];
  for (size_t i = 0; i < kChurned; i++) memset(many[i] = take(16 + i % 40 * 16), 1, 16);
  for (char *each : many) drop(each);
  malloc_trim(0);
}

/* The files of malloc and free: they prove which allocator serves. */
void say_who() {
  Dl_info file;
  for (void *function : {reinterpret_cast<void *>(&malloc), reinterpret_cast<void *>(static_cast<void (*)(void *)>(&free))}) {
    say(dladdr(function, &file) != 0 ? file.dli_fname : "?"), say("\n");
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--who") == 0) return say_who(), 0;
  for (char *&each : around) memset(each = take(kSmall), kOwn, kSmall);
  for (const auto &[name, run] : bug) {
    if (argc == 1) say(name), say("\n");
    if (argc < 2 || strcmp(argv[1], name) != 0) continue;
    run();
    say("done\n");
    look_around();
    churn();
    for (char *each : around) drop(each);
    say("end\n");
  }
}
