/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "secure/secure.h"
