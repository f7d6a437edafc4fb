/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crash.c: a library that kills every program that preloads the library. */
#include <signal.h>

__attribute__((constructor)) static void crash(void)
{
  raise(SIGSEGV);
}
