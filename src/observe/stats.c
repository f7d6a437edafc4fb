/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stats.c: the sums of hak_stats.
 *
 * what      See stats.h.
 */
#include "observe/stats.h"

#include "blocks/big.h"
#include "blocks/large.h"
#include "blocks/slab.h"
#include "blocks/slab_sampled.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "retain/footprint.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/meta.h"
#include "tables/range.h"
#include "tables/site.h"

uint64_t hak_stats_handed_out(void) {
  uint64_t sampled, unused, big = hak_load(&g_footprint.big);
  hak_slab_sampled_sums(&sampled, &unused);
  uint64_t out = hak_slab_handed_out_all().bytes + sampled + hak_large_handed_out();
  return out + hak_less(big, hak_load(&g_footprint.big_cached));
}

static void slab_stats(struct hak_stats *s) {
  hak_slab_sampled_sums(&s->slab_live, &s->slab_bytes);
  for (unsigned c = 1, end = hak_class_end(); c < end; c++) {
    uint64_t units;
    s->slab_live += hak_slab_handed_out(c, &units) * g_class[c].bytes;
    s->slab_bytes += units << HAK_UNIT_SHIFT;
  }
  s->cached = hak_magazine_cached_bytes();
}

void hak_stats_read(struct hak_stats *s) {
  slab_stats(s);
  hak_big_bytes_now(&s->big_live, &s->big_cached);
  s->big_blocks = hak_big_live_blocks();
  hak_runs_bytes(&s->span_dirty, &s->span_clean);
  s->large_live = hak_large_handed_out();
  s->metadata = hak_meta_bytes() + hak_range_table_bytes() + hak_big_table_bytes() + hak_site_table_bytes();
  s->mapped = hak_load(&g_range.mapped) + s->metadata + s->big_live + s->big_cached;
  uint64_t out = s->slab_live + s->large_live;
  s->cached = hak_min(s->cached, out); /* another thread may be between two stores */
  s->in_use = out - s->cached + s->big_live;
  s->threads = hak_registry_count();
}
