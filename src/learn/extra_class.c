/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extra_class.c: an additional size class where many requests fall between two classes; see extra_class.h.
 *
 * what      peaks.h is told costs per block in sixteenths of a byte, as peaks.h rounds sizes to 16. A decided class
 *           counts as added, in shadow too, so no class is decided twice.
 */
#include "learn/extra_class.h"

#include "blocks/depot.h"
#include "blocks/slab.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "learn/learner.h"
#include "learn/peaks.h"
#include "os/os.h"
#include "tables/counters.h"
#include "tables/settings.h"

enum {
  SAMPLE_BYTES = 64 << 10,
  /* [bytes refilled] until the first decision; few, as a block handed out before cannot move to the new class. Then
   * twice as many each time, up to SELDOM_BYTES, until a class is added. */
  DECIDE_BYTES = 2 << 20,
  SELDOM_BYTES = 64 << 20,
  STILL_OUT = 4,          /* a difference of 1/4 counts as none */
  HALF_LOG = 20           /* log2 of the blocks after which counts are halved */
};

static HAK_RARE struct {
  struct hak_peaks peaks;
  uint32_t decided[HAK_EXTRA_CLASSES]; /* [bytes] */
  uint32_t weight[HAK_EXTRA_CLASSES];  /* [blocks] */
  unsigned count, added;
  uint32_t brought, waits; /* [bytes] refilled since the last decision; until the next, less DECIDE_BYTES */
  unsigned above; /* class above the last proposal */
  uint64_t most;  /* most blocks of class `above` seen handed out */
} g_extra;

static struct hak_peak_rules rules(void) {
  struct hak_peak_rules rules = hak_peak_usual();
  rules.half_log = HALF_LOG;
  return rules;
}

/* A block's part of the slab's pages [bytes], rounded up. */
static uint32_t cost_of_block(size_t bytes) {
  struct hak_class shape = hak_class_shape(bytes);
  size_t pages = hak_round_up((size_t)shape.slots * bytes, hak_os_page_bytes());
  return (uint32_t)((pages + shape.slots - 1) / shape.slots);
}

static size_t bytes_served(size_t n) {
  size_t bytes = g_class[hak_class_of(n)].bytes;
  for (unsigned i = 0; i < g_extra.count; i++) {
    if (g_extra.decided[i] >= n) bytes = hak_min(bytes, g_extra.decided[i]);
  }
  return bytes;
}

/* A magazine that is not empty needs no refill: the call is slow because calls are counted or traced. */
bool hak_extra_class_samples(struct hak_context *x, size_t n) {
  if (!hak_setting(learn_class)) return false;
  unsigned c = hak_context_class(x, n);
  if (hak_magazine_blocks(x, c) != 0) return false;
  size_t blocks = hak_max(hak_min((x->capacity[c] + 1u) / 2, HAK_DEPOT_PACK), 1);
  x->unsampled += (uint32_t)(blocks * g_class[c].bytes);
  return x->unsampled >= SAMPLE_BYTES;
}

static void note_class_request(uint32_t asked, uint32_t served, uint32_t times) {
  asked = (uint32_t)hak_min(asked, served);
  hak_peaks_note(&g_extra.peaks, rules(), HAK_PEAK_STEP * asked, HAK_PEAK_STEP * served, times);
}

/* The largest block size whose cost is at most `cost`; a block never costs less than its bytes. */
static size_t largest_of_cost(size_t cost) {
  size_t step = hak_class_step(cost), bytes = cost / step * step;
  while (cost_of_block(bytes) > cost) bytes -= step;
  return bytes;
}

static uint64_t most_out(unsigned above, uint64_t out) {
  g_extra.most = above == g_extra.above ? hak_max(g_extra.most, out) : out;
  g_extra.above = above;
  return g_extra.most;
}

/* True if about as many blocks are handed out as were refilled: nearly all are still out, and none is older. */
static bool grows(uint64_t out, uint64_t brought) {
  return out <= brought + brought / STILL_OUT && brought <= out + out / STILL_OUT;
}

/* True if saved is at least spent, see extra_class.h. */
static bool is_worth_it(const struct hak_peak *peak, size_t bytes) {
  uint64_t units;
  unsigned above = hak_class_of(bytes);
  uint64_t out = hak_slab_handed_out(above, &units), most = most_out(above, out);
  uint64_t holes = grows(out, peak->among) ? 0 : out;
  double saved = (double)most * (peak->served - peak->size), lost = (double)holes * peak->served;
  double moves = (double)peak->requests / (double)peak->among;
  size_t slab = hak_class_shape(bytes).units * HAK_UNIT_BYTES, magazine = hak_context->capacity[above] / 2 * bytes;
  return (saved - lost) * moves / HAK_PEAK_STEP >= (double)hak_registry_count() * (double)(slab + magazine);
}

/* The decided class of this block size; HAK_EXTRA_CLASSES: none. */
static unsigned index_of(size_t bytes) {
  unsigned i = 0;
  while (i < g_extra.count && g_extra.decided[i] != bytes) i++;
  return i < g_extra.count ? i : (unsigned)HAK_EXTRA_CLASSES;
}

static void decide_on(size_t bytes, uint64_t weight) {
  g_extra.weight[g_extra.count] = (uint32_t)hak_min(weight, HAK_EXTRA_WEIGHT_MOST);
  g_extra.decided[g_extra.count++] = (uint32_t)bytes;
  g_extra.peaks = (struct hak_peaks){.told = 0}; /* requests for the new class were noted with the class above */
  hak_count(HAK_COUNTER_learn_classes, 1);
}

static void add_decided(void) {
  bool acts = hak_learner_acts() || hak_setting(mode) == HAK_MODE_FROZEN;
  while (acts && g_extra.added < g_extra.count) hak_class_add(g_extra.decided[g_extra.added++]);
}

static void decide_class(void) {
  struct hak_peak peak = hak_peaks_find(&g_extra.peaks, rules());
  if (peak.size != 0 && g_extra.count < HAK_EXTRA_CLASSES) {
    size_t bytes = largest_of_cost(peak.size / HAK_PEAK_STEP);
    if (is_worth_it(&peak, bytes)) decide_on(bytes, peak.requests);
  }
  add_decided();
}

static void weigh(size_t bytes, uint32_t blocks) {
  unsigned i = index_of(bytes);
  if (i != HAK_EXTRA_CLASSES)
    g_extra.weight[i] = (uint32_t)hak_min((uint64_t)g_extra.weight[i] + blocks, HAK_EXTRA_WEIGHT_MOST);
}

void hak_extra_class_note(struct hak_context *x, size_t n) {
  size_t bytes = bytes_served(n);
  uint32_t fitting = cost_of_block(hak_round_up(n, hak_class_step(n)));
  uint32_t blocks = x->unsampled / (uint32_t)bytes;
  weigh(bytes, blocks);
  note_class_request(fitting, cost_of_block(bytes), blocks);
  g_extra.brought += x->unsampled;
  x->unsampled = 0;
  if (g_extra.brought < DECIDE_BYTES + g_extra.waits) return;
  unsigned before = g_extra.count;
  g_extra.waits = (uint32_t)hak_min(g_extra.brought, SELDOM_BYTES - DECIDE_BYTES);
  g_extra.brought = 0;
  decide_class();
  if (g_extra.count != before) g_extra.waits = 0;
}

/* ---- rows of a policy ---- */

bool hak_extra_class_out(unsigned which, unsigned i, uint64_t *number) {
  (void)which;
  number[0] = g_extra.decided[i];
  number[1] = g_extra.weight[i];
  return i < g_extra.count && g_extra.weight[i] != 0;
}

static bool may_be_added(size_t bytes) {
  bool steps = bytes % hak_class_step(bytes) == 0 && g_class[hak_class_of(bytes)].bytes != bytes;
  return steps && g_extra.count < HAK_EXTRA_CLASSES;
}

/* After four classes no row of a further class is of use. */
bool hak_extra_class_in(unsigned which, const uint64_t *number, enum hak_row_use use) {
  (void)which;
  unsigned i = index_of(number[0]);
  bool known = i != HAK_EXTRA_CLASSES, full = g_extra.count == HAK_EXTRA_CLASSES;
  if (use == HAK_ROW_JOIN && known) g_extra.weight[i] = (uint32_t)hak_max(g_extra.weight[i], number[1]);
  if (use != HAK_ROW_TAKE || known || !may_be_added(number[0])) return known || full;
  decide_on(number[0], number[1] / 2);
  add_decided();
  if (hak_context != &g_empty_context) hak_extra_class_heed(hak_context);
  return true;
}
