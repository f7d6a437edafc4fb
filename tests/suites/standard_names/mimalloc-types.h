/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mimalloc-types.h: mimalloc's tests ask for it; what they need of it stands in mimalloc.h. */
#include "mimalloc.h"
