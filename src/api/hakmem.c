/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hakmem.c: the names of hakmem.h.
 *
 * what      The malloc family under HAKMEM's names, and HAKMEM's own functions: statistics, settings, ownership.
 * hot path  hak_malloc, hak_free, hak_calloc, hak_realloc: the inline functions of entry/front.h and nothing else.
 * failure   As hakmem.h says for each name.
 * not here  malloc and free: malloc.c. A program that links without overriding malloc gets this file alone.
 */
#include "entry/heap.h"
#include "hakmem/experimental.h"
#include "hakmem/hakmem.h"

#include <errno.h>
#include <string.h>

#include "api/exports.h"
#include "api/rules.h"
#include "base/str.h"
#include "cache/account.h"
#include "entry/front.h"
#include "entry/oom.h"
#include "entry/profiling.h"
#include "entry/thread.h"
#include "learn/learn.h"
#include "os/self.h"
#include "tables/counters.h"
#include "tables/settings.h"

#define HAK_LIMIT_MAX ((size_t)1 << 47) /* limits as in tables/settings.def */
#define HAK_PROFILE_BYTES_MAX ((size_t)1 << 40)

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

HAK_EXPORT const char *hak_version(void) {
  return VERSION_TEXT(HAK_VERSION_MAJOR, HAK_VERSION_MINOR, HAK_VERSION_PATCH);
}

/* ---- blocks ---- */

HAK_EXPORT void *hak_malloc(size_t n) { return hak_front_malloc(n); }
HAK_EXPORT void hak_free(void *p) { hak_front_free(p); }
HAK_EXPORT void *hak_calloc(size_t count, size_t size) { return hak_front_calloc(count, size); }
HAK_EXPORT void *hak_realloc(void *p, size_t n) { return hak_front_realloc(p, n); }

HAK_EXPORT void *hak_reallocarray(void *p, size_t count, size_t size) { return hak_rules_reallocarray(p, count, size); }
HAK_EXPORT void *hak_aligned_alloc(size_t align, size_t n) { return hak_rules_aligned_alloc(align, n); }
HAK_EXPORT void *hak_memalign(size_t align, size_t n) { return hak_rules_memalign(align, n); }

HAK_EXPORT int hak_posix_memalign(void **out, size_t align, size_t n) {
  return hak_rules_posix_memalign(out, align, n);
}

HAK_EXPORT void hak_free_sized(void *p, size_t n) {
  hak_front_expect(p, n, 0);
  hak_front_free(p);
}

HAK_EXPORT void hak_free_aligned_sized(void *p, size_t align, size_t n) {
  hak_front_expect(p, n, align);
  hak_front_free(p);
}

HAK_EXPORT size_t hak_usable_size(const void *p) { return hak_front_usable(p); }

HAK_EXPORT void *hak_alloc_at(size_t n, const void *site) { return hak_front_alloc_at(n, site); }

/* ---- the heap as a whole ---- */

HAK_EXPORT bool hak_owns(const void *p) { return hak_heap_owns(p); }
HAK_EXPORT size_t hak_bytes_in_use(void) { return hak_heap_in_use(); }
HAK_EXPORT bool hak_trim(size_t pad) { return hak_heap_trim(pad); }

/* The caller's struct may be older and shorter than struct hak_stats: copies the first `size` bytes and stores their
 * number. */
HAK_EXPORT int hak_get_stats(struct hak_stats *s) {
  if (s == NULL || s->version == 0 || s->version > HAK_STATS_VERSION) return EINVAL;
  if (s->size < offsetof(struct hak_stats, in_use)) return EINVAL;
  if (hak_self.in_allocator) return EBUSY;
  struct hak_stats full = {0};
  hak_heap_stats(&full);
  full.version = s->version;
  full.size = (uint32_t)hak_min(s->size, sizeof full);
  memcpy(s, &full, full.size);
  return 0;
}

HAK_EXPORT int hak_page_utilization(const void *p, struct hak_utilization *u) {
  if (u == NULL || u->version == 0 || u->version > HAK_UTILIZATION_VERSION) return EINVAL;
  if (u->size < offsetof(struct hak_utilization, block_bytes)) return EINVAL;
  struct hak_utilization full;
  int error = hak_heap_utilization(p, &full);
  if (error != 0) return error;
  full.version = u->version;
  full.size = (uint32_t)hak_min(u->size, sizeof full);
  memcpy(u, &full, full.size);
  return 0;
}

HAK_EXPORT bool hak_counter(unsigned n, const char **name, uint64_t *value) {
  if (n >= HAK_COUNTERS) return false;
  if (name != NULL) *name = hak_counter_name((enum hak_counter_id)n);
  if (value != NULL) *value = hak_counter_value((enum hak_counter_id)n);
  return true;
}

/* ---- learnt policy ---- */

/* A constructor may call before the settings are read. */
HAK_EXPORT int hak_policy_save(const char *path) {
  hak_process_start();
  return hak_learn_save_policy(path);
}

HAK_EXPORT int hak_policy_load(const char *path) {
  hak_process_start();
  return hak_learn_load_policy(path);
}

/* ---- before memory is refused ---- */

HAK_EXPORT void hak_set_oom_handler(hak_oom_handler handler, void *argument) { hak_oom_set(handler, argument); }

/* ---- profile ---- */

HAK_EXPORT int hak_profile_start(size_t bytes) {
  if (bytes > HAK_PROFILE_BYTES_MAX) return EINVAL;
  hak_process_start();
  if (bytes != 0) hak_setting_put(profile_bytes, bytes);
  hak_setting_put(profile, 1);
  hak_account_own_samples();
  hak_heap_settings_changed();
  return 0;
}

HAK_EXPORT void hak_profile_stop(void) {
  hak_process_start();
  hak_setting_put(profile, 0);
  hak_account_own_samples();
  hak_heap_settings_changed();
}

HAK_EXPORT int hak_profile_dump(const char *path) {
  hak_process_start();
  return hak_profiling_dump(path);
}

/* ---- settings ---- */

HAK_EXPORT int hak_set(const char *name, const char *value) {
  if (name == NULL) return ENOENT;
  if (value == NULL) return EINVAL;
  uint64_t mode = hak_setting(mode);
  int error = hak_settings_set(name, value, false);
  if (error == 0 && hak_strcmp(name, "profile") == 0) hak_account_own_samples();
  if (error == 0) error = hak_heap_settings_changed();
  if (error == ENOTSUP) hak_setting_put(mode, mode); /* refused: the mode stays, off as well as baseline */
  return error;
}

HAK_EXPORT int hak_set_limit(size_t soft, size_t hard) {
  bool fits = soft <= HAK_LIMIT_MAX && hard <= HAK_LIMIT_MAX;
  if (!fits || (hard != 0 && hard < soft)) return EINVAL;
  hak_setting_put(soft_limit, soft);
  hak_setting_put(hard_limit, hard);
  hak_heap_settings_changed();
  return 0;
}

HAK_EXPORT int hak_get(const char *name, char *out, size_t size) {
  if (name == NULL) return ENOENT;
  if (out == NULL) return ERANGE;
  return hak_settings_get(name, out, size);
}
