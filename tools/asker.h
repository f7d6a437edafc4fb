/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asker.h: gives a call of malloc a recorded call site.
 *
 * what      A replay has its own call sites, not those of the recorded program. Where the library asks for the site of
 *           a call (hak_site_of, wrapped by the linker's --wrap), the wrapper answers with the thread's last
 *           hak_ask_as: an address and a depth of the stack. libhakdoors.so exports hak_ask_as, and hak_replay --sites
 *           looks the name up.
 * not here  Sites in the library: tables/site.h.
 */
#ifndef HAK_TOOLS_ASKER_H
#define HAK_TOOLS_ASKER_H

#include <stdint.h>

/* address 0: back to the call's real site. */
__attribute__((visibility("default"))) void hak_ask_as(uint64_t address, uint64_t depth);

#endif
