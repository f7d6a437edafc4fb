/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stack.c: stack bytes of each function of the library on top of its caller.
 *
 * what      Calls every name on a painted stack, and measures how far down the paint was overwritten. Only the measured
 *           call runs there: preparations run on the usual stack.
 *
 *               painted  [ . . . . . . . . . . . . xxxxxxxxxxxx]  a call begins at the right end
 *                                                  ^ the deepest byte written
 *
 *           Without arguments the program runs itself once for each row of `settings`, as the environment; with one
 *           it measures once, in the environment that it has.
 * failure   A table of the calls, deepest first, and exit status 1 if a call takes more than the bound. Calls that take
 *           samples have 1 KiB more, for the frames of a stack.
 * not here  That a small stack suffices: small_stack.c.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "observe.h"

enum {
  BOUND = 1536,
  SAMPLED = 1024, /* more while calls are sampled */
  PAINTED = 32 << 10,
  DOORS = 64,
  KEPT = 300,
  SMALL = 4000,
  THREADS = 24
};

#define PAINT 0x5aa5c33c96691ee1u

/* ---- measuring ---- */

typedef uintptr_t door(uintptr_t a, uintptr_t b, uintptr_t c);

/* Calls f(a, b, c) with the stack pointer at `top`. A long result goes to `a`, which AArch64 has in x8. */
uintptr_t call_on(door *f, uintptr_t a, uintptr_t b, uintptr_t c, void *top);
#if defined(__x86_64__)
__asm__(
    ".text\n.globl call_on\n.type call_on, @function\ncall_on:\n.cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
    "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
    "mov %r8, %rsp\nmov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\n"
    "call *%rax\n"
    "mov %rbp, %rsp\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n.size call_on, . - call_on\n");
#else
__asm__(
    ".text\n.globl call_on\n.type call_on, @function\ncall_on:\n.cfi_startproc\n"
    "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n.cfi_offset x30, -8\n"
    "mov x29, sp\n.cfi_def_cfa_register x29\n"
    "mov sp, x4\nmov x9, x0\nmov x8, x1\nmov x0, x1\nmov x1, x2\nmov x2, x3\n"
    "blr x9\n"
    "mov sp, x29\nldp x29, x30, [sp], #16\n.cfi_def_cfa sp, 0\nret\n.cfi_endproc\n.size call_on, . - call_on\n");
#endif

static struct {
  const char *name;
  size_t bytes, calls;
} g_door[DOORS];

static void note(const char *name, size_t bytes) {
  unsigned n = 0;
  while (n < DOORS && g_door[n].name != NULL && strcmp(g_door[n].name, name) != 0) n++;
  work_expect(n < DOORS, "room for a door");
  g_door[n].name = name;
  g_door[n].calls++;
  if (bytes > g_door[n].bytes) g_door[n].bytes = bytes;
}

static void paint(uint64_t *from, const uint64_t *end) {
  for (; from < end; from++) *(volatile uint64_t *)from = PAINT;
}

static const uint64_t *deepest(const uint64_t *from) {
  while (*(const volatile uint64_t *)from == PAINT) from++;
  return from;
}

static __thread uint64_t t_stack[PAINTED / sizeof(uint64_t)] __attribute__((aligned(64)));

static uintptr_t on_paint(const char *name, door *f, uintptr_t a, uintptr_t b, uintptr_t c) {
  uint64_t *end = t_stack + PAINTED / sizeof(uint64_t);
  paint(t_stack, end);
  uintptr_t answer = call_on(f, a, b, c, end);
  note(name, (size_t)((const char *)end - (const char *)deepest(t_stack)));
  return answer;
}

#define CALL(name, f, a, b, c) on_paint(name, (door *)(void (*)(void))(f), (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c))
#define TAKE(name, bytes) ((char *)CALL(name, malloc, bytes, 0, 0))
#define GIVE(name, p) CALL(name, free, p, 0, 0)

/* ---- the measured calls ---- */

static char *g_samples_file[KEPT], *g_small[SMALL];

static void write_all(char *p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4096) p[i] = 1;
}

/* Frees every second block first, so that free memory lies apart. */
static void some_of(const char *taken, const char *freed, size_t bytes, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    g_samples_file[i] = TAKE(taken, bytes + (i % 7) * 4096);
    if (g_samples_file[i] != NULL) write_all(g_samples_file[i], bytes);
  }
  for (unsigned i = 0; i < n; i += 2) GIVE(freed, g_samples_file[i]);
  for (unsigned i = 1; i < n; i += 2) GIVE(freed, g_samples_file[i]);
}

static void many_small(size_t bytes) {
  for (unsigned i = 0; i < SMALL; i++) write_all(g_small[i] = TAKE("malloc, slab", bytes), bytes);
  for (unsigned i = 0; i < SMALL; i++) if (i % 9 != 0) GIVE("free, slab", g_small[i]);
  CALL("malloc_trim, holes", malloc_trim, 0, 0, 0);
  for (unsigned i = 0; i < SMALL; i += 9) GIVE("free, slab", g_small[i]);
}

static void resized(void) {
  char *p = TAKE("malloc, slab", 100);
  static const size_t to[] = {104, 200, 5000, 40000, 90000, 280000, 200000, 3 * MIB, 9 * MIB, 40 * MIB, 20 * MIB, 2 * MIB, 70000, 10};
  for (unsigned i = 0; i < sizeof to / sizeof to[0]; i++) {
    p = (char *)CALL("realloc", realloc, p, to[i], 0);
    write_all(p, to[i]);
  }
  CALL("reallocarray", reallocarray, p, 10, 100);
}

static void others(void) {
  static const size_t align[] = {32, 4096, 65536, MIB, 8 * MIB};
  for (unsigned i = 0; i < sizeof align / sizeof align[0]; i++) {
    for (size_t bytes = 10; bytes < 20 * MIB; bytes *= 20) {
      char *p = (char *)CALL("aligned_alloc", aligned_alloc, align[i], bytes, 0);
      CALL("malloc_usable_size", malloc_usable_size, p, 0, 0);
      CALL("hak_owns", hak_owns, p, 0, 0);
      GIVE("free, aligned", p);
      void *q = NULL;
      CALL("posix_memalign", posix_memalign, &q, align[i], bytes);
      free(q);
      free((void *)CALL("calloc", calloc, 1, bytes, 0));
    }
  }
}

static void questions(void) {
  struct mallinfo2 info;
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  struct hak_utilization use = {.version = HAK_UTILIZATION_VERSION, .size = sizeof use};
  CALL("mallinfo2", mallinfo2, &info, 0, 0);
  CALL("hak_get_stats", hak_get_stats, &stats, 0, 0);
  CALL("hak_page_utilization", hak_page_utilization, NULL, &use, 0);
  CALL("hak_set", hak_set, "lab_big_cache_blocks", "64", 0);
  char text[32];
  CALL("hak_get", hak_get, "price", text, sizeof text);
}

/* The kernel keeps locked pages and takes the rest. */
static void locked_page(size_t bytes) {
  for (unsigned i = 0; i < 40; i++) write_all(g_samples_file[i] = malloc(bytes), bytes);
  char *page = (char *)(((uintptr_t)g_samples_file[20] + 8191) & ~(uintptr_t)4095);
  bool locked = mlock(page, 4096) == 0;
  for (unsigned i = 0; i < 40; i++) free(g_samples_file[i]);
  CALL("malloc_trim, a locked page", malloc_trim, 0, 0, 0);
  if (locked) munlock(page, 4096);
  CALL("malloc_trim, refused before", malloc_trim, 0, 0, 0);
}

/* ---- threads ---- */

static uint32_t g_ready, g_over;

static void *holds_blocks(void *unused) {
  char *block[100];
  for (unsigned i = 0; i < 100; i++) block[i] = TAKE("malloc, a thread's first", 16 + i * 40);
  for (unsigned i = 0; i < 100; i++) free(block[i]);
  for (unsigned i = 0; i < 3; i++) GIVE("free, run", TAKE("malloc, run", 100000));
  __atomic_add_fetch(&g_ready, 1, __ATOMIC_RELAXED);
  while (!__atomic_load_n(&g_over, __ATOMIC_RELAXED)) rest_ms(1);
  return unused;
}

static bool all_ready(void) { return __atomic_load_n(&g_ready, __ATOMIC_RELAXED) == THREADS; }

static void with_threads(void) {
  pthread_t thread[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    work_expect(pthread_create(&thread[i], NULL, holds_blocks, NULL) == 0, "a thread");
    while (__atomic_load_n(&g_ready, __ATOMIC_RELAXED) <= i) rest_ms(1);
  }
  work_expect(all_ready(), "threads");
  CALL("malloc_trim, threads", malloc_trim, 0, 0, 0);
  g_over = 1;
  for (unsigned i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

enum { THREAD_STACK = 1 << 20, NEAR = 512 };
static char *g_from, *g_frame;

/* Paints the stack below: the exit hooks run there, called by libc's frames above this frame. */
static __attribute__((noinline)) void *ends(void *unused) {
  for (unsigned i = 0; i < 200; i++) g_samples_file[i] = malloc(16 + 100 * i);
  for (unsigned i = 0; i < 200; i++) free(g_samples_file[i]);
  g_frame = __builtin_frame_address(0);
  paint((uint64_t *)g_from, (uint64_t *)(((uintptr_t)g_frame - NEAR) & ~(uintptr_t)7));
  return unused;
}

static void thread_exit(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  char *stack = mmap(NULL, THREAD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_from = stack + THREAD_STACK / 2;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, THREAD_STACK);
  work_expect(pthread_create(&thread, &attributes, ends, NULL) == 0, "a thread");
  pthread_join(thread, NULL);
  note("a thread's exit", (size_t)(g_frame - (const char *)deepest((uint64_t *)g_from)));
}

/* ---- no memory ---- */

static void refused(const char *name, size_t bytes) {
  errno = 0;
  work_expect(CALL(name, malloc, bytes, 0, 0) == 0 && errno == ENOMEM, name);
}

static void fill(size_t bytes, unsigned most) {
  unsigned n = 0;
  while (n < most && (g_small[n] = TAKE("malloc, fails", bytes)) != NULL) n++;
  work_expect(n < most, "memory ends");
  char *p = (char *)CALL("realloc, fails", realloc, n != 0 ? g_small[0] : NULL, 40 * bytes, 0);
  work_expect(p == NULL, "realloc fails");
  work_expect(CALL("calloc, fails", calloc, 1, 40 * bytes, 0) == 0, "calloc fails");
  work_expect(CALL("aligned_alloc, fails", aligned_alloc, 4096, 40 * bytes, 0) == 0, "aligned_alloc fails");
  while (n > 0) GIVE("free, after a failure", g_small[--n]);
}

/* An emulator ignores the limit of address space. */
static bool is_refused_by_kernel(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p != MAP_FAILED) munmap(p, bytes);
  return p == MAP_FAILED;
}

static void no_memory(void) {
  refused("malloc, too large", (size_t)PTRDIFF_MAX + 1);
  refused("malloc, too large", (size_t)PTRDIFF_MAX - 4096);
  some_of("malloc, run", "free, run", 500000, 100);
  some_of("malloc, big", "free, big", 3 * MIB, 40);
  hak_set("hard_limit", "67108864");
  fill(3 * MIB, SMALL);
  fill(200000, SMALL);
  fill(30000, SMALL);
  hak_set("hard_limit", "0");
  struct rlimit before, now;
  getrlimit(RLIMIT_AS, &before);
  now = before;
  now.rlim_cur = (proc_number("/proc/self/status", "\nVmSize:", 10) << 10) + 48 * MIB;
  setrlimit(RLIMIT_AS, &now);
  if (is_refused_by_kernel(64 * MIB)) {
    some_of("malloc, fails", "free, after a failure", 3 * MIB, 40);
    some_of("malloc, fails", "free, after a failure", 300000, KEPT);
    fill(5 * MIB, SMALL);
  }
  setrlimit(RLIMIT_AS, &before);
}

static void after_fork(void) {
  pid_t child = fork();
  work_expect(child >= 0, "a fork");
  if (child == 0) {
    memset(g_door, 0, sizeof g_door);
    GIVE("free, in a fork's child", TAKE("malloc, a fork's child", 5000));
    some_of("malloc, a fork's child", "free, in a fork's child", 3 * MIB, 4);
    CALL("malloc_trim, a fork's child", malloc_trim, 0, 0, 0);
    size_t most = 0;
    for (unsigned n = 0; n < DOORS && g_door[n].name != NULL; n++) most = g_door[n].bytes > most ? g_door[n].bytes : most;
    _exit((int)((most + 15) / 16 > 250 ? 250 : (most + 15) / 16));
  }
  int status;
  waitpid(child, &status, 0);
  work_expect(WIFEXITED(status), "a child ends");
  note("a fork's child", (size_t)WEXITSTATUS(status) * 16);
}

/* ---- all ---- */

static void say(const char *text) { work_expect(write(1, text, strlen(text)) >= 0, "a line"); }

/* Deepest first. */
static bool tell(const char *setting) {
  char line[160];
  bool good = true;
  const size_t bound = BOUND + (getenv("HAKMEM_PROFILE") != NULL ? SAMPLED : 0);
  snprintf(line, sizeof line, "%s\n", setting);
  say(line);
  for (;;) {
    unsigned most = 0;
    for (unsigned n = 0; n < DOORS && g_door[n].name != NULL; n++) if (g_door[n].bytes > g_door[most].bytes) most = n;
    if (g_door[most].bytes == 0) return good;
    bool deep = g_door[most].bytes > bound;
    snprintf(line, sizeof line, "  %5zu B  %6zu calls  %s%s\n", g_door[most].bytes, g_door[most].calls, g_door[most].name,
             deep ? "  more than the bound" : "");
    say(line);
    good = good && !deep;
    g_door[most].bytes = 0;
  }
}

static int all_doors(const char *setting) {
  GIVE("free, first", TAKE("malloc, the process's first", 5000));
  GIVE("free, slab", TAKE("malloc, slab", 9000));
  GIVE("free, big", TAKE("malloc, above 8 MiB", 9 * MIB)); /* reads the limit of the control group */
  resized();
  others();
  some_of("malloc, run", "free, run", 100000, KEPT);
  some_of("malloc, run", "free, run", 500000, 100);
  some_of("malloc, big", "free, big", 2 * MIB, 100);
  some_of("malloc, big", "free, big", 3 * MIB, 60);
  for (unsigned i = 0; i < 4; i++) GIVE("free, big", TAKE("malloc, big", 100 * MIB));
  CALL("malloc_trim", malloc_trim, 0, 0, 0);
  many_small(100);
  many_small(3000);
  many_small(700);
  questions();
  locked_page(300000);
  locked_page(5 * MIB);
  thread_exit();
  with_threads();
  after_fork();
  no_memory();
  return tell(setting) ? 0 : 1;
}

/* A control group that is nearly full. */
static char g_folder[] = "/tmp/hakmem_stack_XXXXXX", g_stats[sizeof g_folder + sizeof "/stats"];

static void put_file(const char *name, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "%s/%s", g_folder, name);
  int fd = open(path, O_CREAT | O_WRONLY, 0600);
  work_expect(fd >= 0 && write(fd, text, strlen(text)) > 0, path);
  close(fd);
}

static void remove_folder(void) {
  static const char *const name[] = {"memory.max", "memory.high", "memory.current", "memory.stat", "memory.pressure", "cpu.max"};
  char path[64];
  for (unsigned n = 0; n < sizeof name / sizeof name[0]; n++) {
    snprintf(path, sizeof path, "%s/%s", g_folder, name[n]);
    unlink(path);
  }
  rmdir(g_folder);
}

/* Removes the statistics page of the child. */
static void remove_of(pid_t child) {
  char path[64];
  snprintf(path, sizeof path, "%s.%d", g_stats, (int)child);
  unlink(path);
}

static void make_folder(void) {
  work_expect(mkdtemp(g_folder) != NULL, "a folder");
  snprintf(g_stats, sizeof g_stats, "%s/stats", g_folder);
  put_file("memory.max", "209715200\n");
  put_file("memory.high", "max\n");
  put_file("memory.current", "190000000\n");
  put_file("memory.stat", "anon 5\nfile 3\ninactive_file 4096\n");
  put_file("memory.pressure", "some avg10=55.00 avg60=0.00 avg300=0.00 total=0\n");
  put_file("cpu.max", "150000 100000\n");
}

static struct setting {
  const char *name, *value;
} settings[][3] = {
    {{"PRESET", "none"}},
    {{"HAKMEM_CGROUP_DIR", g_folder}, {"HAKMEM_COUNT_CALLS", "on"}},
    {{"HAKMEM_BACKGROUND_THREAD", "off"}, {"HAKMEM_COUNT_CALLS", "on"}},
    {{"HAKMEM_PRICE", "lean"}, {"HAKMEM_STATS_FILE", g_stats}},
    {{"HAKMEM_MODE", "evolving"}, {"HAKMEM_COUNT_CALLS", "on"}, {"HAKMEM_SITE_ALL_SIZES", "on"}},
    {{"HAKMEM_PROFILE", "on"}},
};

static void run_with(char *self, const struct setting *with) {
  char line[200] = "";
  for (unsigned n = 0; n < 3 && with[n].name != NULL; n++) {
    setenv(with[n].name, with[n].value, 1);
    snprintf(line + strlen(line), sizeof line - strlen(line), "%s=%s ", with[n].name, with[n].value);
  }
  execl("/proc/self/exe", self, line, NULL);
  _exit(127);
}

int main(int argc, char **argv) {
  bool good = true;
  if (argc > 1) return all_doors(argv[1]);
  make_folder();
  for (unsigned n = 0; n < sizeof settings / sizeof settings[0]; n++) {
    pid_t child = fork();
    if (child == 0) run_with(argv[0], settings[n]);
    int status;
    waitpid(child, &status, 0);
    remove_of(child);
    good = good && status == 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) printf("status %x\n", (unsigned)status);
  }
  remove_folder();
  puts(good ? "done" : "a door takes more than 1,536 B of its caller's stack");
  return good ? 0 : 1;
}
