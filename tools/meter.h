/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meter.h: what this process uses: time, page faults, memory.
 *
 * what      Read from the kernel, without a call of malloc. The peak is the kernel's high-water mark, reset at the
 *           start to the resident size; where the reset is not allowed, a thread samples every millisecond.
 * owner     One thread; one measurement at a time.
 */
#ifndef HAK_TOOLS_METER_H
#define HAK_TOOLS_METER_H

#include <stdbool.h>
#include <stdint.h>

struct meter {
  uint64_t wall_ns, cpu_ns, minflt;
  uint64_t before_kib, peak_kib; /* resident at the start; the peak, above before_kib */
  bool sampled;
};

void meter_start(struct meter *meter);
void meter_stop(struct meter *meter);

uint64_t meter_now_ns(void);
uint64_t meter_thread_ns(void); /* processor time of this thread */

/* Memory available to programs; 0: unknown. */
uint64_t meter_available_kib(void);

#endif
