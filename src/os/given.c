/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* given.c: values that the kernel gave the process at exec.
 *
 * what      See given.h. The vector begins at the first word that is a type: a small number, while every word before is
 *           an address or 0. The search is thus independent of the arguments' count and of an environment that the
 *           program shortened in place.
 */
#include "os/given.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "os/libc.h"

enum { ALIGN = 16, TYPE_MOST = 4095 /* below the lowest address that can be mapped */ };

/* Rounds up to 16 bytes: in a static program __libc_stack_end lies up to a word below the arguments' count. */
unsigned long hak_given_at(const void *start, unsigned long type) {
  uintptr_t from = (uintptr_t)start;
  if (from == 0 || from % sizeof(long) != 0 || from >> 56 != 0) return 0; /* the program has a variable of this name */
  const unsigned long *word = (const unsigned long *)hak_round_up(from, ALIGN) + 1;
  while (*word == 0 || *word > TYPE_MOST) word++;
  while (word[0] != AT_NULL && word[0] != type) word += 2;
  return word[0] == type ? word[1] : 0;
}

unsigned long hak_given(unsigned long type) { return hak_libc_given(type); }
