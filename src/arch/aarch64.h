/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* aarch64.h: the processor AArch64.
 *
 * what      See arch.h.
 * orders    Loads and stores of different words may change places here unless a release, an acquire, a fence or an
 *           address dependency keeps them: docs/design/memory-orders.md goes through the library's.
 */
#ifndef HAK_ARCH_AARCH64_H
#define HAK_ARCH_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAK_ARCH_CLOCK "__kernel_clock_gettime"
#define HAK_ARCH_FIRST_LIBC "GLIBC_2.17"

/* ---- memory ---- */

#define hak_pause() __asm__ volatile("yield" ::: "memory")

/* Changes *p from 0 to v, in a process with a single thread. False: *p is not 0. A signal handler between load and
 * store takes the reservation away, so nothing that the handler stored is lost. No order: there is no other thread. */
static inline bool hak_set_unshared(uint64_t *p, uint64_t v) {
  uint64_t seen;
  uint32_t failed;
  __asm__ volatile("1:\n\t"
                   "ldxr %0, %2\n\t"
                   "cbnz %0, 2f\n\t"
                   "stxr %w1, %3, %2\n\t"
                   "cbnz %w1, 1b\n"
                   "2:"
                   : "=&r"(seen), "=&r"(failed), "+Q"(*p)
                   : "r"(v)
                   : "memory");
  return seen == 0;
}

/* Stores v in *p, which only this thread and its signal handlers change; returns what was there. */
static inline uint64_t hak_arch_exchange_own(uint64_t *p, uint64_t v) {
  uint64_t seen;
  uint32_t failed;
  __asm__ volatile("1:\n\t"
                   "ldxr %0, %2\n\t"
                   "stxr %w1, %3, %2\n\t"
                   "cbnz %w1, 1b"
                   : "=&r"(seen), "=&r"(failed), "+Q"(*p)
                   : "r"(v)
                   : "memory");
  return seen;
}

/* Reads the block below top, and only then lowers *at, which is top, past that block. */
static inline void *hak_arch_pop(void ***at, void **top) {
  void *p;
  __asm__("ldr %0, [%1, #-8]!" : "=&r"(p), "+r"(top) : "m"(top[-1]));
  *at = top;
  return p;
}

/* ---- threads ---- */

static inline char *hak_arch_pointer(void) { return (char *)__builtin_thread_pointer(); }

/* The two words at the thread pointer are libc's alone: compilers read the register. */
static inline void hak_arch_link(char *pointer) { (void)pointer; }

/* 0: its distance from the thread pointer lies with the range's words, and is set before these. */
#define HAK_ARCH_THREAD_FIRST 0

/* The variable of the thread, `distance` [bytes] from the thread pointer. A compiler reads the distance from the
 * library's table of addresses, in two instructions more. */
#define HAK_ARCH_OF_THREAD(variable, distance) \
  (*(__typeof__(&(variable)))(void *)(hak_arch_pointer() + (distance)))
/* p, the address of an object of the library that is defined with HAK_ARCH_NEAR_ALIGN: one instruction forms an address
 * that is a multiple of 4 KiB, and one loads two words that lie side by side there. */
#define HAK_ARCH_NEAR_ALIGN __attribute__((aligned(4096)))
#define HAK_ARCH_NEAR(p) \
  __extension__({ \
    __typeof__(p) near; \
    __asm__("adrp %0, %1" : "=r"(near) : "S"(p)); \
    near; \
  })

/* ---- kernel calls ---- */

static inline long hak_arch_ask(long number, long a, long b, long c, long d, long e, long f) {
  register long which __asm__("x8") = number, first __asm__("x0") = a, second __asm__("x1") = b;
  register long third __asm__("x2") = c, fourth __asm__("x3") = d, fifth __asm__("x4") = e, sixth __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return first;
}

static inline long hak_arch_ask_two(long number, long a, long b) {
  register long which __asm__("x8") = number, first __asm__("x0") = a, second __asm__("x1") = b;
  __asm__ volatile("svc 0" : "+r"(first) : "r"(which), "r"(second) : "memory");
  return first;
}

/* The new thread starts with the maker's registers except the stack pointer. The code up to begin() uses registers
 * only: the maker's frame must not be touched from the new thread. A frame pointer and a return address of zero end
 * stack traces. `number` is that of the call clone. Where branch targets are guarded, a jump through x16 counts as a
 * call. */
static inline long hak_arch_clone(long number, unsigned long flags, char *stack, uint32_t *id, char *thread_pointer,
                                  void (*begin)(void *), void *argument) {
  register long answer __asm__("x0") = (long)flags;
  register char *top __asm__("x1") = stack;
  register uint32_t *stored __asm__("x2") = id;
  register char *pointer __asm__("x3") = thread_pointer;
  register uint32_t *cleared __asm__("x4") = id;
  register long which __asm__("x8") = number;
  register void (*function)(void *) __asm__("x16") = begin;
  register void *own __asm__("x10") = argument;
  __asm__ volatile("svc 0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, xzr\n\t"
                   "mov x30, xzr\n\t"
                   "mov x0, x10\n\t"
                   "br x16\n"
                   "1:"
                   : "+r"(answer)
                   : "r"(top), "r"(stored), "r"(pointer), "r"(cleared), "r"(which), "r"(function), "r"(own)
                   : "memory");
  return answer;
}

/* ---- frames of calls ---- */

/* DWARF's numbers of registers; the further one is that of the return address. */
enum { HAK_ARCH_DWARF_FP = 29, HAK_ARCH_DWARF_SP = 31, HAK_ARCH_DWARF_OTHER = 30, HAK_ARCH_DWARF_RETURN = 30 };
#define HAK_ARCH_CALL_PUSHES false

/* Bytes from the stack pointer of a signal handler's return: 128 of siginfo_t, 176 of ucontext_t, the fault's address,
 * then 31 registers, the stack pointer and the instruction. */
enum { HAK_ARCH_SIGNAL_FP = 544, HAK_ARCH_SIGNAL_OTHER = 552, HAK_ARCH_SIGNAL_SP = 560, HAK_ARCH_SIGNAL_PC = 568 };

/* mov x8, #139; svc #0 */
#define HAK_ARCH_SIGNAL_CODE {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}

#define HAK_ARCH_HERE(pc, sp, fp, other)                                 \
  __asm__ volatile("adr %0, 0f; mov %1, sp; mov %2, x29; mov %3, x30\n0:" \
                   : "=&r"(pc), "=&r"(sp), "=&r"(fp), "=&r"(other))

/* Without the signature that guarded code leaves in a return address (xpaclri, which older processors skip). */
static inline uintptr_t hak_arch_unsigned(uintptr_t pointer) {
  register uintptr_t link __asm__("x30") = pointer;
  __asm__("hint 7" : "+r"(link));
  return link;
}

/* ---- signals ---- */

/* A handler returns into the vdso, without any help. */
#define HAK_ARCH_RESTORER 0ul
#define HAK_ARCH_HANDLER_RETURNS static void (*const hak_kernel_handler_returns)(void) = NULL

/* Of a handler's ucontext_t. Behind the registers the kernel writes records, each with its kind and length; one is the
 * syndrome of the fault. An access that wrote has bit 6 of an abort's syndrome. */
enum hak_arch_access { HAK_ARCH_UNKNOWN, HAK_ARCH_READS, HAK_ARCH_WRITES };
#define HAK_ARCH_INSTRUCTION(context) ((uintptr_t)(context)->uc_mcontext.pc)
#define HAK_ARCH_ACCESS(context) \
  hak_arch_access_of((context)->uc_mcontext.__reserved, sizeof (context)->uc_mcontext.__reserved)

struct hak_arch_record {
  uint32_t kind, bytes;
  uint64_t syndrome; /* if the kind is that */
};

static inline enum hak_arch_access hak_arch_access_of(const void *records, size_t bytes) {
  enum { SYNDROME = 0x45535201, DATA_ABORT = 0x24, DATA_ABORT_HERE = 0x25 };
  for (size_t at = 0; at + sizeof(struct hak_arch_record) <= bytes;) {
    const struct hak_arch_record *record = (const struct hak_arch_record *)(const void *)((const char *)records + at);
    unsigned kind = (unsigned)(record->syndrome >> 26 & 0x3f);
    if (record->kind == SYNDROME && (kind == DATA_ABORT || kind == DATA_ABORT_HERE)) {
      return record->syndrome >> 6 & 1 ? HAK_ARCH_WRITES : HAK_ARCH_READS;
    }
    if (record->kind == 0 || record->kind == SYNDROME || record->bytes == 0) break;
    at += record->bytes;
  }
  return HAK_ARCH_UNKNOWN;
}

#endif
