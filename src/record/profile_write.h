/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_write.h: the table as a profile.
 *
 * what      A file in the format of pprof (github.com/google/pprof, proto/profile.proto), not compressed:
 *
 *               sample_type  inuse_space, inuse_objects, inuse_requested, and the same of all allocations ever;
 *                            peak_space, peak_objects: what was live at the peak; temporary_space,
 *                            temporary_objects: of all, what its thread freed before its next request
 *               mapping      each executable mapping: addresses, file, build-id
 *               location     each address: the last byte of the call, so that its line is the line of the call
 *                            and each place of an interpreted program (profile_places.h), with its function and line
 *               sample       each stack with its locations and ten sums
 *               duration     from the first sample on
 *               comment      numbers of sampled and lost blocks; what the sampling can miss; bytes in use by the
 *                            counters; whether calls were sampled from the first block on; sizes and ages
 *                            (profile_ages.h); and in the order of samples
 *
 *                   #hakmem samples: 37 7696 2424832; 0 0 0; ...     per stack: live sampled blocks, their bytes,
 *                                                                    the variance of inuse_space / mean
 *                   #hakmem peak samples: 40 8320 2621440; ...       the same at the peak, of peak_space
 *
 * owner     g_writer (in profile_write.c).
 * locks     g_samples.lock for the whole time: threads that sample a block wait. Signal-safe.
 * failure   An errno; the old file at the path is unchanged.
 * not here  When a profile is written: entry/profiling.h.
 */
#ifndef HAK_RECORD_PROFILE_WRITE_H
#define HAK_RECORD_PROFILE_WRITE_H

#include <stdint.h>

struct hak_profile_facts {
  uint64_t mean; /* bytes between two samples, at present: no sample has a larger one */
  uint64_t pid;
  uint64_t in_use; /* bytes, by the counters; 0: unknown */
};

/* Writes the profile to `path`. 0, or an errno. */
int hak_profile_write(const char *path, const struct hak_profile_facts *facts);

/* Tests whether the profile could be written now. 0, or an errno. */
int hak_profile_try(const char *path);

#endif
