/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tuned.c [fork | shadow | off | begins]: a load whose cost the test sets, beside the library's own decisions, read from the
 * decisions file (HAKMEM_DECISIONS_FILE). A block of 1.2 MiB shows whether the threshold is above 1.2 MiB: then the
 * block lies in the range, near small blocks. Accordingly fetches are cheap or dear:
 *
 *     cheap while the threshold is above              a candidate, promoted, frozen
 *     five times as dear for every arm                an alarm
 *     cheap while below, from the first candidate with the threshold above       rolled back
 *
 * With `fork`, a child continues after the first step. With `shadow` the program checks only that nothing changes; with
 * `off` the switch of learning is set off while an arm is tried, and nothing more is learnt. Writes and reads blocks
 * all the time, allocates blocks under one threshold, grows and frees the blocks under the next, and exits with 1 if a
 * block has changed, or after MOST periods. Prints the number of changes of each kind. With `begins`, the program prints
 * only whether the threshold is above at its start. */
#include <sys/mman.h>
#include <sys/wait.h>

#include "observe.h"

enum { MOST = 4000000, RING_AT = 94232, RING_BYTES = 20504, KIND_AT = 24 + 33, ROW = 40, ROWS = 512 };
enum { DROPPED, CANDIDATE, PROMOTED, ROLLED_BACK, FROZEN, ALARM, KINDS };

static const volatile unsigned char *ring;
static uint64_t seen, told[KINDS];

static void map_ring(void) {
  char path[300];
  snprintf(path, sizeof path, "%s.%d", getenv("HAKMEM_DECISIONS_FILE"), (int)getpid());
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  work_expect(fd >= 0, path);
  const char *file = mmap(NULL, RING_AT + RING_BYTES, PROT_READ, MAP_SHARED, fd, 0);
  work_expect(file != MAP_FAILED, "mmap");
  close(fd);
  ring = (const volatile unsigned char *)file + RING_AT;
}

static void read_ring(void) {
  const uint64_t count = *(const volatile uint64_t *)(ring + 16);
  for (; seen < count; seen++) told[ring[KIND_AT + seen % ROWS * ROW]]++;
}

static bool is_above(void) {
  char *volatile small = malloc(64), *volatile block = malloc(MIB * 12 / 10);
  const int64_t apart = block - small;
  free(block);
  free(small);
  return apart > -((int64_t)64 << 30) && apart < (int64_t)64 << 30;
}

/* Fetches `mib` MiB without touching a page. */
static void fetch(size_t mib) {
  char *volatile block = malloc(mib * MIB);
  free(block);
  malloc_trim(0);
}

/* Blocks about all thresholds, each with a number at both ends. */
enum { KEPT = 24 };
static struct {
  uint64_t *block;
  size_t words;
} kept[KEPT];
static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * n >> 32);
}

static void check(int i) {
  const bool ok = kept[i].block[0] == kept[i].words && kept[i].block[kept[i].words - 1] == ~kept[i].words;
  work_expect(ok, "a block has not what was written");
}

static void mark(int i, uint64_t *block, size_t words) {
  kept[i].block = block;
  kept[i].words = words;
  block[0] = words;
  block[words - 1] = ~words;
}

static size_t any_words(void) { return (300 * 1024 + random_below(4 << 20)) / 8; }

static void replace_one(void) {
  const int i = (int)random_below(KEPT);
  size_t words = any_words();
  if (kept[i].block != NULL) check(i);
  if (kept[i].block != NULL && random_below(2) == 0) {
    kept[i].block[0] = 7;
    uint64_t *block = realloc(kept[i].block, words * 8);
    work_expect(block != NULL && block[0] == 7, "realloc");
    mark(i, block, words);
    return;
  }
  free(kept[i].block);
  uint64_t *block = random_below(4) == 0 ? aligned_alloc(1 << 21, words * 8) : malloc(words * 8);
  work_expect(block != NULL, "malloc");
  mark(i, block, words);
}

static void period(bool cheap, size_t dearer) {
  for (int i = 0; i < 16; i++) {
    char *volatile block = malloc(400 * 1024);
    free(block);
  }
  replace_one();
  fetch((cheap ? 40 : 160) * dearer);
  read_ring();
}

enum load { GOOD_ABOVE, DEAR, FICKLE };

static void until(enum load load, int kind, uint64_t times) {
  const uint64_t candidates = told[CANDIDATE];
  for (int n = 0; told[kind] < times; n++) {
    const bool above = is_above(), turned = told[CANDIDATE] != candidates;
    work_expect(n < MOST, "too long");
    period(load == GOOD_ABOVE ? above : load == FICKLE && above == turned, load == GOOD_ABOVE ? 1 : 5);
  }
}

/* Runs until the usual cost is known. */
static void go_on(void) {
  enum { WINDOWS = 200 };
  const uint64_t from = counter_now("learn_windows");
  while (counter_now("learn_windows") - from < WINDOWS) period(is_above(), 1);
}

/* Computes for ten times as long as a period, so that what is learnt could save nothing. */
static int compute_most_of_the_time(void) {
  enum { PERIODS = 400, SPIN_MS = 3 };
  for (int n = 0; n < PERIODS; n++) {
    const uint64_t until = now_ms() + SPIN_MS;
    period(true, 1);
    while (now_ms() < until) {
    }
  }
  printf("%llu\n", (unsigned long long)counter_now("learn_windows"));
  return 0;
}

static void set_mode(const char *mode) { work_expect(hak_set("mode", mode) == 0, "hak_set"); }

/* In shadow. */
static int change_nothing(void) {
  while (counter_now("learn_windows") < 1000) {
    work_expect(!is_above(), "a shadow has no arms");
    period(false, 1);
  }
  return 0;
}

static int switch_off(void) {
  for (int n = 0; !is_above(); n++) {
    work_expect(n < MOST, "too long");
    period(false, 1);
  }
  work_expect(hak_set("lab_learn_threshold", "off") == 0, "hak_set");
  work_expect(!is_above(), "the setting counts at once");
  return 0;
}

int main(int count, char **arguments) {
  int status = 0;
  if (count > 1 && strcmp(arguments[1], "begins") == 0) return printf("%d\n", is_above()) < 0;
  map_ring();
  if (count > 1 && strcmp(arguments[1], "off") == 0) return switch_off();
  if (count > 1 && strcmp(arguments[1], "computes") == 0) return compute_most_of_the_time();
  if (count > 1 && strcmp(arguments[1], "shadow") == 0) return change_nothing();
  until(GOOD_ABOVE, FROZEN, 1);
  set_mode("baseline");
  work_expect(!is_above(), "the setting counts at once");
  set_mode("evolving");
  if (count > 1 && strcmp(arguments[1], "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      for (int n = 0; n < 2000; n++) period(is_above(), 1);
      return is_above() ? 0 : 3;
    }
    work_expect(waitpid(child, &status, 0) == child && status == 0, "the child");
  }
  go_on();
  until(DEAR, ALARM, 1);
  until(FICKLE, ROLLED_BACK, 1);
  printf("%llu %llu %llu %llu %llu %llu\n", (unsigned long long)told[PROMOTED], (unsigned long long)told[ROLLED_BACK],
         (unsigned long long)told[FROZEN], (unsigned long long)told[ALARM],
         (unsigned long long)counter_now("learn_windows"), (unsigned long long)counter_now("learn_changes"));
  return 0;
}
