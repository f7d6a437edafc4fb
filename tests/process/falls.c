/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* falls.c MIB [fork]: a list of MIB of small nodes is built and freed, twice; prints the MiB resident above the start after
 * the first fall. fork: a child does so, and the parent waits. */
#include <sys/wait.h>

#include "observe.h"

enum { NODE = 96 };

struct node {
  struct node *next;
  char text[NODE - sizeof(void *)];
};

static void build_and_free(size_t bytes) {
  struct node *list = NULL;
  for (size_t n = 0; n < bytes / NODE; n++) {
    struct node *node = malloc(sizeof *node);
    memset(node, 1, sizeof *node);
    node->next = list;
    list = node;
  }
  while (list != NULL) {
    struct node *next = list->next;
    free(list);
    list = next;
  }
}

static void fall_twice(size_t bytes) {
  const long before = (long)(anonymous_bytes() / MIB);
  build_and_free(bytes);
  printf("%ld\n", (long)(anonymous_bytes() / MIB) - before);
  build_and_free(bytes);
}

int main(int count, char **words) {
  const size_t bytes = (size_t)atol(words[1]) * MIB;
  const pid_t child = count > 2 ? fork() : -1;
  if (child > 0) return waitpid(child, NULL, 0) != child;
  fall_twice(bytes);
  return 0;
}
