/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* config.h: the constants that shape every build.
 *
 * what      Sizes that are part of the design, and 0/1 switches of the build variants. Switches are tested by a plain
 *           `if`, so that every build compiles every variant.
 * owner     Constants only.
 * hot path  HAK_UNIT_SHIFT, HAK_SMALL_MAX, HAK_SLAB_MAX and HAK_RUN_MAX are immediates there.
 * not here  The user's settings: tables/settings.def.
 */
#ifndef HAK_BASE_CONFIG_H
#define HAK_BASE_CONFIG_H

/* 1: this build reads HAKMEM_ variables. 0 in the static, non-overriding library. */
#ifndef HAK_READ_ENVIRONMENT
#define HAK_READ_ENVIRONMENT 1
#endif

/* 1: costly predicates are checked (validity of structures, ranks of locks). */
#ifndef HAK_DEBUG_CHECKS
#define HAK_DEBUG_CHECKS 0
#endif

/* 1: a process that never made a thread takes locks without atomic instructions. 0 under ThreadSanitizer. */
#ifndef HAK_ELIDE_LOCKS
#define HAK_ELIDE_LOCKS 1
#endif

/* 1: a thread's variables lie at one distance from the thread pointer in every thread, as with the TLS model
 * initial-exec. 0: the loader may give them to each thread elsewhere, as in a library that is opened late. */
#ifndef HAK_STATIC_TLS
#define HAK_STATIC_TLS 0
#endif

/* 1: the secure flavour, libhakmem-secure.so (docs/security.md). */
#ifndef HAK_SECURE
#define HAK_SECURE 0
#endif

/* 1: ThreadSanitizer's build. */
#ifndef HAK_TSAN
#define HAK_TSAN 0
#endif

#define HAK_UNIT_SHIFT 16 /* the class map has a byte per unit of 64 KiB */
#define HAK_UNIT_BYTES ((size_t)1 << HAK_UNIT_SHIFT)

#define HAK_SMALL_MAX 1024  /* [bytes] classes up to here are looked up in steps of 16 bytes */
#define HAK_SLAB_MAX 32768  /* [bytes] classes up to here in steps of 128; larger requests get no slab */

#define HAK_RUN_MAX 262144   /* [bytes] blocks of pages up to here have classes, and so magazines */
#define HAK_PAGED_MAX 524288 /* [bytes] blocks up to here are cut in pages, longer blocks in units */
#define HAK_LARGE_MAX ((size_t)32 << 20) /* [bytes] runs up to here for any big threshold: tables/settings.def */

/* [bytes] Every request is shorter: an x86-64 kernel gives a process no addresses from here on, unless the process
 * names such an address. */
#define HAK_REQUEST_END ((size_t)1 << 47)

#define HAK_CLASSES_USED 73 /* "no class", and the rows of tables/classes.def from 16 B to 32 KiB */

/* Blocks smaller than a cache line share lines. Threads come in four colours, and each colour has its own smallest
 * classes: a block freed by a thread of a different colour is not handed out to that colour, next to the block's
 * neighbours. */
#define HAK_COLORS 4
#define HAK_COLORED 3
#define HAK_CLASSES_NUMBERED (HAK_CLASSES_USED + (HAK_COLORS - 1) * HAK_COLORED)

/* Numbers of classes that are added at run time (tables/classes.h). */
#define HAK_EXTRA_CLASS HAK_CLASSES_NUMBERED
#define HAK_EXTRA_CLASSES 4

/* The classes of blocks of 9 to 64 pages, eight per doubling, follow the classes of slabs. */
#define HAK_RUN_CLASS (HAK_EXTRA_CLASS + HAK_EXTRA_CLASSES)
#define HAK_RUN_CLASSES 24

#define HAK_CLASSES (HAK_RUN_CLASS + HAK_RUN_CLASSES)
#define HAK_CLASS_WORDS ((HAK_CLASSES + 63) / 64) /* of a bit per class */

#endif
