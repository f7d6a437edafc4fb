/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tree.c: see tree.h.
 *
 * what      A list that grows while its parents are looked up.
 */
#define _GNU_SOURCE
#include "tree.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool tree_read(const char *path, char text[tree_text_bytes])
{
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t length = read(file, text, tree_text_bytes - 1);
  close(file);
  text[length < 0 ? 0 : length] = '\0';
  return length >= 0;
}

static void add_children(struct tree *tree, int pid, const char *thread)
{
  char path[64];
  char text[tree_text_bytes];
  snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", pid, thread);
  if (!tree_read(path, text))
    return;
  char *end;
  for (char *at = text; tree->count < tree_most; at = end) {
    int child = (int)strtol(at, &end, 10);
    if (end == at)
      return;
    tree->pid[tree->count++] = child;
  }
}

static void add_children_of_threads(struct tree *tree, int pid)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *threads = opendir(path);
  if (threads == NULL)
    return;
  for (const struct dirent *entry; (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.')
      add_children(tree, pid, entry->d_name);
  closedir(threads);
}

void tree_find(struct tree *tree)
{
  tree->count = 0;
  add_children_of_threads(tree, (int)getpid());
  for (int i = 0; i < tree->count; i++)
    add_children_of_threads(tree, tree->pid[i]);
}
