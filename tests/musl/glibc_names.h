/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* glibc_names.h: names of glibc's <malloc.h> which libhakmem.so has on musl as well; put in front of the programs of other
 * folders. */
#ifndef HAK_TESTS_MUSL_GLIBC_NAMES_H
#define HAK_TESTS_MUSL_GLIBC_NAMES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
int malloc_trim(size_t pad);
void malloc_stats(void);
#ifdef __cplusplus
}
#endif

#endif
