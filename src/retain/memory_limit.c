/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memory_limit.c: limits of memory, set by the user or by the control group.
 *
 * what      See memory_limit.h.
 * owner     g_memory_limit.
 * not here  Release: reclaim/release_all.h.
 */
#include "retain/memory_limit.h"

#include "base/fmt.h"
#include "os/alone.h"
#include "os/complain.h"
#include "os/fork.h"
#include "os/limits.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "tables/settings.h"

enum {
  FIRST_LOOK = 8 << 20,   /* [bytes] footprint at which the group's limit is looked up */
  FIRST_ASK = 32 << 20,
  LEAST_STEP = 1 << 20,
  STEPS = 64,             /* questions near a limit, while the footprint grows by the limit */
  NEAR_SHIFT = 4,         /* near: less than 1/16 is left */
  LOOK_MS = 1000,
  PRESSED = 1000,         /* [1/100 percent] 10 percent of the time a task waits for memory */
  DEARER = 3,             /* log2 of a factor on the price */
  CACHE_SHIFT = 2,
  CACHE_PER_CPU = 16 << 20
};

/* The look-up of the group's limit. 0: not yet; 1 + the generation of forks: begun in that generation; LOOKED: done. */
static uint64_t g_looked;
#define LOOKED UINT64_MAX

struct hak_memory_limit g_memory_limit = {.ask_at = UINT64_MAX, .ask_after = UINT64_MAX, .cache_bytes = UINT64_MAX};

/* A limit of the user or of the control group, and the bytes in use. */
struct limit {
  uint64_t bytes, used;
};

/* "hakmem: soft_limit of 1048576 bytes is below the 2097152 in use", once per limit of the user. No line for a group:
 * a use above memory.high is normal. */
static void complain_once(bool *said, const char *name, struct limit limit) {
  struct hak_line line;
  if (limit.used <= limit.bytes || __atomic_exchange_n(said, true, __ATOMIC_RELAXED)) return;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_text(&line, name);
  hak_line_text(&line, " of ");
  hak_line_dec(&line, limit.bytes);
  hak_line_text(&line, " bytes is below the ");
  hak_line_dec(&line, limit.used);
  hak_line_text(&line, " in use\n");
  hak_os_complain(&line);
}

static struct limit user_limit(uint64_t bytes, uint64_t footprint) {
  return (struct limit){bytes == 0 ? HAK_LIMITS_NONE : bytes, footprint};
}

static uint64_t room_in(struct limit limit) { return limit.bytes - hak_min(limit.used, limit.bytes); }

static struct limit smaller_room(struct limit a, struct limit b) { return room_in(a) < room_in(b) ? a : b; }

/* Sets the growth of the footprint, and the bytes taken where little room is left, until the next question. */
static void set_steps(uint64_t footprint, struct limit limit) {
  bool none = limit.bytes == HAK_LIMITS_NONE;
  uint64_t least = none ? FIRST_ASK : hak_max(limit.bytes / STEPS, LEAST_STEP), room = room_in(limit);
  uint64_t ask_at = footprint + (none ? FIRST_ASK : hak_max(room / 4, least));
  if (none && !hak_load(&g_memory_limit.watched)) ask_at = UINT64_MAX;
  hak_store(&g_memory_limit.ask_at, hak_load(&g_looked) == LOOKED ? ask_at : hak_min(ask_at, FIRST_LOOK));
  hak_store(&g_memory_limit.limited, !none && room < limit.used);
  hak_store(&g_memory_limit.taken_bytes, 0);
  hak_store(&g_memory_limit.ask_after, none ? UINT64_MAX : hak_max(room / 2, least));
}

static bool is_near(struct limit limit) {
  return limit.bytes != HAK_LIMITS_NONE && limit.used > limit.bytes - (limit.bytes >> NEAR_SHIFT);
}

static void set_prices(bool dear, uint32_t cpus) {
  uint64_t bytes = (uint64_t)cpus * CACHE_PER_CPU;
  hak_store(&g_rent.pressure, dear ? DEARER : 0);
  hak_store(&g_memory_limit.cache_bytes, dear ? bytes >> CACHE_SHIFT : bytes);
}

/* True if the hard limit was changed since the last question. Later no more than the limit is in use, except for a
 * moment: memory that a late thread takes and releases at once. */
static bool is_new(uint64_t hard) {
  static HAK_RARE uint64_t asked;
  bool changed = hak_load(&asked) != hard;
  hak_store(&asked, hard);
  return changed;
}

static bool has_user_limit(void) { return hak_setting(soft_limit) != 0 || hak_setting(hard_limit) != 0; }

static bool look_at_limits(uint64_t footprint) {
  static HAK_RARE bool said_soft, said_hard;
  struct hak_limits found = {.memory_bytes = HAK_LIMITS_NONE, .cpus = hak_os_processors()};
  bool watched = hak_load_acquire(&g_memory_limit.watched);
  if (watched && !hak_limits_read(&found)) return false; /* a different thread asks, and sets all below */
  struct limit soft = user_limit(hak_setting(soft_limit), footprint);
  struct limit hard = user_limit(hak_setting(hard_limit), footprint);
  struct limit group = {found.memory_bytes, found.used_bytes};
  complain_once(&said_soft, "soft_limit", soft);
  if (is_new(hard.bytes)) complain_once(&said_hard, "hard_limit", hard);
  struct limit tightest = smaller_room(smaller_room(soft, hard), group);
  bool near = is_near(soft) || is_near(hard) || is_near(group);
  bool dear = (near || found.pressure > PRESSED) && !hak_holds_all();
  set_prices(dear, found.cpus);
  hak_store(&g_memory_limit.asked_ms, hak_os_now_ms());
  set_steps(footprint, tightest);
  return dear;
}

bool hak_memory_limit_ask(uint64_t footprint) {
  bool looked = footprint >= FIRST_LOOK && hak_memory_limit_look();
  return (!looked || hak_memory_limit_is_due(footprint)) && look_at_limits(footprint);
}

bool hak_memory_limit_ask_seldom(void) {
  uint64_t footprint = hak_footprint();
  bool asks = has_user_limit() || (hak_load(&g_memory_limit.watched) && footprint >= FIRST_ASK);
  if (!asks || hak_os_now_ms() - hak_load(&g_memory_limit.asked_ms) < LOOK_MS) return false;
  return hak_memory_limit_ask(footprint);
}

uint64_t hak_memory_limit_remind(void) {
  bool asks = hak_load(&g_memory_limit.watched) && hak_footprint() >= FIRST_ASK;
  if (!asks || hak_load(&g_memory_limit.ask_after) == 0) return UINT64_MAX;
  uint64_t since = hak_os_now_ms() - hak_load(&g_memory_limit.asked_ms);
  if (since < LOOK_MS) return LOOK_MS - since;
  hak_store(&g_memory_limit.ask_after, 0);
  return UINT64_MAX;
}

static uint64_t first_ask(void) {
  if (hak_load(&g_looked) != LOOKED) return FIRST_LOOK;
  return hak_load(&g_memory_limit.watched) ? FIRST_ASK : UINT64_MAX;
}

bool hak_memory_limit_reset(void) {
  bool limited = has_user_limit();
  hak_store(&g_memory_limit.ask_at, limited ? 0 : first_ask());
  if (!limited && !hak_load(&g_memory_limit.watched)) set_prices(false, hak_os_processors());
  return limited;
}

/* The user named the folder: errors in the folder are reported at start. */
static void read_for_complaints(void) {
  struct hak_limits found;
  hak_limits_read(&found);
}

/* True: the calling thread looks. A look-up that a fork cut begins anew; a child of vfork never looks. */
static bool may_look(void) {
  uint64_t seen = hak_load(&g_looked), mine = 1 + hak_load(&g_fork.generation);
  if (seen == LOOKED || seen == mine || !hak_is_own_process()) return false;
  return hak_cas_acquire(&g_looked, &seen, mine);
}

bool hak_memory_limit_look(void) {
  if (!may_look()) return false;
  hak_os_look_at_huge(hak_setting(huge_pages) == HAK_HUGE_OFF);
  bool watched = hak_limits_start(hak_setting_path(cgroup_dir));
  hak_store_release(&g_memory_limit.watched, watched);
  if (g_settings.cgroup_dir != NULL && watched) read_for_complaints();
  hak_store_release(&g_looked, LOOKED);
  hak_memory_limit_reset();
  return true;
}

void hak_memory_limit_start(void) {
  set_prices(false, hak_os_processors());
  hak_memory_limit_reset();
}
