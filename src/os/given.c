/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* given.c: what the kernel gave the process at exec.
 *
 * what      See given.h. The vector is found by what its first word is: a type, which is small, where the words before
 *           it are addresses or 0. So neither arguments nor an environment that the program shortened in its place
 *           lead astray.
 */
#include "os/given.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { ALIGN = 16, TYPE_MOST = 4095 /* below the first address that can be mapped */ };

extern void *__libc_stack_end;

/* A static program's start-up code notes an address that is up to a word below the count. */
unsigned long hak_given_at(const void *start, unsigned long type) {
  uintptr_t from = (uintptr_t)start;
  if (from == 0 || from % sizeof(long) != 0 || from >> 56 != 0) return 0; /* another thing of the program's */
  const unsigned long *word = (const unsigned long *)hak_round_up(from, ALIGN) + 1;
  while (*word == 0 || *word > TYPE_MOST) word++;
  while (word[0] != AT_NULL && word[0] != type) word += 2;
  return word[0] == type ? word[1] : 0;
}

unsigned long hak_given(unsigned long type) { return hak_given_at(__libc_stack_end, type); }
