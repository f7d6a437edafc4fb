/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* subject.c: operations of the allocator that stepper.c steps through, and the check of what an interruption left.
 *
 * what      subject OPERATION INTERRUPTION HOW
 *           Prepares the operation, raises a marker, operates, raises a marker, checks. A marker is an int3 with a code
 *           in a register: the stepper reads both. Between two instructions of the operation the stepper sends SIGUSR1:
 *
 *               HOW copied   the handler forks. The copy is interrupted, finishes the operation, is checked and ends;
 *                            the handler waits for it, and the operation goes on to the next instruction.
 *               HOW itself   this process is interrupted, finishes the operation and is checked.
 *
 *           `repair` runs in a fork's child, from its first call on. `birth` runs in a second thread, whose end belongs
 *           to the operation: the check follows in the thread's last destructor, behind HAKMEM's.
 *
 *           INTERRUPTION: `fork`, the copy does nothing more in the handler; `own`, `other`, `all`, the handler
 *           allocates a block and frees it, of the operation's size, of a size with blocks at hand, of all sizes;
 *           `drop`, it frees a block from before the operation; `turns`, one of these after the other; `keep`, it
 *           allocates a block that stays: HAKMEM does not promise that it gets no second owner.
 * owner     g_subject: the thread that operates; until then the first.
 * failure   A changed byte, a block that two owners have, a signal: one line and exit status 1. SIGABRT with the line
 *           of a re-entry, and nothing else on descriptor 2, is the answer that HAKMEM promises.
 * not here  Which instructions: stepper.c. x86-64 only.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../cuts/checked.h"
#include "marker.h"

enum { OWN = 48, OTHER = 320, MOST = 1024, STOCK = 16, KEPT_PATTERN = 0x3c };

struct operation {
  const char *name;
  void (*prepare)(void), (*operate)(void);
  enum { IN_FIRST, IN_SECOND, IN_CHILD, FORKS } where; /* FORKS: in the first thread, copies are made by _Fork alone */
};

static struct {
  struct checked_live live;           /* blocks from before the operation */
  struct checked_block held[MOST];    /* blocks that the operation frees, or has taken */
  struct checked_block kept;          /* by the handler */
  struct checked_block spare;         /* for the handler to free */
  const struct operation *operation;
  unsigned interruption;              /* of g_interruptions */
  int turns;                          /* 1: the next interruption each time */
  volatile int copies, interrupted;   /* volatile: set by a handler */
  int said;                           /* a file: descriptor 2 of the copies */
} g_subject;

/* ---- blocks of the operations ---- */

static void refuse(const char *what) {
  fprintf(stderr, "subject: %s\n", what);
  _exit(2);
}

static unsigned held_pattern(int i) { return (unsigned)i * 11 + 5; }

static void hold(int from, int to, size_t n) {
  for (int i = from; i < to; i++) g_subject.held[i] = checked_take(n, held_pattern(i));
}

static void take(int from, int to, size_t n) {
  for (int i = from; i < to; i++) g_subject.held[i] = (struct checked_block){malloc(n), n};
}

static void drop(int from, int to) {
  for (int i = from; i < to; i++) {
    void *p = g_subject.held[i].p;
    g_subject.held[i].p = NULL;
    free(p);
  }
}

static void drop_most(int from, int to) {
  for (int i = from; i < to; i++)
    if (i % 20 != 0) drop(i, i + 1);
}

/* ---- the operations ---- */

static void prepare_none(void) {}

static void refill(void) { take(0, 40, OWN); }

static void prepare_flush(void) {
  hold(0, 600, OWN);
  drop(0, 500);
}
static void flush(void) { drop(500, 600); }

/* Leaves free blocks in the magazines of a thread. */
static void stock(size_t n) {
  void *blocks[STOCK];
  for (int i = 0; i < STOCK; i++) blocks[i] = malloc(n);
  for (int i = 0; i < STOCK; i++) free(blocks[i]);
}

/* In the secure flavour freed blocks wait, each until a later free takes its place. Behind these pairs no block of another
 * size waits: a free of the operation would give it back, and a handler's pair of that size might come in between, of
 * which the flavour may end the program (docs/security.md). */
static void let_none_wait(void) {
  for (int i = 0; i < 4096; i++) {
    void *volatile p = malloc(OWN);
    free(p);
  }
}

static void *wait_for_ever(void *begun) {
  for (int s = 0; s < 6; s++) stock(checked_sizes[s].bytes);
  sem_post(begun);
  for (;;) pause();
  return NULL;
}

static void have_a_thread(void) {
  static sem_t begun;
  pthread_t thread;
  sem_init(&begun, 0, 0);
  work_expect(pthread_create(&thread, NULL, wait_for_ever, &begun) == 0, "no thread");
  while (sem_wait(&begun) != 0) continue;
}

static void prepare_depot(void) {
  have_a_thread();
  hold(0, 700, OWN);
  drop(0, 600);
}
static void depot(void) {
  drop(600, 700);
  take(0, 120, OWN);
}

static void prepare_purge(void) {
  hold(0, 200, 1000);
  hold(200, 202, 60000);
  hold(202, 203, 200000);
  hold(203, 204, 1200000);
  drop_most(0, 200);
  drop(200, 204);
}
static void purge(void) { malloc_trim(0); }

static void prepare_drain(void) {
  have_a_thread();
  hold(0, 1, 60000);
  drop(0, 1);
}

/* At a price that lets no memory wait: the slow paths release what these frees leave. */
static void prepare_age(void) {
  hold(0, 1000, 1000);
  drop_most(0, 1000);
}
static void age(void) {
  take(0, 2, 900000);
  drop(0, 2);
}

/* Free runs of more than 8 MiB, whose regions core dumps leave out; one is used again. */
static void prepare_advice(void) {
  hold(0, 60, 250000);
  drop(0, 60);
}
static void advice(void) {
  malloc_trim(0);
  take(0, 1, 250000);
}

static void runs(void) {
  take(0, 1, 33000);
  take(1, 2, 70000);
  take(2, 3, 300000);
  drop(0, 3);
}

static void big(void) {
  take(0, 2, 1500000);
  g_subject.held[0] = (struct checked_block){realloc(g_subject.held[0].p, 3000000), 3000000};
  drop(0, 2);
}

static void resize(int i, size_t n) {
  g_subject.held[i] = (struct checked_block){realloc(g_subject.held[i].p, n), n};
}

/* The slots of guarded blocks are free again. */
static void prepare_guarded(void) { checked_free_live(&g_subject.live, 1); }
static void guarded(void) {
  take(0, 1, 4000);
  take(1, 2, OWN);
  drop(0, 2);
}

/* Blocks that grow and shrink: of slabs, of a page or more, of units, and of mappings of their own. */
static void prepare_resize(void) {
  static const size_t bytes[] = {OWN, 5000, 33000, 200000, 1500000};
  for (int i = 0; i < 5; i++) hold(i, i + 1, bytes[i]);
}
static void resizes(void) {
  static const size_t more[] = {OTHER, 9000, 130000, 70000, 3000000}, less[] = {16, 700, 60000, 40000, 1100000};
  for (int i = 0; i < 5; i++) resize(i, more[i]);
  for (int i = 0; i < 5; i++) resize(i, less[i]);
}

/* Zeroed and aligned blocks of each kind. */
static void shapes(void) {
  static const size_t bytes[] = {OWN, 5000, 33000, 300000, 1500000};
  for (int i = 0; i < 5; i++) {
    g_subject.held[i] = (struct checked_block){calloc(1, bytes[i]), bytes[i]};
    g_subject.held[5 + i] = (struct checked_block){memalign(bytes[i] < 4096 ? 64 : 131072, bytes[i]), bytes[i]};
  }
  drop(0, 10);
}

static void every_kind(void) {
  take(0, 3, OWN);
  take(3, 5, 3000);
  take(5, 6, 33000);
  take(6, 7, 200000);
  take(7, 8, 1500000);
  drop(0, 8);
}

static void after_a_fork(void) {
  drop(600, 640);
  take(0, 3, OWN);
  take(3, 4, 33000);
  take(4, 5, 1500000);
  drop(0, 5);
}

static void birth(void) {
  take(0, 30, OWN);
  take(30, 32, 33000);
  drop(0, 20);
}

static void child_of_operation(void) {
  for (int s = 0; s < 8; s++) free(checked_take(checked_sizes[s].bytes, 1).p);
  _exit(0);
}

/* A copy made behind the fork has no child to wait for. */
static void forks(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) child_of_operation();
  while (waitpid(child, &status, 0) != child && errno != ECHILD) continue;
  work_expect(status == 0, "the operation's child failed");
}

/* A policy is written over one that is there. */
static void save(void) {
  int (*write_policy)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "hak_policy_save");
  const int error = write_policy != NULL ? write_policy(NULL) : ENOSYS;
  if (error != 0) refuse("no policy is written");
}

static void learn(int rounds) {
  for (int round = 0; round < rounds; round++) {
    hold(0, 10, 2000000);
    drop(0, 10);
    usleep(60000);
  }
}

/* Blocks whose time to stay is learnt. */
static void prepare_learning(void) { learn(3); }
static void learning(void) {
  take(0, 4, 2000000);
  take(4, 8, 60000);
  drop(0, 8);
}

static void prepare_save(void) {
  learn(3);
  save();
  learn(2);
}

static const struct operation g_operations[] = {
    {"refill", prepare_none, refill, IN_FIRST},
    {"flush", prepare_flush, flush, IN_FIRST},
    {"depot", prepare_depot, depot, IN_FIRST},
    {"purge", prepare_purge, purge, IN_FIRST},
    {"drain", prepare_drain, purge, IN_FIRST},
    {"age", prepare_age, age, IN_FIRST},
    {"advice", prepare_advice, advice, IN_FIRST},
    {"runs", prepare_none, runs, IN_FIRST},
    {"big", prepare_none, big, IN_FIRST},
    {"save", prepare_save, save, IN_FIRST},
    {"resize", prepare_resize, resizes, IN_FIRST},
    {"shapes", prepare_none, shapes, IN_FIRST},
    {"kinds", prepare_none, every_kind, IN_FIRST},
    {"guarded", prepare_guarded, guarded, IN_FIRST},
    {"learning", prepare_learning, learning, IN_FIRST},
    {"birth", prepare_none, birth, IN_SECOND},
    {"fork", prepare_drain, forks, FORKS},
    {"repair", prepare_depot, after_a_fork, IN_CHILD},
};

/* ---- the handler's work ---- */

/* Ends the process without a call of malloc, which printf makes. */
__attribute__((noreturn)) static void end_in_handler(const char *what) {
  if (write(STDERR_FILENO, what, strlen(what)) < 0) _exit(2);
  _exit(1);
}

static struct checked_block take_in_handler(size_t n, unsigned pattern) {
  const struct checked_block b = {malloc(n), n};
  if (b.p == NULL) end_in_handler("no memory in the handler");
  checked_mark(b, pattern);
  return b;
}

static void pair(size_t n) { free(take_in_handler(n, 0xa5).p); }

static void pair_own(void) { pair(OWN); }
static void pair_other(void) { pair(OTHER); }
static void pair_all(void) {
  for (int s = 0; s < CHECKED_SIZES; s++) pair(checked_sizes[s].bytes);
}

/* The block stays the handler's. */
static void keep(void) { g_subject.kept = take_in_handler(OWN, KEPT_PATTERN); }

static void drop_spare(void) { free(g_subject.spare.p); }

enum { TURNS = 5, INTERRUPTIONS = 6 };
static const struct {
  const char *name;
  void (*work)(void); /* in the handler of the interrupted process */
} g_interruptions[INTERRUPTIONS] = {{"fork", prepare_none}, {"own", pair_own}, {"other", pair_other}, {"all", pair_all},
                                    {"drop", drop_spare}, {"keep", keep}};

static void be_interrupted(void) {
  g_subject.interrupted = 1;
  alarm(60);
  g_interruptions[g_subject.interruption].work();
}

static void be_copied(void) {
  dup2(g_subject.said, STDERR_FILENO);
  be_interrupted();
}

/* The answer to a re-entry, and nothing else. */
static int is_refusal(int status) {
  static const char line[] = "hakmem: malloc or free called again inside itself";
  char said[512] = "";
  const ssize_t n = pread(g_subject.said, said, sizeof said - 1, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(said, line, sizeof line - 1) == 0 &&
         n > 0 && strchr(said, '\n') == said + n - 1;
}

static void tell_failure(int status) {
  char line[1024];
  int n = snprintf(line, sizeof line / 2, "status %#x: ", (unsigned)status);
  const ssize_t said = pread(g_subject.said, line + n, sizeof line / 2, 0);
  n += said > 0 ? (int)said : 0;
  line[n++] = '\n';
  if (write(STDOUT_FILENO, line, (size_t)n) != n) end_in_handler("standard output takes no line");
}

static long judge_copy(pid_t copy) {
  int status = 1;
  while (waitpid(copy, &status, 0) != copy) continue;
  if (status == 0) return MARKER_WENT_ON;
  const long verdict = is_refusal(status) ? MARKER_REFUSED : MARKER_FAILED;
  if (verdict == MARKER_FAILED) tell_failure(status);
  if (ftruncate(g_subject.said, 0) != 0) end_in_handler("the file of what is said cannot be emptied");
  return verdict;
}

/* A copy for the handler's work alone is made by _Fork, which runs no handlers of fork; also within fork, whose lock libc
 * holds. */
static void interrupt(int signal) {
  (void)signal;
  const int saved = errno;
  if (!g_subject.copies) {
    be_interrupted();
    errno = saved;
    return;
  }
  alarm(60); /* fork may wait for a lock of libc that the interrupted thread holds */
  const pid_t copy = g_subject.interruption == 0 && g_subject.operation->where != FORKS ? fork() : _Fork();
  if (copy == 0) {
    be_copied();
  } else {
    alarm(0);
    if (g_subject.turns) g_subject.interruption = (g_subject.interruption + 1) % TURNS;
    marker_raise(judge_copy(copy));
  }
  errno = saved;
}

/* ---- the check ---- */

static void mark_held(void) {
  for (int i = 0; i < MOST; i++)
    if (g_subject.held[i].p != NULL) checked_mark(g_subject.held[i], held_pattern(i));
}

static void compare_held(void) {
  for (int i = 0; i < MOST; i++) {
    if (g_subject.held[i].p == NULL) continue;
    checked_compare(g_subject.held[i], held_pattern(i), "a block of the operation changed");
  }
  if (g_subject.kept.p != NULL) checked_compare(g_subject.kept, KEPT_PATTERN, "a block that the handler keeps changed");
}

static void check_all(void) {
  mark_held();
  checked_round(&g_subject.live, 3);
  compare_held();
  drop(0, MOST);
  checked_free_live(&g_subject.live, 2);
  checked_round(&g_subject.live, 4);
  malloc_trim(0);
  checked_compare_live(&g_subject.live);
}

/* ---- the program ---- */

static const struct operation *operation_named(const char *name) {
  for (size_t i = 0; i < sizeof g_operations / sizeof g_operations[0]; i++)
    if (strcmp(g_operations[i].name, name) == 0) return &g_operations[i];
  refuse("no such operation");
  return NULL;
}

static void choose_interruption(const char *name) {
  g_subject.turns = strcmp(name, "turns") == 0;
  if (g_subject.turns) return;
  while (strcmp(g_interruptions[g_subject.interruption].name, name) != 0)
    if (++g_subject.interruption == INTERRUPTIONS) refuse("no such interruption");
}

static void begin(void) {
  const struct rlimit no_core = {0, 0};
  setvbuf(stdout, NULL, _IONBF, 0);
  setrlimit(RLIMIT_CORE, &no_core);
  g_subject.said = memfd_create("said", MFD_CLOEXEC);
  if (g_subject.said < 0 || fcntl(g_subject.said, F_SETFL, O_APPEND) != 0) refuse("no file in memory");
  if (dlsym(RTLD_DEFAULT, "hak_owns") == NULL) refuse("libhakmem.so is not loaded");
}

static void operate(void) {
  marker_raise(MARKER_BEGIN);
  g_subject.operation->operate();
}

__attribute__((noreturn)) static void finish(void) {
  if (!g_subject.interrupted) marker_raise(MARKER_END);
  check_all();
  _exit(0); /* a second thread, if there is one, is left behind */
}

static pthread_key_t g_end;

/* HAKMEM's destructor runs in the first round. */
static void end_of_thread(void *round) {
  if (round == &g_end) finish();
  pthread_setspecific(g_end, &g_end);
}

static void *in_thread(void *round) {
  pthread_setspecific(g_end, round);
  operate();
  return NULL;
}

static void operate_in_thread(void) {
  pthread_t thread;
  work_expect(pthread_key_create(&g_end, end_of_thread) == 0, "no key");
  work_expect(pthread_create(&thread, NULL, in_thread, &g_subject) == 0, "no thread");
  pthread_join(thread, NULL);
}

/* Returns in the child, which has not run HAKMEM's handler of fork: its first slow path notices the fork. */
static void wait_for_child(void) {
  int status = 1;
  const pid_t child = _Fork();
  if (child == 0) return;
  while (waitpid(child, &status, 0) != child) continue;
  _exit(status != 0);
}

int main(int count, char **words) {
  if (count != 4) refuse("expected OPERATION INTERRUPTION HOW");
  g_subject.operation = operation_named(words[1]);
  begin();
  choose_interruption(words[2]);
  g_subject.copies = strcmp(words[3], "copied") == 0;
  checked_fill(&g_subject.live);
  g_subject.operation->prepare();
  g_subject.spare = checked_take(OWN, KEPT_PATTERN);
  stock(OTHER);
  let_none_wait();
  signal(SIGUSR1, interrupt);
  if (g_subject.operation->where == IN_SECOND) operate_in_thread();
  if (g_subject.operation->where == IN_CHILD) wait_for_child();
  operate();
  finish();
}
