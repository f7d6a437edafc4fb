/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tree.h: the descendants of this process.
 *
 * what      Found by /proc/PID/task/TID/children; adopted orphans are among them, as the launcher is a subreaper.
 * owner     The launcher.
 * failure   A process that vanishes meanwhile is left out, and whatever is beyond tree_most.
 * not here  Their memory: samples.h. Their end: left.h.
 */
#ifndef HAKMEM_TOOLS_TREE_H
#define HAKMEM_TOOLS_TREE_H

#include <stdbool.h>

enum { tree_most = 1024, tree_text_bytes = 16384 };

struct tree {
  int pid[tree_most];
  int count;
};

/* Each has a single parent and so is there once. */
void tree_find(struct tree *tree);

/* Reads a file of /proc and ends the text by a zero byte; false when the file is gone. */
bool tree_read(const char *path, char text[tree_text_bytes]);

#endif
