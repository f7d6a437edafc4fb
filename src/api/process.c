/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* process.c: libc's calls that concern every thread of the process, as the program makes them.
 *
 * what      libc changes the user and the groups of the threads that it knows, the kernel refuses new namespaces to a
 *           process of several threads, and a sandbox forbids what a thread needs to begin and end. So HAKMEM's own
 *           thread, of which libc does not know, ends first; after a sandbox it does not come back. What is read of the
 *           control group is read before files are out of reach.
 *
 *               setuid ---> hak_background_hold ---> libc's setuid ---> hak_background_release
 *
 * locks     None. A thread that makes such a call waits for the helper's present batch of kernel calls to end.
 * failure   As the real ones.
 * not here  Where the real ones are: next.h. Programs that ask the kernel by themselves (syscall). Only the preloaded
 *           library has this file: an archive cannot stand in for libc's own, and has no helper.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/exports.h"
#include "api/next.h"
#include "entry/thread.h"
#include "os/allowed.h"
#include "os/os.h"
#include "reclaim/background_thread.h"
#include "reclaim/drain_idle.h"
#include "retain/memory_limit.h"

#define ALONE(name, parameters, arguments)  \
  HAK_EXPORT int name parameters {          \
    hak_background_hold();                      \
    int answer = hak_next()->name arguments; \
    hak_background_release();                   \
    return answer;                          \
  }

ALONE(setuid, (uid_t user), (user))
ALONE(seteuid, (uid_t user), (user))
ALONE(setreuid, (uid_t user, uid_t effective), (user, effective))
ALONE(setresuid, (uid_t user, uid_t effective, uid_t saved), (user, effective, saved))
ALONE(setgid, (gid_t group), (group))
ALONE(setegid, (gid_t group), (group))
ALONE(setregid, (gid_t group, gid_t effective), (group, effective))
ALONE(setresgid, (gid_t group, gid_t effective, gid_t saved), (group, effective, saved))
ALONE(setgroups, (size_t count, const gid_t *groups), (count, groups))
ALONE(initgroups, (const char *user, gid_t group), (user, group))

/* Of the calling thread only; but a helper that it made would keep them. No header of libc declares it. */
int capset(void *header, const void *data);
ALONE(capset, (void *header, const void *data), (header, data))

/* A new namespace is refused while the kernel counts a second thread; and what the thread has is its own then. */
static void part(void) {
  hak_memory_limit_look();
  hak_background_hold();
  hak_background_vanish();
  hak_background_part();
}

/* Elsewhere the control group's files are out of reach: whether it has a limit is asked before. */
HAK_EXPORT int chroot(const char *folder) {
  hak_memory_limit_look();
  return hak_next()->chroot(folder);
}

HAK_EXPORT int unshare(int flags) {
  part();
  int answer = hak_next()->unshare(flags);
  hak_background_release();
  return answer;
}

HAK_EXPORT int setns(int descriptor, int kind) {
  part();
  int answer = hak_next()->setns(descriptor, kind);
  hak_background_release();
  return answer;
}

/* What a program that is about to sandbox itself asks for first, or last. */
static bool is_sandbox(int option) { return option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP; }

/* A child of vfork that is about to become another program leaves its parent's memory as it is. Asked once: a filter
 * may forbid the question. */
static bool is_for_itself(void) { return !hak_load(&g_allowed) || hak_process_is_own(); }

static void prepare_for_sandbox(void) {
  hak_process_prepare_for_sandbox();
  hak_background_forbid();
  hak_drain_finish();
}

static bool is_told(int option) { return is_sandbox(option) || option == PR_SET_TSC; }

static void heed_option(int option, unsigned long value) {
  if (is_sandbox(option)) prepare_for_sandbox();
  hak_os_heed_prctl(option, value);
}

HAK_EXPORT int prctl(int option, ...) {
  enum { ARGUMENTS = 4 };
  unsigned long own[ARGUMENTS];
  va_list list;
  va_start(list, option);
  for (unsigned n = 0; n < ARGUMENTS; n++) own[n] = va_arg(list, unsigned long);
  va_end(list);
  if (is_told(option) && is_for_itself()) heed_option(option, own[0]);
  return hak_next()->prctl(option, own[0], own[1], own[2], own[3]);
}

bool g_allowed = true;

/* libc's names are looked up while there is one thread: a fork's child may find the loader's lock held for ever. */
__attribute__((constructor(101))) static void process_starts_here(void) {
  hak_process_at_first_block(hak_next_find);
}
