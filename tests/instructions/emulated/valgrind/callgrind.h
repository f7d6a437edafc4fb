/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* callgrind.h: callgrind's requests, for a probe that qemu-user runs: see emulated_paths.py.
 *
 * what      A request is a call of hak_mark, which shows in qemu's log of instructions; names of dumps go to stdout. The
 *           first line of stdout tells where hak_mark and the library that serves malloc lie.
 */
#pragma once

#include <dlfcn.h>
#include <stdio.h>

extern "C" __attribute__((noinline, used)) inline void hak_mark() { __asm__ volatile("" ::: "memory"); }

__attribute__((constructor)) static inline void hak_tell_places() {
  Dl_info info = {};
  dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info);
  printf("places %p %p %s\n", reinterpret_cast<void *>(&hak_mark), info.dli_fbase, info.dli_fname);
}

#define CALLGRIND_TOGGLE_COLLECT hak_mark()
#define CALLGRIND_DUMP_STATS_AT(name) printf("dump %s\n", name)
