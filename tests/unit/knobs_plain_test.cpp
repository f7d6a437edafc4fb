/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* knobs_plain_test.cpp: the static library that overrides nothing takes no settings from the environment.
 *
 * what      hak_knobs_load of the build with HAK_READ_ENVIRONMENT=0.
 * owner     Nothing.
 * locks     none. orders: none. hot path: none.
 * failure   A setting that followed a variable, or a line about one, fails the test.
 * not here  Everything else about settings: knobs_test.cpp.
 */
#include <gtest/gtest.h>

extern "C" {
#include "core/knobs.h"
}

TEST(KnobsPlain, TheEnvironmentIsIgnored) {
  char count[] = "HAKMEM_COUNT=on";
  char wrong[] = "HAKMEM_FOO=1";
  char *env[] = {count, wrong, nullptr};
  testing::internal::CaptureStderr();
  hak_knobs_load_as(env, "cache_heap_percent=3", false);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(hak_knob(count), 0u);
  EXPECT_EQ(hak_knob(cache_heap_percent), 3u);
}
