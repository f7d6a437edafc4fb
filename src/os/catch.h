/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* catch.h: signals that the program left alone.
 *
 * what      Handlers in the place of the default action, and that action itself; and whether an address can be read.
 * locks     None. Signal-safe.
 * failure   False: the program has a handler of its own, or ignores the signal.
 * not here  What a handler does: entry/profiling.c.
 */
#ifndef HAK_OS_CATCH_H
#define HAK_OS_CATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Installs the handler where there is none. Calls that it interrupts go on, and it runs on the stack that the program
 * made for handlers, if it did. */
bool hak_os_catch(int signal, void (*handler)(int));

/* What a signal says that ends a process. */
struct hak_os_crash {
  int signal;
  bool is_fault;    /* of an instruction, not sent by someone */
  bool has_address; /* of a fault: the kernel knows it */
  bool reads, writes; /* neither: that is not known on this machine */
  const void *address;
  uintptr_t instruction;
  uint64_t thread;
};

/* Installs a handler as above that calls `report` once in the life of the process, of whichever of these signals comes
 * first, and after which the signal does by default what it does, where it came from: a fault's instruction runs again.
 * A further fault of the thread that reports ends the process; others that crash wait for it, a second at most. */
bool hak_os_catch_crash(int signal, void (*report)(const struct hak_os_crash *));

/* Does by default what the signal does: at once, or when the handler that this is called from returns. */
void hak_os_die_of(int signal);

/* Ends the process by SIGABRT, whose handler runs before if there is one, unless `unheard`. */
void hak_os_abort(bool unheard) __attribute__((noreturn));

/* Can the 8 bytes at p, a multiple of 8, be read? Asks the kernel, which looks at them, and changes nothing. */
bool hak_os_is_readable(const void *p);

#endif
