/* pause.c: a thread of HAKMEM's own, and how it sleeps.
 *
 * what      pthread attributes and a futex behind the contract of pause.h.
 * owner     g_tls_bytes, the same for whoever asks first.
 * locks     None.
 * orders    Relaxed.
 * hot path  No.
 * failure   False; errno restored.
 * not here  The lock's own sleep: lock.c.
 */
#define _GNU_SOURCE
#include "os/pause.h"

#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/os.h"

#define STACK_BYTES ((size_t)256 << 10) /* as the last thread it runs the program's exit handlers */
#define TLS_SPARE ((size_t)8 << 10) /* what libc adds to the thread-local storage of the modules, and alignment */

static size_t g_tls_bytes;

static int add_tls(struct dl_phdr_info *module, size_t size, void *sum) {
  (void)size;
  for (unsigned n = 0; n < module->dlpi_phnum; n++) {
    if (module->dlpi_phdr[n].p_type != PT_TLS) continue;
    *(size_t *)sum += module->dlpi_phdr[n].p_memsz + module->dlpi_phdr[n].p_align;
  }
  return 0;
}

/* libc cuts the thread-local storage of every module off a thread's stack. Looked up once: the loader's lock that this
 * takes may be held for ever in a fork's child. */
static size_t tls_bytes(void) {
  size_t bytes = hak_load(&g_tls_bytes);
  if (bytes == 0) {
    bytes = TLS_SPARE;
    dl_iterate_phdr(add_tls, &bytes);
    hak_store(&g_tls_bytes, bytes);
  }
  return bytes;
}

static void *begin(void *run) {
  prctl(PR_SET_NAME, "hakmem");
  ((void (*)(void))run)();
  return NULL;
}

/* Those that a thread brings upon itself: blocked they would end the process, also where the program handles them (a
 * sandbox answers system calls in a handler of SIGSYS). */
static const int own_signals[] = {SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};

/* A new thread inherits the mask of its maker. */
static bool create_blocked(hak_os_create_fn *create, const pthread_attr_t *attributes, void (*run)(void)) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  for (unsigned n = 0; n < sizeof own_signals / sizeof own_signals[0]; n++) sigdelset(&all, own_signals[n]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool made = create(&thread, attributes, begin, (void *)run) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return made;
}

bool hak_os_thread_start(hak_os_create_fn *create, void (*run)(void)) {
  int saved = errno;
  size_t page = hak_os_page_bytes(), least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
  size_t stack = hak_max(STACK_BYTES, least) + tls_bytes() + page;
  pthread_attr_t attributes;
  bool made = false;
  if (pthread_attr_init(&attributes) == 0) {
    made = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
           pthread_attr_setguardsize(&attributes, page) == 0 &&
           pthread_attr_setstacksize(&attributes, hak_round_up(stack, page)) == 0 &&
           create_blocked(create, &attributes, run);
    pthread_attr_destroy(&attributes);
  }
  errno = saved;
  return made;
}

static void futex(const uint32_t *word, int operation, uint32_t value, const struct timespec *limit) {
  int saved = errno;
  hak_os_tally(HAK_OS_FUTEX);
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
  errno = saved;
}

void hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms) {
  const struct timespec limit = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  futex(word, FUTEX_WAIT, seen, ms == UINT64_MAX ? NULL : &limit);
}

void hak_os_wake(const uint32_t *word) { futex(word, FUTEX_WAKE, INT32_MAX, NULL); }
