/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* resident.h: waits for a process, and looks at its resident memory from outside meanwhile.
 *
 * what      Nothing in the process takes part. Looks come each eighth of the time since the start, 1 to 50 ms apart, and
 *           take at most 1 % of it. Up to 64 MiB the kernel walks the process's pages; more is told by its counters.
 */
#ifndef HAKMEM_TOOLS_RESIDENT_H
#define HAKMEM_TOOLS_RESIDENT_H

#include <stdint.h>
#include <sys/types.h>

struct resident {
  uint64_t bytes; /* 0: never seen */
  uint64_t at_ns; /* of the last look that found any */
};

/* Returns when process `pid`, a child, has ended and can be waited for; at once before Linux 5.3. */
void resident_until_end(pid_t pid, struct resident *last);

#endif
