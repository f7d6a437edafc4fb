/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* by_site.h: pages fetched by the model's kernel, by call site.
 *
 * what      An account for each recorded call site (address and depth of the stack). Pages fetched between `begin` and
 *           `end` of a call count for the call's site:
 *
 *              faults, pages    fetched while the block was allocated and first touched
 *              hits             blocks served by free memory: no page was fetched
 *
 * owner     The process: one table, one account per site.
 * locks     None: single-threaded.
 * failure   No memory: false.
 * not here  Which pages are resident: pages.h.
 */
#ifndef HAK_TOOLS_BY_SITE_H
#define HAK_TOOLS_BY_SITE_H

#include "events.h"

/* For blocks of at least `least` bytes. */
bool by_site_make(const struct hak_process *process, uint64_t least);

/* Around a call; by_site_end only after an event that allocates a block. */
void by_site_begin(void);
void by_site_end(const struct hak_event *event);

/* Writes a line of JSON for each site with a block of at least `least` bytes. */
void by_site_put(const struct hak_process *process, size_t number);

#endif
