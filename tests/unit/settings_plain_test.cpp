/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* settings_plain_test.cpp: the static library that overrides nothing takes no settings from the environment.
 *
 * what      hak_settings_load of the build with HAK_READ_ENVIRONMENT=0.
 * failure   A setting that followed a variable, or a line about a variable, fails the test.
 * not here  All further tests of settings: settings_test.cpp.
 */
#include <gtest/gtest.h>

extern "C" {
#include "tables/settings.h"
}

TEST(KnobsPlain, TheEnvironmentIsIgnored) {
  char count[] = "HAKMEM_COUNT_CALLS=on";
  char wrong[] = "HAKMEM_FOO=1";
  char *env[] = {count, wrong, nullptr};
  testing::internal::CaptureStderr();
  hak_settings_load_as(env, "lab_cache_heap_percent=3", false);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(hak_setting(count_calls), 0u);
  EXPECT_EQ(hak_setting(cache_heap_percent), 3u);
}
