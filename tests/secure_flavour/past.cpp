/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* past.cpp: what the past of a block's memory does to its owner, in the secure flavour: past CASE.
 *
 *   stale     a write through a stale pointer, also to pages that the kernel took back, shows in no later block
 *   handler   a long block by operator new, after a handler of std::set_new_handler freed one, is zero
 *   aligned   a long block asked for with an alignment is not deleted without it, and the reverse
 *   freed     a freed block up to 32,760 B that lies in a slab reads as zero
 *   rest      behind a block's end, in the rest of its class, nothing of an earlier block is left
 *   child     a fork's child has closed what another thread was just writing to
 *
 * Prints what is wrong, one line each; exit status 1 then.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

namespace {

int wrongs;

void wrong(const char *what, size_t n, long seen) {
  std::printf("%s: %zu bytes, %ld\n", what, n, seen);
  wrongs++;
}

/* The status of a child that does this; its messages go nowhere. */
int in_child(const std::function<int()> &what) {
  pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    _exit(what());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/* ---- stale ---- */

enum { BLOCKS = 4000, TRIALS = 12 };
const char marker[] = "a stale word";

bool holds_marker(const char *p, size_t n) { return memmem(p, n, marker, sizeof marker) != nullptr; }

/* One write through a stale pointer; then as many blocks again, by malloc and calloc. */
int write_and_take(const std::vector<char *> &freed, size_t n, size_t which) {
  memcpy(freed[which] + n / 16 * 8, marker, sizeof marker);
  for (size_t i = 0; i < freed.size(); i++) {
    const char *p = static_cast<char *>(i % 2 != 0 ? calloc(1, n) : malloc(n));
    if (holds_marker(p, n)) return 1;
  }
  return 0;
}

void stale_of(size_t n, bool trim) {
  std::vector<char *> freed(n > 10000 ? BLOCKS / 40 : BLOCKS);
  for (char *&p : freed) memset(p = static_cast<char *>(malloc(n)), 'S', n);
  for (char *p : freed) free(p);
  if (trim) malloc_trim(0);
  long shown = 0;
  for (size_t i = 0; i < TRIALS; i++) {
    int status = in_child([&] { return write_and_take(freed, n, (i * 7919 + 13) % freed.size()); });
    shown += WIFEXITED(status) && WEXITSTATUS(status) != 0;
  }
  if (shown != 0) wrong(trim ? "a stale write shows, after a trim" : "a stale write shows", n, shown);
}

void stale() {
  for (size_t n : {56, 200, 1000, 8000, 30000, 200000}) stale_of(n, false), stale_of(n, true);
}

/* ---- handler ---- */

char *hoard;

void give_up_the_hoard() {
  ::operator delete(hoard);
  hoard = nullptr;
  std::set_new_handler(nullptr);
}

/* The address space is limited; blocks are taken until the handler was called. */
int new_behind_the_handler(size_t n) {
  memset(hoard = static_cast<char *>(::operator new(n)), 'S', n);
  std::set_new_handler(give_up_the_hoard);
  struct rlimit limit;
  limit.rlim_cur = limit.rlim_max = 1;
  setrlimit(RLIMIT_AS, &limit);
  char *p = nullptr;
  while (hoard != nullptr) p = static_cast<char *>(::operator new(n));
  for (size_t i = 0; i < n; i++) {
    if (p[i] == 'S') return 1;
  }
  return 0;
}

void handler() {
  for (size_t n : {40000, 300000, 1100000}) {
    int status = in_child([&] { return new_behind_the_handler(n); });
    if (status != 0) wrong("a block by operator new after its handler", n, status);
  }
}

/* ---- aligned ---- */

bool aborts(const std::function<void()> &what) {
  int status = in_child([&] { return what(), 0; });
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

void aligned() {
  using std::align_val_t;
  for (size_t n : {100, 5000, 100000, 1100000, 9000000}) {
    for (size_t align : {64, 4096, 65536, 2 << 20}) {
      auto said = align_val_t(align);
      if (!aborts([&] { ::operator delete(::operator new(n, said)); })) wrong("deleted without alignment", n, align);
      if (aborts([&] { ::operator delete(::operator new(n, said), said); })) wrong("not deleted", n, align);
    }
    if (!aborts([&] { ::operator delete(::operator new(n), align_val_t(64)); })) wrong("deleted with one", n, 64);
    if (aborts([&] { free(aligned_alloc(65536, n)); })) wrong("not freed", n, 65536);
  }
}

/* ---- freed ---- */

void freed() {
  for (size_t n : {1, 56, 1000, 1020, 5000, 32000, 32760}) {
    for (size_t align : {16, 64}) {
      char *p = static_cast<char *>(align > 16 ? memalign(align, n) : malloc(n));
      memset(p, 'S', n);
      free(p);
      long seen = 0;
      for (size_t i = 0; i < n; i++) seen += p[i] == 'S';
      if (seen != 0) wrong("a freed block shows what it held", n, seen);
    }
  }
}

/* ---- rest ---- */

void rest_of(size_t before, size_t n) {
  std::vector<char *> block(64);
  for (char *&p : block) memset(p = static_cast<char *>(malloc(before)), 'S', before);
  for (char *p : block) free(p);
  long seen = 0;
  for (char *&p : block) {
    p = static_cast<char *>(malloc(n));
    for (size_t i = n + 8; i < (n + 8 + 4095) / 4096 * 4096; i++) seen += p[i] == 'S';
  }
  if (seen != 0) wrong("behind new blocks, of an earlier one", n, seen);
  for (char *p : block) free(p);
}

void rest() {
  rest_of(40952, 36870), rest_of(65528, 57350), rest_of(262000, 229500);
}

/* ---- child ---- */

volatile bool done;

void *store(void *) {
  for (int i = 0; !done; i++) mallopt(M_MMAP_THRESHOLD, (1 << 20) + i % 2 * 4096);
  return nullptr;
}

/* [bytes] Of the library's memory, writable. */
long writable() {
  char line[600];
  long bytes = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != nullptr) {
    unsigned long from = 0, to = 0;
    bool ours = strstr(line, "libhakmem") != nullptr && strstr(line, " rw-p ") != nullptr;
    if (ours && sscanf(line, "%lx-%lx", &from, &to) == 2) bytes += to - from;
  }
  fclose(maps);
  return bytes;
}

void child() {
  enum { FORKS = 40, USES = 100 };
  long before = writable(), open = 0;
  pthread_t thread;
  pthread_create(&thread, nullptr, store, nullptr);
  for (int i = 0; i < FORKS; i++) {
    int status = in_child([&] {
      for (size_t n = 0; n < USES; n++) free(malloc(n * 1000));
      return writable() > before ? 1 : 0;
    });
    open += status != 0;
  }
  done = true;
  pthread_join(thread, nullptr);
  if (open != 0) wrong("children in which more of the library is writable", 0, open);
}

}  // namespace

int main(int, char **argv) {
  const struct {
    const char *name;
    void (*run)();
  } cases[] = {{"stale", stale}, {"handler", handler}, {"aligned", aligned},
               {"freed", freed}, {"rest", rest},       {"child", child}};
  for (const auto &one : cases) {
    if (strcmp(argv[1], one.name) == 0) one.run();
  }
  return wrongs != 0;
}
