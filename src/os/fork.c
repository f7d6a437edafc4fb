/* fork.c: notice that this process is a fork's child.
 *
 * what      The wiped page, the atfork hook and the step to the next generation; see fork.h.
 * owner     g_fork.
 * locks     None.
 * orders    See fork.h.
 * hot path  No.
 * failure   See fork.h.
 * not here  Repair.
 */
#define _GNU_SOURCE
#include "os/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/os.h"
#include "os/self.h"

static uint64_t never_wiped = 1;
struct hak_fork g_fork = {.alive = &never_wiped};

static void child_of_fork(void) {
  if (g_fork.alive == &never_wiped) never_wiped = 0; /* a wiped page may have been noticed already, by other hooks */
  if (hak_fork_happened()) hak_fork_notice();
}

void hak_fork_start(void) {
  int saved = errno;
  size_t bytes = hak_os_page_bytes();
  uint64_t *page = hak_os_map(bytes);
  if (page != NULL && madvise(page, bytes, MADV_WIPEONFORK) == 0) {
    *page = 1;
    g_fork.alive = page;
  } else if (page != NULL) {
    hak_os_unmap(page, bytes);
  }
  pthread_atfork(NULL, NULL, child_of_fork);
  errno = saved;
}

/* In a child the thread that called fork is the leader; a thread the child made may come here before it. */
bool hak_fork_know_survivor(void) {
  if (hak_load(&g_fork.survivor) != 0) return true;
  if (gettid() != getpid()) return false;
  g_fork.born = hak_self.born != 0 ? hak_self.born - 1 : g_fork.generation;
  hak_store_release(&g_fork.survivor, hak_self_token());
  return true;
}

void hak_fork_notice(void) {
  uint64_t seen = 0;
  if (hak_cas_acquire(g_fork.alive, &seen, 2)) {
    hak_store(&g_fork.survivor, 0);
    hak_store(&g_fork.generation, g_fork.generation + 1);
    hak_fork_know_survivor();
    hak_store_release(g_fork.alive, 1);
    return;
  }
  while (hak_load_acquire(g_fork.alive) != 1) hak_pause();
}
