/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* known.S: an allocator whose paths have a known number of instructions, for test_count.py.
 *
 *   malloc 6   free 1   new 7   delete 1   new[] 8   nothrow 9   delete(n) 1   calloc 8   realloc 4
 *
 * It hands out one block after the other and takes none back. -DLOCKED puts a lock prefix into malloc, -DCALLING a
 * call into free, -DUNEVEN a second way through malloc for every other block.
 */
        .text
        .globl malloc, free, calloc, realloc, _Znwm, _Znam, _ZnwmRKSt9nothrow_t, _ZdlPv, _ZdlPvm
        .type malloc, @function
        .type free, @function
        .type calloc, @function
        .type realloc, @function
        .type _Znwm, @function
        .type _Znam, @function
        .type _ZnwmRKSt9nothrow_t, @function
        .type _ZdlPv, @function
        .type _ZdlPvm, @function

malloc:
        lea     31(%rdi), %rdi
        and     $-16, %rdi
#ifdef LOCKED
        lock xadd %rdi, next(%rip)
        mov     %rdi, %rax
#else
        mov     next(%rip), %rax
        add     %rax, %rdi
        mov     %rdi, next(%rip)
#endif
#ifdef UNEVEN
        xorl    $1, odd(%rip)
        jz      1f
        nop
1:
#endif
        ret
        .size malloc, . - malloc

free:
#ifdef CALLING
        call    nothing
#endif
        ret
        .size free, . - free

calloc:
        imul    %rsi, %rdi
        jmp     malloc_here
        .size calloc, . - calloc

realloc:
        test    %rdi, %rdi
        jz      2f
        mov     %rdi, %rax
        ret
2:      mov     %rsi, %rdi
        jmp     malloc_here
        .size realloc, . - realloc

_Znwm:
        jmp     malloc_here
        .size _Znwm, . - _Znwm

_ZnwmRKSt9nothrow_t:
        nop
_Znam:
        nop
        jmp     malloc_here
        .size _Znam, . - _Znam
        .size _ZnwmRKSt9nothrow_t, . - _ZnwmRKSt9nothrow_t

_ZdlPv:
        ret
        .size _ZdlPv, . - _ZdlPv

_ZdlPvm:
        ret
        .size _ZdlPvm, . - _ZdlPvm

        .set    malloc_here, malloc
nothing:
        ret

        .data
        .balign 16
next:   .quad   heap
odd:    .long   0

        .bss
        .balign 4096
heap:   .skip   64 << 20

        .section .note.GNU-stack, "", @progbits
