/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_in_c.c: a C program that replaces operator new and delete, before and after a C++ runtime is loaded.
 *
 *     LD_PRELOAD=libhakmem.so new_in_c plugin.so
 *
 * what      Every form made of the two calls the program's operators, in a process without libstdc++ too; after a
 *           plugin loaded libstdc++, a nothrow form turns an exception of the program's new into null.
 * owner     Checks delete all blocks.
 * failure   A line per failed check, and exit status 1.
 * not here  C++ programs: replaced_new.cpp.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MARK = 0x6e6577, THROWN_AT = 666 };

struct block {
  _Alignas(16) uint64_t mark;
  _Alignas(16) char bytes[];
};

static int failures, made, deleted;
static void (*thrower)(void);

static void check(bool ok, const char *what) {
  if (ok) return;
  printf("failed: %s\n", what);
  failures++;
}

/* operator new(size_t) and operator delete(void *) */
void *_Znwm(size_t n);
void *_Znwm(size_t n) {
  if (n == THROWN_AT && thrower != NULL) thrower();
  struct block *b = malloc(sizeof *b + n);
  b->mark = MARK;
  made++;
  return b->bytes;
}

void _ZdlPv(void *p);
void _ZdlPv(void *p) {
  struct block *b = (struct block *)((char *)p - offsetof(struct block, bytes));
  check(b->mark == MARK, "delete got a block of the program's");
  deleted++;
  free(b);
}

typedef void *new_form(size_t n);
typedef void *nothrow_form(size_t n, const void *nothrow);
typedef void delete_form(void *p, size_t n);

static void *form(const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  check(found != NULL, name);
  return found;
}

static void check_forms(void) {
  static const char nothrow = 0;
  made = deleted = 0;
  void *blocks[] = {((new_form *)form("_Znwm"))(10), ((new_form *)form("_Znam"))(10),
                    ((nothrow_form *)form("_ZnwmRKSt9nothrow_t"))(10, &nothrow),
                    ((nothrow_form *)form("_ZnamRKSt9nothrow_t"))(10, &nothrow)};
  static const char *const deletes[] = {"_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"};
  for (int i = 0; i < 4; i++) ((delete_form *)form(deletes[i]))(blocks[i], 10);
  check(made == 4, "every new is the program's");
  check(deleted == 4, "every delete is the program's");
}

static void check_throwing(const char *path) {
  static const char nothrow = 0;
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  check(plugin != NULL, "the plugin loads");
  if (plugin == NULL) return;
  thrower = (void (*)(void))dlsym(plugin, "plugin_throw");
  check(thrower != NULL, "the plugin throws");
  check(((nothrow_form *)form("_ZnwmRKSt9nothrow_t"))(THROWN_AT, &nothrow) == NULL, "new(nothrow) gives null");
  check(((nothrow_form *)form("_ZnamRKSt9nothrow_t"))(THROWN_AT, &nothrow) == NULL, "new[](nothrow) gives null");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: new_in_c plugin.so\n");
    return 2;
  }
  check_forms();
  check_throwing(argv[1]);
  check_forms();
  if (failures == 0) puts("done");
  return failures != 0;
}
