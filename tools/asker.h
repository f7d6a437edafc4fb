/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asker.h: who a call of malloc is said to come from.
 *
 * what      What repeats the calls of a program has call sites of its own. Where the library asks for the site of a call
 *           (hak_site_of, by the linker's --wrap), it is given the one that was said last in this thread: an address,
 *           and a depth of the stack. libhakdoors.so exports the name, and hak_replay --sites looks for it.
 * not here  What a site is to the library: tables/site.h.
 */
#ifndef HAK_TOOLS_ASKER_H
#define HAK_TOOLS_ASKER_H

#include <stdint.h>

/* address 0: as it is, again. */
__attribute__((visibility("default"))) void hak_ask_as(uint64_t address, uint64_t depth);

#endif
