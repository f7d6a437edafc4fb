/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* settings_probe.c NAME...: prints the present value of each setting. Linked in three ways: with libhakmem.so, with
 * libhakmem.a (whose settings must not come from the environment), with libhakmem-override.a (for a set-uid copy).
 * Built with HAK_PROBE_OPTIONS the program defines hak_options. */
#include "hakmem/hakmem.h"
#include "workload.h"

#ifdef HAK_PROBE_OPTIONS
const char hak_options[] = HAK_PROBE_OPTIONS;
#endif

int main(int count, char **arguments) {
  hak_free(hak_malloc(100));
  for (int i = 1; i < count; i++) {
    char value[300] = "?";
    work_expect(hak_get(arguments[i], value, sizeof value) == 0, "hak_get");
    printf("%s=%s\n", arguments[i], value);
  }
  return 0;
}
