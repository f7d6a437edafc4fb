/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unwind_modules.h: which module an instruction lies in, and where its tables are.
 *
 * what      The executable mappings of /proc/self/maps, by rising addresses, each with the .eh_frame_hdr that the
 *           program headers at the beginning of its file name. Code that no file has, as compilers at run time make it,
 *           has no tables.
 *
 *               7f0c1a000000-7f0c1a026000 r--p 00000000 ... /lib/libc.so.6    headers, .eh_frame_hdr
 *               7f0c1a026000-7f0c1a17c000 r-xp 00026000 ... /lib/libc.so.6    a module
 *               7f0c1c000000-7f0c1c040000 r-xp 00000000                       a module without tables
 *
 *           The list is read anew for an instruction in none of them: after an open at once, else ever more seldom
 *           while that finds nothing. No call of the loader tells of loads and unloads without its lock. So a module
 *           that is asked about is looked at first, and all are after an open: where one went, the kernel says so,
 *           and where another came, the first bytes of .eh_frame_hdr differ.
 * owner     g_unwind_modules. A list is never changed, but replaced.
 * locks     One of its own, held while a row is copied. None while /proc or the program's memory is read: a page of it
 *           may be the program's to fetch.
 * failure   No /proc, no memory: no modules. Not guarded against: a module that is unloaded between that look and
 *           the read of its tables, by another thread, while a corrupt stack says that this thread runs in it. A module
 *           that came in place of another during an open of a third thread, or without dlopen (gconv), and calls
 *           from where the other one did, is taken for it until the next look.
 * not here  The tables: unwind_table.h. The loader's list, with the loader's lock: os/loaded.h.
 */
#ifndef HAK_RECORD_UNWIND_MODULES_H
#define HAK_RECORD_UNWIND_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/unwind_table.h"

enum { HAK_UNWIND_MODULES = 1024, HAK_UNWIND_MARK_BYTES = 16 };

struct hak_unwind_module {
  uint64_t first, end; /* of its code */
  struct hak_unwind_table table;
  uint8_t mark[HAK_UNWIND_MARK_BYTES]; /* the first bytes of .eh_frame_hdr */
};

/* The module of the code at pc; without tables if they are no longer there. False: none. bare: no kernel call but those
 * of malloc, so of those known. A lock of its own; call where no lock is held. */
bool hak_unwind_module_at(uint64_t pc, bool bare, struct hak_unwind_module *module);

/* Reads the list, for a process that soon must not. No sandbox. */
void hak_unwind_modules_read(void);

/* Takes these modules, by rising addresses, which stay loaded: for a process that must not read the list. Without
 * effect if it was read. Copies them into memory of its own. */
void hak_unwind_modules_give(const struct hak_unwind_module *modules, unsigned count);

/* Changes when a module is no longer where it was: what was computed from its tables is void. Looks at all of them
 * after an open. The same rules as above. */
uint64_t hak_unwind_generation(bool bare);

#endif
