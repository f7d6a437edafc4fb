/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* by_site.h: for whose blocks the model's kernel fetched pages.
 *
 * what      An account for each recorded call site (address and depth of the stack). What comes between `begin` and `end`
 *           of a call is its site's:
 *
 *               faults, pages    fetched while the block came and was first touched
 *               hits             blocks that free memory served: none of their pages had to be fetched
 *
 * owner     The process: one table, an account a site.
 * locks     None: one thread.
 * failure   No memory: false.
 * not here  Which pages are there: pages.h.
 */
#ifndef HAK_TOOLS_BY_SITE_H
#define HAK_TOOLS_BY_SITE_H

#include "events.h"

/* Of blocks of so many bytes and more. */
bool by_site_make(const struct hak_process *process, uint64_t least);

/* Around a call; the end of those only with which a block came. */
void by_site_begin(void);
void by_site_end(const struct hak_event *event);

/* A line of JSON for each site that had such a block. */
void by_site_put(const struct hak_process *process, size_t number);

#endif
