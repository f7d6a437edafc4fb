/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* observe.h: what a test program sees of its own process, without an allocation.
 *
 * what      Resident anonymous memory, the threads by name, the clock, HAKMEM's counters; and waiting until a condition
 *           is true.
 * owner     The caller's thread.
 * failure   A line on stderr and exit status 1.
 * not here  The work of the programs: workload.h.
 */
#ifndef HAK_TESTS_PROCESS_OBSERVE_H
#define HAK_TESTS_PROCESS_OBSERVE_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>

#include "hakmem/hakmem.h"
#include "workload.h"

#define MIB ((size_t)1 << 20)

enum { PATIENCE_MS = 10000, LOOK_EVERY_MS = 5 };

/* A file of /proc, cut at the end of the buffer. */
static inline size_t read_proc(const char *path, char *text, size_t room) {
  size_t used = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  work_expect(fd >= 0, path);
  for (ssize_t n; used < room - 1 && (n = read(fd, text + used, room - 1 - used)) > 0;) used += (size_t)n;
  close(fd);
  text[used] = 0;
  return used;
}

/* The number behind a word that begins a line. */
static inline size_t proc_number(const char *path, const char *word, int base) {
  char text[4096];
  read_proc(path, text, sizeof text);
  const char *at = strstr(text, word);
  work_expect(at != NULL, word);
  return strtoull(at + strlen(word), NULL, base);
}

/* Exact, where statm may be off by some pages per processor; and without the files' pages. */
static inline size_t anonymous_bytes(void) {
  return proc_number("/proc/self/smaps_rollup", "Anonymous:", 10) << 10;
}

/* [bytes] */
static inline size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Enters a page's number in a table of 2^bits slots, zero at first and never full. Returns 1 if it is new there. */
static inline size_t note_page(uintptr_t *table, unsigned bits, uintptr_t page) {
  const size_t mask = ((size_t)1 << bits) - 1;
  size_t i = page * 0x9e3779b97f4a7c15u >> (64 - bits);
  while (table[i & mask] != 0 && table[i & mask] != page) i++;
  const size_t is_new = table[i & mask] == 0;
  table[i & mask] = page;
  return is_new;
}

/* The pages of [p, p + bytes) that the table lacks, which then has them. */
static inline size_t note_pages(uintptr_t *table, unsigned bits, const char *p, size_t bytes) {
  const uintptr_t first = (uintptr_t)p / page_bytes(), last = ((uintptr_t)p + bytes - 1) / page_bytes();
  size_t pages = 0;
  for (uintptr_t page = first; page <= last; page++) pages += note_page(table, bits, page);
  return pages;
}

static inline uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline void rest_ms(long ms) {
  const struct timespec span = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&span, NULL);
}

/* True if is_true becomes true within some seconds. */
static inline bool comes_true(bool (*is_true)(void)) {
  for (uint64_t end = now_ms() + PATIENCE_MS; !is_true();) {
    if (now_ms() > end) return false;
    rest_ms(LOOK_EVERY_MS);
  }
  return true;
}

static inline uint64_t counter_now(const char *wanted) {
  const char *name;
  uint64_t value;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++) {
    if (strcmp(name, wanted) == 0) return value;
  }
  work_failed(wanted);
}

struct threads_seen {
  int all, helpers;
  int helper; /* thread id of the last background thread seen */
};

static inline void see_thread(struct threads_seen *seen, const char *id) {
  char path[64], name[32];
  snprintf(path, sizeof path, "/proc/self/task/%s/comm", id);
  int fd = open(path, O_RDONLY | O_CLOEXEC); /* the thread may be gone by now */
  ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof name - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return;
  name[n] = 0;
  seen->all++;
  if (strcmp(name, "hakmem\n") != 0) return;
  seen->helpers++;
  seen->helper = atoi(id);
}

/* A record of getdents64. */
struct folder_entry {
  uint64_t inode, offset;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

static inline struct threads_seen threads_now(void) {
  struct threads_seen seen = {0, 0, 0};
  char text[4096];
  int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  work_expect(fd >= 0, "/proc/self/task");
  for (long n; (n = syscall(SYS_getdents64, fd, text, sizeof text)) > 0;) {
    for (long at = 0; at < n; at += ((struct folder_entry *)(void *)(text + at))->bytes) {
      const struct folder_entry *entry = (struct folder_entry *)(void *)(text + at);
      if (entry->name[0] != '.') see_thread(&seen, entry->name);
    }
  }
  close(fd);
  return seen;
}

/* Frees so much that memory must be released: by the background thread, if a second thread has allocated. */
static inline void free_much(void) {
  enum { BLOCK = 1000, BLOCKS = 40000 };
  void *last = NULL;
  for (int i = 0; i < BLOCKS; i++) {
    void **next = (void **)memset(malloc(BLOCK), 1, BLOCK);
    *next = last;
    last = next;
  }
  for (void *next; last != NULL; last = next) {
    next = *(void **)last;
    free(last);
  }
}

static inline bool one_helper(void) { return threads_now().helpers == 1; }
static inline bool no_helper(void) { return threads_now().helpers == 0; }
static inline bool alone(void) { return threads_now().all == 1; }

#endif
