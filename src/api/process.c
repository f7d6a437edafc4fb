/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* process.c: libc's calls that concern every thread of the process, in front of libc's.
 *
 * what      libc changes user and groups of the threads that libc knows, the kernel refuses new namespaces to a process
 *           of several threads, and a sandbox forbids the calls that start and end a thread. So the background thread,
 *           which libc does not know, ends before the call; after a sandbox it stays away. The control group's files
 *           are read before a call puts them out of reach.
 *
 *              setuid ---> hak_background_hold ---> libc's setuid ---> hak_background_release
 *
 * locks     None. The calling thread waits for the end of the background thread's present batch of kernel calls.
 * failure   As libc's functions.
 * not here  The addresses of libc's functions: next.h. Programs that call the kernel themselves (syscall). Only the
 *           preloaded library has this file: an archive cannot stand in for libc, and has no background thread.
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

/* capset concerns the calling thread only, but a background thread started by that thread would keep the old
 * capabilities. No header of libc declares capset. */
int capset(void *header, const void *data);
ALONE(capset, (void *header, const void *data), (header, data))

/* The kernel refuses a new namespace to a process with a second thread. Afterwards the calling thread has descriptors,
 * a folder or namespaces that no other thread shares: hak_background_part lets the process's first thread start the
 * next background thread. */
static void part(void) {
  hak_memory_limit_look();
  hak_background_hold();
  hak_background_vanish();
  hak_background_part();
}

/* After chroot the control group's files are out of reach: the limit is read before. */
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

/* True for the prctl options that begin or complete a sandbox. */
static bool is_sandbox(int option) { return option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP; }

/* True if the process owns its memory. A child of vfork before exec shares its parent's memory and must leave the
 * allocator's state unchanged. hak_process_is_own is called only before the first sandbox: a filter may forbid its
 * system call. */
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

/* The names of libc are looked up while the process has one thread: later a fork's child may find the loader's lock
 * held for ever. */
__attribute__((constructor(101))) static void process_starts_here(void) {
  hak_process_at_first_block(hak_next_find);
}
