/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* exports.h: marks the names that the library exports.
 *
 * what      Everything is compiled with hidden visibility; an exported name carries HAK_EXPORT.
 * hot path  An alias is a second name of the same instructions.
 * not here  The names: malloc.c, new.cpp, hakmem.c.
 */
#ifndef HAK_API_EXPORTS_H
#define HAK_API_EXPORTS_H

#define HAK_EXPORT __attribute__((visibility("default")))

/* A second name for `target`, a function of the same file. gcc wants target's attributes repeated, clang cannot. */
#if __has_attribute(copy)
#define HAK_EXPORT_AS(target) __attribute__((visibility("default"), alias(#target), copy(target)))
#else
#define HAK_EXPORT_AS(target) __attribute__((visibility("default"), alias(#target)))
#endif

#endif
