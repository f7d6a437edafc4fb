/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* left.h: what a command leaves running when it ends, a daemon say.
 *
 * what      The launcher is a subreaper: orphans of the command become its children, whatever session they are in.
 * owner     The launcher, after the command's end.
 * failure   A process that may not be signalled, or that the kernel does not end within 5 s, lives on.
 * not here  Waiting for the command: launcher.c.
 */
#ifndef HAKMEM_TOOLS_LEFT_H
#define HAKMEM_TOOLS_LEFT_H

#include <stdbool.h>

/* Reaps those that have ended; true if others run. */
bool left_run(void);

/* True if some run still after so long. A helper may take a moment to see that its program has ended. */
bool left_outlast(unsigned patience_ms);

/* Ends all: by SIGTERM, and by SIGKILL those that live for another second. */
void left_end(void);

#endif
