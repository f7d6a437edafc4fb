/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* config.h: the constants that shape every build.
 *
 * what      Sizes that are part of the design, and 0/1 switches of the build variants. Switches are used in
 *           plain `if`, so that every variant is compiled by every build.
 * owner     Constants only.
 * hot path  HAK_UNIT_SHIFT, HAK_SMALL_MAX, HAK_SLAB_MAX and HAK_RUN_MAX are immediates there.
 * not here  Settings a user turns: tables/settings.def.
 */
#ifndef HAK_BASE_CONFIG_H
#define HAK_BASE_CONFIG_H

/* Does this build read HAKMEM_ variables? The static, non-overriding library does not. */
#ifndef HAK_READ_ENVIRONMENT
#define HAK_READ_ENVIRONMENT 1
#endif

/* Are the costly predicates checked (validity of structures, ranks of locks)? */
#ifndef HAK_DEBUG_CHECKS
#define HAK_DEBUG_CHECKS 0
#endif

/* May a process that never made a thread take locks without atomic instructions? (Not under ThreadSanitizer.) */
#ifndef HAK_ELIDE_LOCKS
#define HAK_ELIDE_LOCKS 1
#endif

/* Is this ThreadSanitizer's build? */
#ifndef HAK_TSAN
#define HAK_TSAN 0
#endif

#define HAK_UNIT_SHIFT 16 /* the class map has one byte per unit of 64 KiB */
#define HAK_UNIT_BYTES ((size_t)1 << HAK_UNIT_SHIFT)

#define HAK_SMALL_MAX 1024  /* classes up to here are looked up in steps of 16 bytes */
#define HAK_SLAB_MAX 32768  /* and up to here in steps of 128; larger requests are no slab's business */

#define HAK_RUN_MAX 262144 /* runs up to here have classes, and so magazines */
#define HAK_LARGE_MAX ((size_t)32 << 20) /* runs up to here, whatever the big threshold: see tables/settings.def */

/* No request is as long: an x86-64 kernel gives a process no more addresses than these, unless it names them. */
#define HAK_REQUEST_END ((size_t)1 << 47)

#define HAK_CLASSES_USED 73 /* "no class", and the rows of tables/classes.def from 16 B to 32 KiB */

/* Blocks smaller than a line of cache share lines. Threads come in four colours, and each colour has the smallest
 * classes of its own, so that a block freed by a thread of another colour is not handed out there, next to its
 * neighbours. */
#define HAK_COLORS 4
#define HAK_COLORED 3
#define HAK_CLASSES_NUMBERED (HAK_CLASSES_USED + (HAK_COLORS - 1) * HAK_COLORED)

/* Numbers of classes that are added while the process runs (tables/classes.h). */
#define HAK_EXTRA_CLASS HAK_CLASSES_NUMBERED
#define HAK_EXTRA_CLASSES 4

/* The classes of runs of 1, 2, 3 and 4 units follow upon those of slabs. */
#define HAK_RUN_CLASS (HAK_EXTRA_CLASS + HAK_EXTRA_CLASSES)
#define HAK_RUN_CLASSES 4

#define HAK_CLASSES (HAK_RUN_CLASS + HAK_RUN_CLASSES)

#endif
