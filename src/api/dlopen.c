/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* dlopen.c: dlopen and dlmopen, as the program calls them.
 *
 * what      The real functions, told nothing of RTLD_DEEPBIND: a library opened with that flag would take malloc and
 *           free from libc, and give libc the blocks that the program handed it.
 *
 *               program -- dlopen(file, mode) --> mode without the flag -- jump --> libc's, which sees the program call
 *
 * locks     None here; the loader's in the real functions.
 * failure   As the real ones.
 * not here  Other namespaces than the program's own: libraries opened there have a libc and a malloc of their own.
 *           Programs linked with the archive: an archive cannot stand in front of libc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "api/exports.h"
#include "api/next.h"
#include "entry/thread.h"
#include "tables/settings.h"

/* Other libraries' constructors may come here before this library's own has read the settings. */
static int mode_allowed(int mode) {
  if (mode & RTLD_DEEPBIND) hak_process_start();
  return hak_setting(deepbind) != 0 ? mode : mode & ~RTLD_DEEPBIND;
}

/* Jumps: the real function looks into the RUNPATH of the library that its return address lies in. */
HAK_EXPORT void *dlopen(const char *file, int mode) { return hak_next()->dlopen(file, mode_allowed(mode)); }

HAK_EXPORT void *dlmopen(Lmid_t space, const char *file, int mode) {
  return hak_next()->dlmopen(space, file, space == LM_ID_BASE ? mode_allowed(mode) : mode);
}
