/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unwind_table.h: the frame at an instruction, by the tables that compilers write for exceptions.
 *
 * what      A module's .eh_frame_hdr has its functions by address, each with a program that says at which instruction
 *           the frame changes (DWARF 4, 6.4). The program is run up to the instruction, and what is left is a rule:
 *
 *               instruction --> .eh_frame_hdr, bisected --> FDE, CIE --> their programs --> rule
 *
 *               rule:   CFA = sp + 48          the caller's stack pointer
 *                       fp  = word at CFA - 2  or as it is
 *
 *           Kept are the registers that find frames: frame pointer, and on x86-64 rbx, on AArch64 the return address.
 * owner     The module that owns the tables.
 * failure   HAK_CFA_NONE: no table has the instruction. HAK_CFA_END: a rule that compilers do not write for calls,
 *           as that of the first instructions of a function that aligns its stack. Broken tables have any rule, and are
 *           never read beyond their segment.
 * not here  The walk: unwind.h. Which module an instruction lies in: unwind_modules.h.
 */
#ifndef HAK_RECORD_UNWIND_TABLE_H
#define HAK_RECORD_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* The segment of a module that has its tables. */
struct hak_unwind_table {
  uint64_t header; /* address of .eh_frame_hdr; 0: none */
  uint64_t first, end;
  uint32_t count; /* functions */
};

enum hak_cfa {
  HAK_CFA_NONE,
  HAK_CFA_SP,     /* CFA = sp + at */
  HAK_CFA_FP,     /* CFA = fp + at */
  HAK_CFA_OTHER,  /* CFA = further register + at */
  HAK_CFA_AT_FP,  /* CFA = word at fp + at; registers are relative to fp */
  HAK_CFA_CHAIN,  /* CFA = fp + 2 words; the words at fp are the caller's fp and the return address */
  HAK_CFA_SIGNAL, /* a signal handler returns here: all registers lie above sp */
  HAK_CFA_END     /* the outermost frame, or one that cannot be passed */
};

/* [words of 8 bytes] */
struct hak_unwind_rule {
  int32_t at;
  int32_t fp, other; /* where saved, from CFA; 0: as it is */
  uint8_t cfa;       /* enum hak_cfa */
  bool fp_lost, other_lost;
};

/* The header's first bytes; false: not the form that linkers write. */
enum { HAK_UNWIND_HEADER_BYTES = 12 };
bool hak_unwind_takes_header(const uint8_t header[HAK_UNWIND_HEADER_BYTES], uint32_t *count);

/* The rule at this instruction. Reads the tables, which must be there. */
void hak_unwind_rule_at(const struct hak_unwind_table *table, uint64_t pc, struct hak_unwind_rule *rule);

#endif
