/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* catch.h: handlers for signals that the program left at the default action.
 *
 * what      Installs handlers in place of the default action, applies the default action, and tests whether an address
 *           can be read.
 * locks     None. Signal-safe.
 * failure   False: the program has a handler or ignores the signal.
 * not here  The work of a handler: entry/profiling.c, observe/crash.c.
 */
#ifndef HAK_OS_CATCH_H
#define HAK_OS_CATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Installs the handler if the signal has the default action. Interrupted calls are restarted. The handler runs on the
 * program's alternate signal stack, if there is one. */
bool hak_os_catch(int signal, void (*handler)(int));

/* Facts about a signal that ends a process. */
struct hak_os_crash {
  int signal;
  bool is_fault;    /* raised by an instruction, not sent */
  bool has_address; /* a fault whose address the kernel knows */
  bool reads, writes; /* both false: unknown on this machine */
  const void *address;
  uintptr_t instruction;
  uint64_t thread;
};

/* Installs a handler like hak_os_catch. The first of the signals so caught calls `report`, once in the life of the
 * process; then the default action applies where the signal arose: a fault's instruction runs again. A fault inside
 * `report` ends the process. Further threads that crash wait for the report, at most 1 s. */
bool hak_os_catch_crash(int signal, void (*report)(const struct hak_os_crash *));

/* Applies the signal's default action: at once or, inside a handler, when the handler returns. */
void hak_os_die_of(int signal);

/* Ends the process by SIGABRT. A handler of SIGABRT runs before, unless `unheard`. */
void hak_os_abort(bool unheard) __attribute__((noreturn));

/* True if the 8 bytes at p, a multiple of 8, can be read. A kernel call that changes nothing. */
bool hak_os_is_readable(const void *p);

/* The same by a kernel call that locks make anyway, for sandboxes. In seccomp's strict mode always true. */
bool hak_os_is_readable_bare(const void *p);

#endif
