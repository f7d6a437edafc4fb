/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* dlopen.c: dlopen and dlmopen in front of libc's.
 *
 * what      Calls libc's function with RTLD_DEEPBIND removed: a library opened with that flag would take malloc and
 *           free from libc and free the program's blocks there.
 *
 *              program -- dlopen(file, mode) --> mode without the flag -- jump --> libc's, which sees the program call
 *
 * locks     The loader's, inside libc's functions.
 * failure   As libc's functions.
 * not here  Link-map namespaces other than the program's: libraries opened there have a libc and a malloc of their own.
 *           Programs linked with the archive: an archive cannot stand in front of libc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "api/exports.h"
#include "api/next.h"
#include "base/atomic.h"
#include "entry/thread.h"
#include "os/loaded.h"
#include "tables/settings.h"

/* Constructors of other libraries may call before this library's constructor has read the settings. */
static int mode_allowed(int mode) {
  if (mode & RTLD_DEEPBIND) hak_process_start();
  return hak_setting(deepbind) != 0 ? mode : mode & ~RTLD_DEEPBIND;
}

static void count_open(void) { hak_add(&g_loaded_opens, 1); }

/* A jump: libc's function searches the RUNPATH of the library that the return address lies in. */
HAK_EXPORT void *dlopen(const char *file, int mode) {
  count_open();
  return hak_next()->dlopen(file, mode_allowed(mode));
}

HAK_EXPORT void *dlmopen(Lmid_t space, const char *file, int mode) {
  count_open();
  return hak_next()->dlmopen(space, file, space == LM_ID_BASE ? mode_allowed(mode) : mode);
}
