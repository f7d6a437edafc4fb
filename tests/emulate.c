/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* emulate.c: starts a program of another processor under qemu-user, as if it ran here.
 *
 * what      Made for the machine that builds, and static: no library is preloaded into it. Each program of a cross build
 *           stands behind a file of two lines (emulated.sh), which names this program, the emulator and the program:
 *
 *               the kernel -> emulate "qemu-aarch64 -L root" FILE argument ... -> qemu-aarch64 -L root -0 FILE FILE.elf argument ...
 *
 *           HAK_EMULATED_PAGE is the size of a page [bytes], 4096, 16384 or 65536. Variables by which the dynamic linker and libc would change the emulator go to the program alone.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 16, VARIABLES = 16 };

static const char *const names[] = {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_BIND_NOW", "LD_DEBUG", "GLIBC_TUNABLES"};

int main(int argc, char **argv) {
  if (argc < 3) {
    fputs("usage: emulate 'EMULATOR OPTION ...' FILE ARGUMENT ...\n", stderr);
    return 2;
  }
  char **command = calloc((size_t)argc + WORDS + 2 * VARIABLES + 6, sizeof *command), *program;
  int n = 0;
  for (char *word = strtok(argv[1], " "); word != NULL && n < WORDS; word = strtok(NULL, " ")) command[n++] = word;
  if (getenv("HAK_EMULATED_PAGE") != NULL) {
    command[n++] = "-p";
    command[n++] = getenv("HAK_EMULATED_PAGE");
  }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *value = getenv(names[i]);
    if (value == NULL) continue;
    command[n++] = "-E";
    if (asprintf(&command[n++], "%s=%s", names[i], value) < 0) return 2;
    unsetenv(names[i]);
  }
  command[n++] = "-0";
  command[n++] = argv[2];
  if (asprintf(&program, "%s.elf", argv[2]) < 0) return 2;
  command[n++] = program;
  for (int i = 3; i < argc; i++) command[n++] = argv[i];
  execvp(command[0], command);
  perror(command[0]);
  return 127;
}
