/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meter.h: what this process uses: time, page faults, memory.
 *
 * what      Asked of the kernel, without a call of malloc. The peak is the kernel's own high-water mark, put back to
 *           what is resident now at the start; where that is not allowed a thread looks every millisecond.
 * owner     One thread; one measurement at a time.
 */
#ifndef HAK_TOOLS_METER_H
#define HAK_TOOLS_METER_H

#include <stdbool.h>
#include <stdint.h>

struct meter {
  uint64_t wall_ns, cpu_ns, minflt;
  uint64_t before_kib, peak_kib; /* resident at the start; the most, above that */
  bool sampled;
};

void meter_start(struct meter *meter);
void meter_stop(struct meter *meter);

uint64_t meter_now_ns(void);
uint64_t meter_thread_ns(void); /* processor time of this thread */

/* Memory that programs could have now; 0: not known. */
uint64_t meter_available_kib(void);

#endif
