/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* start.c: the start of a program for a glibc before 2.34, in place of crt1.o, which asks for a __libc_start_main of 2.34.
 *
 * what      _start, and __dso_handle, which crtbegin.o has. A program that is started by this has no constructors.
 */
#if defined(__x86_64__)
__asm__(".symver __libc_start_main, __libc_start_main@GLIBC_2.2.5");
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  mov %rdx, %rsi\n  and $-16, %rsp\n  call hak_old_start\n  hlt");
#elif defined(__aarch64__)
__asm__(".symver __libc_start_main, __libc_start_main@GLIBC_2.17");
__asm__(".globl _start\n_start:\n  mov x29, #0\n  mov x30, #0\n  mov x1, x0\n  mov x0, sp\n  bl hak_old_start");
#endif

typedef int (*main_function)(int, char **, char **);
int __libc_start_main(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
int main(int, char **, char **);
__attribute__((noreturn, used, visibility("hidden"))) void hak_old_start(void **, void (*)(void));

__attribute__((visibility("hidden"))) void *__dso_handle;

/* `stack`: the number of words, and the words. `at_end` is the dynamic linker's, and runs the destructors of libraries. */
void hak_old_start(void **stack, void (*at_end)(void)) {
  __libc_start_main(main, (int)(long)stack[0], (char **)(stack + 1), 0, 0, at_end, stack);
  __builtin_trap();
}
