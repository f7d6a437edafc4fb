/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unwind.c: the walk of this thread's stack.
 *
 * what      See unwind.h.
 * owner     g_unwind; g_stack, of each thread.
 */
#include "record/unwind.h"

#include <string.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/catch.h"
#include "os/libc.h"
#include "os/os.h"
#include "os/peek.h"
#include "os/self.h"
#include "record/unwind_modules.h"
#include "record/unwind_table.h"

/* ---- the cache ---- */

enum { CACHE_FIRST = 1 << 10, CACHE_LAST = 1 << 14 }; /* rows */

struct cached {
  uint64_t check, rule; /* check: key ^ rule */
};
struct cache {
  uint64_t mask, used;
  struct cached row[];
};

static HAK_RARE struct {
  struct cache *cache; /* NULL: none yet */
} g_unwind;

/* 63       45 44       26 25                5   4     3   2      0
 * [ other    ][ fp       ][ at               ][ lost  lost ][ cfa ]   words, signed; never 0 */
enum { AT_BITS = 21, SAVED_BITS = 19, CFA_BITS = 3, AT_SHIFT = 5, FP_SHIFT = AT_SHIFT + AT_BITS };
enum { OTHER_SHIFT = FP_SHIFT + SAVED_BITS };

HAK_INLINE int32_t unpack_signed(uint64_t rule, unsigned shift, unsigned bits) {
  return (int32_t)((int64_t)(rule << (64 - shift - bits)) >> (64 - bits));
}

HAK_INLINE uint64_t pack_signed(int32_t value, unsigned shift, unsigned bits) {
  return ((uint64_t)(int64_t)value & (((uint64_t)1 << bits) - 1)) << shift;
}

HAK_INLINE void unpack_rule(uint64_t packed, struct hak_unwind_rule *rule) {
  rule->cfa = packed & 7;
  rule->fp_lost = (packed >> 3 & 1) != 0;
  rule->other_lost = (packed >> 4 & 1) != 0;
  rule->at = unpack_signed(packed, AT_SHIFT, AT_BITS);
  rule->fp = unpack_signed(packed, FP_SHIFT, SAVED_BITS);
  rule->other = unpack_signed(packed, OTHER_SHIFT, SAVED_BITS);
}

static bool fits_bits(int32_t value, unsigned bits) {
  return value >= -(1 << (bits - 1)) && value < 1 << (bits - 1);
}

/* 0: it does not fit. */
static uint64_t pack_rule(const struct hak_unwind_rule *rule) {
  bool fits = fits_bits(rule->at, AT_BITS) && fits_bits(rule->fp, SAVED_BITS) && fits_bits(rule->other, SAVED_BITS);
  if (!fits) return 0;
  uint64_t flags = rule->cfa | (uint64_t)rule->fp_lost << 3 | (uint64_t)rule->other_lost << 4;
  return flags | pack_signed(rule->at, AT_SHIFT, AT_BITS) | pack_signed(rule->fp, FP_SHIFT, SAVED_BITS) |
         pack_signed(rule->other, OTHER_SHIFT, SAVED_BITS);
}

HAK_INLINE uint64_t home_of_key(const struct cache *cache, uint64_t key) {
  return (key * 0x9e3779b97f4a7c15u >> 40) & cache->mask;
}

HAK_INLINE uint64_t cached_rule(const struct cached *row, uint64_t key) {
  uint64_t rule = hak_load(&row->rule);
  return (hak_load(&row->check) ^ rule) == key ? rule : 0;
}

/* 0: not there. Two rows next to each other have a home. */
HAK_INLINE uint64_t find_rule(uint64_t key) {
  const struct cache *cache = hak_load_acquire(&g_unwind.cache);
  if (HAK_UNLIKELY(cache == NULL)) return 0;
  uint64_t home = home_of_key(cache, key), rule = cached_rule(&cache->row[home], key);
  return HAK_LIKELY(rule != 0) ? rule : cached_rule(&cache->row[home ^ 1], key);
}

static void store_row(struct cached *row, uint64_t check, uint64_t rule) {
  hak_store(&row->rule, rule);
  hak_store(&row->check, check);
}

/* Threads may lose each other's rows. */
static void enter_rule(struct cache *cache, uint64_t key, uint64_t rule) {
  uint64_t home = home_of_key(cache, key);
  struct cached *row = &cache->row[home], *next = &cache->row[home ^ 1];
  bool taken = hak_load(&row->rule) != 0;
  if (taken) store_row(next, hak_load(&row->check), hak_load(&row->rule));
  store_row(row, key ^ rule, rule);
  hak_store(&cache->used, hak_load(&cache->used) + 1);
}

static size_t cache_bytes(uint64_t rows) {
  return hak_round_up(sizeof(struct cache) + rows * sizeof(struct cached), hak_os_page_bytes());
}

/* Publishes a cache of so many rows, with those of the cache before. That one stays mapped, as another thread may read
 * it: a third of what the new one has, at most. */
static struct cache *grow_cache(struct cache *before, uint64_t rows) {
  struct cache *cache = hak_os_map(cache_bytes(rows)), *now = before;
  if (cache == NULL) return before;
  cache->mask = rows - 1;
  for (uint64_t n = 0; before != NULL && n <= before->mask; n++) {
    uint64_t rule = hak_load(&before->row[n].rule);
    if (rule != 0) enter_rule(cache, hak_load(&before->row[n].check) ^ rule, rule);
  }
  if (hak_cas_acq_rel(&g_unwind.cache, &now, cache)) return cache;
  hak_os_unmap(cache, cache_bytes(rows));
  return now;
}

static void keep_rule(uint64_t key, const struct hak_unwind_rule *rule) {
  struct cache *cache = hak_load_acquire(&g_unwind.cache);
  uint64_t packed = pack_rule(rule), rows = cache != NULL ? cache->mask + 1 : 0;
  if (packed == 0) return;
  if (cache == NULL) cache = grow_cache(NULL, CACHE_FIRST);
  if (cache != NULL && rows < CACHE_LAST && hak_load(&cache->used) > rows / 2 && rows != 0) {
    cache = grow_cache(cache, 4 * rows);
  }
  if (cache != NULL) enter_rule(cache, key, packed);
}

/* ---- a stack ---- */

struct walk {
  uintptr_t pc, sp, fp, other;
  uintptr_t low, end; /* of the stack, as far as known to be readable */
  bool exact;         /* pc is an instruction, not the one behind a call */
  bool leaf;          /* `other` is what the instruction's function has there */
  bool bare;
  uint64_t generation; /* of the modules, in the upper bits of a key */
};

/* How far down this thread's stack was looked at. */
static __thread struct {
  uintptr_t low; /* 0: not at all */
} g_stack;

enum { LOOKED_MOST = 256 << 10, STEP_MOST = 8 << 20 };

static bool is_readable_up_to(uintptr_t from, uintptr_t to, bool bare) {
  bool (*is_readable)(const void *) = bare ? hak_os_is_readable_bare : hak_os_is_readable;
  size_t page = hak_os_page_bytes();
  for (uintptr_t at = from & -(uintptr_t)page; at < to; at += page) {
    if (!is_readable((const void *)at)) return false;
  }
  return true;
}

/* The end of the stack that this thread runs on at sp; sp if it is not known. A thread's storage lies above its stack,
 * with nothing between: so far every page was looked at, once. */
static uintptr_t end_of_stack(uintptr_t sp, bool bare) {
  uintptr_t own = (uintptr_t)hak_self_pointer();
  if (hak_self_is_on_first_stack((const void *)sp)) return (uintptr_t)hak_libc_stack_end();
  if (own - sp >= LOOKED_MOST) return sp;
  if (g_stack.low != 0 && g_stack.low <= sp) return own;
  if (!is_readable_up_to(sp, g_stack.low != 0 ? g_stack.low : own, bare)) return sp;
  g_stack.low = sp;
  return own;
}

/* Looks at further pages, up to `to`. */
static HAK_NOINLINE bool look_further(struct walk *walk, uintptr_t to) {
  size_t page = hak_os_page_bytes();
  if (walk->bare || to - walk->end > STEP_MOST) return false;
  uintptr_t from = walk->end & -(uintptr_t)page;
  if (!is_readable_up_to(from, to, false)) return false;
  walk->end = hak_round_up(to, page);
  return true;
}

HAK_INLINE bool can_read(struct walk *walk, uintptr_t at) {
  if (HAK_UNLIKELY(at < walk->low || at % sizeof at != 0 || at > UINTPTR_MAX - sizeof at)) return false;
  return HAK_LIKELY(at + sizeof at <= walk->end) || look_further(walk, at + sizeof at);
}

HAK_INLINE bool read_word(struct walk *walk, uintptr_t at, uintptr_t *word) {
  if (!can_read(walk, at)) return false;
  *word = *(const uintptr_t *)at;
  return true;
}

/* ---- rules ---- */

static uint64_t key_of(const struct walk *walk) { return (walk->pc - !walk->exact) ^ walk->generation << 48; }

/* True if these are the instructions to which a signal handler returns, where no table says so. */
static bool is_signal_return(const struct walk *walk) {
  static const uint8_t code[] HAK_RARE_CONSTANT = HAK_ARCH_SIGNAL_CODE;
  uint8_t here[sizeof code];
  return !walk->bare && hak_os_peek(here, walk->pc, sizeof code) && memcmp(here, code, sizeof code) == 0;
}

/* By the tables of the module, in which the thread runs. False: pc is in no known code. */
static HAK_NOINLINE bool learn_rule(struct walk *walk, struct hak_unwind_rule *rule) {
  struct hak_unwind_module module;
  bool known = hak_unwind_module_at(walk->pc - !walk->exact, walk->bare, &module);
  *rule = (struct hak_unwind_rule){.cfa = HAK_CFA_NONE};
  if (known) hak_unwind_rule_at(&module.table, walk->pc - !walk->exact, rule);
  if (rule->cfa == HAK_CFA_NONE) rule->cfa = is_signal_return(walk) ? HAK_CFA_SIGNAL : HAK_CFA_CHAIN;
  walk->generation = hak_unwind_generation(walk->bare);
  if (known) keep_rule(key_of(walk), rule);
  return known;
}

HAK_INLINE bool rule_of(struct walk *walk, struct hak_unwind_rule *rule) {
  uint64_t packed = find_rule(key_of(walk));
  if (HAK_UNLIKELY(packed == 0)) return learn_rule(walk, rule);
  unpack_rule(packed, rule);
  return true;
}

/* ---- steps ---- */

enum { RED_ZONE = 128 }; /* [bytes] below sp that a function may use: registers that it took back are still there */

/* To the instruction that a signal interrupted, which may have run on another stack. */
static HAK_NOINLINE bool pass_signal(struct walk *walk) {
  uintptr_t at = walk->sp, sp;
  bool read = read_word(walk, at + HAK_ARCH_SIGNAL_SP, &sp) && read_word(walk, at + HAK_ARCH_SIGNAL_FP, &walk->fp) &&
              read_word(walk, at + HAK_ARCH_SIGNAL_OTHER, &walk->other) &&
              read_word(walk, at + HAK_ARCH_SIGNAL_PC, &walk->pc);
  if (!read) return false;
  bool same = sp > walk->sp && sp < walk->end;
  if (!same) walk->low = walk->end = (sp & -(uintptr_t)16) - RED_ZONE;
  walk->sp = sp;
  walk->exact = walk->leaf = true;
  return true;
}

/* To the caller by the frame pointer, whose frame must lie above. */
static HAK_NOINLINE bool follow_chain(struct walk *walk) {
  struct hak_unwind_rule rule;
  uintptr_t frame = walk->fp;
  bool above = frame >= walk->sp && frame % sizeof frame == 0;
  if (!above || !read_word(walk, frame + sizeof frame, &walk->pc) || !read_word(walk, frame, &walk->fp)) return false;
  walk->pc = hak_arch_unsigned(walk->pc);
  walk->sp = frame + 2 * sizeof frame;
  walk->other = 0;
  walk->exact = walk->leaf = false;
  return walk->pc != 0 && rule_of(walk, &rule);
}

HAK_INLINE bool find_frame(struct walk *walk, const struct hak_unwind_rule *rule, uintptr_t *cfa) {
  uintptr_t at = (uintptr_t)(intptr_t)rule->at * sizeof at;
  switch (rule->cfa) {
    case HAK_CFA_SP: *cfa = walk->sp + at; return true;
    case HAK_CFA_FP: *cfa = walk->fp + at; return true;
    case HAK_CFA_OTHER: *cfa = walk->other + at; return true;
    case HAK_CFA_AT_FP: return read_word(walk, walk->fp + at, cfa);
    default: return false;
  }
}

/* The register from where its function saved it. */
HAK_INLINE bool take_back(struct walk *walk, uintptr_t from, int32_t words, bool lost, uintptr_t *value) {
  if (lost) *value = 0;
  return words == 0 || read_word(walk, from + (uintptr_t)(intptr_t)words * sizeof from, value);
}

/* To the caller: where calls push, what they pushed, else what the function saved of the register. */
HAK_INLINE bool pass_frame(struct walk *walk, const struct hak_unwind_rule *rule) {
  uintptr_t cfa, fp = walk->fp;
  if (!find_frame(walk, rule, &cfa)) return false;
  uintptr_t from = rule->cfa == HAK_CFA_AT_FP ? fp : cfa;
  bool returns = HAK_ARCH_CALL_PUSHES || rule->other != 0 || walk->leaf;
  if (!returns || cfa < walk->sp || (cfa == walk->sp && !walk->leaf)) return false;
  bool at_fp = rule->cfa == HAK_CFA_AT_FP; /* there a distance of 0 is one */
  if (at_fp && !read_word(walk, from + (uintptr_t)(intptr_t)rule->fp * sizeof fp, &walk->fp)) return false;
  if (!at_fp && !take_back(walk, from, rule->fp, rule->fp_lost, &walk->fp)) return false;
  if (!take_back(walk, from, rule->other, rule->other_lost, &walk->other)) return false;
  walk->pc = walk->other;
  if (HAK_ARCH_CALL_PUSHES && !read_word(walk, cfa - sizeof cfa, &walk->pc)) return false;
  walk->pc = hak_arch_unsigned(walk->pc);
  walk->sp = cfa;
  walk->exact = walk->leaf = false;
  return walk->pc != 0;
}

/* To the caller; false: there is none, or it cannot be found. Code of which nothing is known may have a frame
 * pointer. */
HAK_INLINE bool go_outwards(struct walk *walk) {
  struct hak_unwind_rule rule;
  rule_of(walk, &rule);
  if (HAK_LIKELY(rule.cfa < HAK_CFA_CHAIN)) return pass_frame(walk, &rule);
  if (rule.cfa == HAK_CFA_SIGNAL) return pass_signal(walk);
  return rule.cfa == HAK_CFA_CHAIN && follow_chain(walk);
}

static void begin_walk(struct walk *walk, bool bare) {
  walk->low = walk->sp;
  walk->end = end_of_stack(walk->sp, bare);
  walk->bare = bare;
  walk->generation = hak_unwind_generation(bare);
}

/* ---- walks ---- */

struct frames {
  uint64_t *frame;
  unsigned depth, most, own;
  uint64_t site;
  uintptr_t *sp; /* as asked for */
  uintptr_t at;  /* begin of the last frame */
};
enum { OWN_MOST = 24 };

/* The frame before in the upper bits of this one's address. */
static HAK_NOINLINE uint64_t size_bits(struct frames *to, uintptr_t sp) {
  uint64_t words = (sp - to->at) / sizeof sp;
  if (to->depth == 0) *to->sp = sp;
  bool known = to->depth != 0 && words >> HAK_FRAME_SIZE_BITS == 0;
  to->at = sp;
  return known ? words << HAK_FRAME_SIZE_SHIFT : 0;
}

/* False: enough of them. */
HAK_INLINE bool note_frame(struct frames *to, uint64_t pc, uintptr_t sp) {
  if (HAK_LIKELY(to->depth != 0) || pc == to->site) {
    if (HAK_UNLIKELY(to->sp != NULL)) pc = (pc & ~HAK_FRAME_SIZE_MASK) | size_bits(to, sp);
    to->frame[to->depth++] = pc;
    return to->depth < to->most;
  }
  return to->own++ < OWN_MOST;
}

HAK_INLINE bool is_outside(uintptr_t at, uintptr_t low, uintptr_t room) { return at - low > room; }

/* Frames whose rule is known and of the two usual kinds, on the part of the stack that is known to be readable: the
 * walk's registers stay in registers. Stops before any other frame. False: enough, or the outermost. */
static bool pass_usual_frames(struct walk *walk, struct frames *to) {
  enum { KIND = 7 | 3 << 3 };
  const struct cache *cache = hak_load_acquire(&g_unwind.cache);
  const uintptr_t low = walk->low, word = sizeof(uintptr_t), generation = walk->generation << 48;
  if (cache == NULL || walk->exact || walk->end - low < word) return true;
  const uintptr_t room = walk->end - low - word;
  uintptr_t pc = walk->pc, sp = walk->sp, fp = walk->fp, other = walk->other;
  bool more = true;
  while (more) {
    uint64_t key = (pc - 1) ^ generation, rule = cached_rule(&cache->row[home_of_key(cache, key)], key);
    unsigned kind = rule & KIND;
    intptr_t fp_at = unpack_signed(rule, FP_SHIFT, SAVED_BITS), other_at = unpack_signed(rule, OTHER_SHIFT, SAVED_BITS);
    uintptr_t cfa = kind == HAK_CFA_SP ? sp : fp;
    cfa += (uintptr_t)(intptr_t)unpack_signed(rule, AT_SHIFT, AT_BITS) * word;
    uintptr_t fp_in = cfa + (uintptr_t)fp_at * word, other_in = cfa + (uintptr_t)other_at * word;
    bool usual = kind == HAK_CFA_SP || kind == HAK_CFA_FP;
    if (!usual || cfa <= sp || cfa % word != 0 || (!HAK_ARCH_CALL_PUSHES && other_at == 0)) break;
    if (is_outside(cfa - word, low, room) || is_outside(fp_in, low, room) || is_outside(other_in, low, room)) break;
    if (fp_at != 0) fp = *(const uintptr_t *)fp_in;
    if (other_at != 0) other = *(const uintptr_t *)other_in;
    pc = hak_arch_unsigned(HAK_ARCH_CALL_PUSHES ? *(const uintptr_t *)(cfa - word) : other);
    sp = cfa;
    more = pc != 0 && note_frame(to, pc, sp);
  }
  walk->pc = pc, walk->sp = sp, walk->fp = fp, walk->other = other;
  return more;
}

unsigned hak_unwind(uint64_t *frames, unsigned most, uint64_t site, bool bare, uintptr_t *sp) {
  struct walk walk = {.exact = true};
  struct frames to = {.frame = frames, .most = most, .site = site, .sp = sp};
  HAK_ARCH_HERE(walk.pc, walk.sp, walk.fp, walk.other);
  begin_walk(&walk, bare);
  while (go_outwards(&walk) && note_frame(&to, walk.pc, walk.sp) && pass_usual_frames(&walk, &to)) {
  }
  return to.depth;
}

unsigned hak_unwind_chain(uint64_t *frames, unsigned most, const void *frame, bool bare) {
  struct walk walk = {.sp = (uintptr_t)frame, .fp = (uintptr_t)frame};
  unsigned depth = 0;
  begin_walk(&walk, bare);
  while (depth < most && follow_chain(&walk)) frames[depth++] = walk.pc;
  return depth;
}
