/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* given_test.cpp: what the kernel gives a process at its start and a signal handler at its call.
 *
 * what      os/given.c, os/clock.c's reader of the vdso, arch/aarch64.h's reader of a signal's records.
 * failure   A wrong answer fails the test.
 * not here  Kernel calls: os_test.cpp.
 */
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <cstring>
#include <ctime>
#include <utility>

extern "C" {
#include "arch/arch.h"
#include "os/clock.h"
#include "os/given.h"
}

namespace {

#if defined(__x86_64__)
constexpr bool kX86 = true;
#else
constexpr bool kX86 = false;
#endif

/* libc's own table of the vdso is the measure; an emulator may have none. */
TEST(Given, TheClockIsAskedWithoutAKernelCall) {
  const void *vdso = reinterpret_cast<const void *>(getauxval(AT_SYSINFO_EHDR));
  if (vdso == nullptr) GTEST_SKIP() << "no vdso";
  for (const clockid_t which : {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_MONOTONIC_COARSE}) {
    timespec before = {}, after = {};
    clock_gettime(which, &before);
    const timespec between = hak_clock(which, CLOCK_REALTIME);
    clock_gettime(which, &after);
    EXPECT_GE(std::make_pair(between.tv_sec, between.tv_nsec), std::make_pair(before.tv_sec, before.tv_nsec));
    EXPECT_LE(std::make_pair(between.tv_sec, between.tv_nsec), std::make_pair(after.tv_sec, after.tv_nsec));
  }
  EXPECT_TRUE(reinterpret_cast<void *>(g_clock.function) == hak_clock_find(vdso, "__vdso_clock_gettime") || !kX86);
}

TEST(Given, WhatTheKernelGaveIsWhatLibcSays) {
  for (const unsigned long type : {AT_PAGESZ, AT_RANDOM, AT_SYSINFO_EHDR, AT_SECURE, AT_PHDR, AT_CLKTCK}) {
    EXPECT_EQ(hak_given(type), getauxval(type)) << type;
  }
  EXPECT_EQ(hak_given(4000), 0u);
}

/* A program may remove names from its environment in place, and may define a symbol of the stack's name. */
TEST(Given, WhatTheKernelGaveIsFoundBehindAnyEnvironment) {
  alignas(16) const unsigned long full[] = {1, 0x7ff000, 0, 0x7ff010, 0x7ff020, 0, AT_PAGESZ, 4096, AT_NULL, 0};
  alignas(16) const unsigned long less[] = {1, 0x7ff000, 0, 0, 0x7ff020, 0, AT_PAGESZ, 4096, AT_NULL, 0};
  EXPECT_EQ(hak_given_at(full, AT_PAGESZ), 4096u);
  EXPECT_EQ(hak_given_at(less, AT_PAGESZ), 4096u);
  EXPECT_EQ(hak_given_at(full, AT_SECURE), 0u);
  EXPECT_EQ(hak_given_at(nullptr, AT_PAGESZ), 0u);
  EXPECT_EQ(hak_given_at(reinterpret_cast<const char *>(full) + 1, AT_PAGESZ), 0u);
  EXPECT_EQ(hak_given_at(reinterpret_cast<const void *>(0x0807060504030200), AT_PAGESZ), 0u);
}

TEST(Given, TheVdsoIsReadByName) {
  const void *vdso = reinterpret_cast<const void *>(getauxval(AT_SYSINFO_EHDR));
  static const char kNone[64] = "no ELF";
  EXPECT_EQ(hak_clock_find(nullptr, "clock_gettime"), nullptr);
  EXPECT_EQ(hak_clock_find(kNone, "clock_gettime"), nullptr);
  EXPECT_EQ(hak_clock_find(vdso, "no such function"), nullptr);
}

#if defined(__aarch64__)
/* The records behind the registers of a signal's frame, as the kernel writes them. */
hak_arch_access access_of(uint64_t syndrome) {
  constexpr uint32_t kFloats = 0x46508001, kSyndrome = 0x45535201, kFloatsBytes = 528, kSyndromeBytes = 16;
  uint32_t records[256] = {kFloats, kFloatsBytes};
  records[kFloatsBytes / 4] = kSyndrome;
  records[kFloatsBytes / 4 + 1] = kSyndromeBytes;
  std::memcpy(&records[kFloatsBytes / 4 + 2], &syndrome, sizeof syndrome);
  return hak_arch_access_of(records, sizeof records);
}

TEST(Given, TheSyndromeSaysWhetherAnAccessWrote) {
  EXPECT_EQ(access_of(uint64_t{0x24} << 26 | 0x47), HAK_ARCH_WRITES);
  EXPECT_EQ(access_of(uint64_t{0x24} << 26 | 0x07), HAK_ARCH_READS);
  EXPECT_EQ(access_of(uint64_t{0x20} << 26 | 0x47), HAK_ARCH_UNKNOWN) << "of an instruction that was fetched";
  uint32_t none[64] = {};
  EXPECT_EQ(hak_arch_access_of(none, sizeof none), HAK_ARCH_UNKNOWN);
}
#endif

}  // namespace
