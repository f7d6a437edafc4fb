/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* layout.c: where a debugger finds HAKMEM's tables in a process.
 *
 * what      An ELF note, mapped with the library or program that HAKMEM is linked into. `hakmem explain` and `hakmem
 *           address` read the note from another process of the same user. The note holds no secret: distances and
 *           numbers that follow from the sources.
 *
 *               note "HAKMEM", type 1 | version u32 | numbers u32 | distance i64 to each of WHERE | ...
 *               numbers: u32 each, layout.def                      from the distance's own address
 *
 * owner     Constants. Nothing in the library reads the note, and the loader writes nothing in it.
 * not here  Text about an address: cli/hakmem/watching/address.py.
 */
#include "observe/layout.h"

#include <stddef.h>
#include <stdint.h>

#include "blocks/big_internal.h"
#include "blocks/depot.h"
#include "cache/account.h"
#include "cache/context.h"
#include "cache/registry.h"
#include "observe/asked.h"
#include "observe/stats_page.h"
#include "os/os.h"
#include "record/profile_places.h"
#include "record/profile_samples.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "runs/runs_internal.h"
#include "tables/classes.h"
#include "tables/counters.h"
#include "tables/meta.h"
#include "tables/range.h"
#include "tables/settings.h"
#include "tables/site.h"
#include "tables/snapshot.h"

const uint32_t hak_layout[] = {
#define NUMBER(name, value) (uint32_t)(value),
#include "observe/layout.def"
#undef NUMBER
};

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define WHERE(name) ".quad " #name " - .\n"

__asm__(
    ".pushsection .note.hakmem, \"a\", %note\n"
    ".balign 4\n"
    ".long 7, 2f - 1f, 1\n"
    ".asciz \"HAKMEM\"\n"
    ".balign 4\n"
    "1: .long " TEXT_OF(HAK_LAYOUT_VERSION) ", " TEXT_OF(HAK_LAYOUT_NUMBERS) "\n"
    WHERE(hak_layout) WHERE(g_range) WHERE(g_class) WHERE(g_big) WHERE(g_big_piece) WHERE(g_site_table)
    WHERE(g_registry) WHERE(g_depot) WHERE(g_samples) WHERE(g_settings) WHERE(g_meta_newest)
    WHERE(g_rent) WHERE(g_counter) WHERE(hak_counter_names) WHERE(hak_counter_helps) WHERE(g_os_tally)
    WHERE(hak_states_told) WHERE(hak_version_text) WHERE(g_footprint) WHERE(g_runs) WHERE(g_meta_first) WHERE(g_cost)
    WHERE(g_snapshot) WHERE(g_account) WHERE(g_asked)
    "2:\n"
    ".popsection\n");

_Static_assert(sizeof hak_layout == HAK_LAYOUT_NUMBERS * sizeof hak_layout[0], "as the note says");
