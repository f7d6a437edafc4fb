/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_write.h: the table as a profile.
 *
 * what      A file in the format of pprof (github.com/google/pprof, proto/profile.proto), not compressed:
 *
 *               sample_type  inuse_space, inuse_objects, inuse_requested, and the same of all that was ever allocated
 *               mapping      each executable mapping: addresses, file, build-id
 *               location     each address: the last byte of the call, so that its line is the call's
 *               sample       each stack with its locations and six sums
 *               comment      how many blocks were sampled, and how many were lost; what that says and what not; how
 *                            much is in use by the counters; sizes and ages (profile_ages.h); and in order of samples
 *
 *                   #hakmem samples: 37 7696 2424832; 0 0 0; ...     live blocks that were sampled, their bytes, and
 *                                                                    by the mean the variance of inuse_space
 *
 * owner     g_writer (in profile_write.c).
 * locks     The table's, for as long as it takes: who is sampled meanwhile waits. Signal-safe.
 * failure   An errno: what was at the path is as it was.
 * not here  When: entry/profiling.h.
 */
#ifndef HAK_RECORD_PROFILE_WRITE_H
#define HAK_RECORD_PROFILE_WRITE_H

#include <stdint.h>

struct hak_profile_facts {
  uint64_t mean; /* bytes between two samples, as they are drawn now */
  uint64_t pid;
  uint64_t in_use; /* bytes, by the counters; 0: not known */
};

/* 0, or an errno. */
int hak_profile_write(const char *path, const struct hak_profile_facts *facts);

/* Could it be written there now? 0, or an errno. */
int hak_profile_try(const char *path);

#endif
