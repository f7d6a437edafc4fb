/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* module.c: a library that calls back out of a frame of HAK_FRAME bytes; its call returns to the same address for any. */

__attribute__((visibility("default"))) void module_call(void (*f)(void));

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

#if defined(__x86_64__)
__asm__(".text\n.globl module_call\n.type module_call, @function\nmodule_call:\n.cfi_startproc\n"
        "sub $" TEXT_OF(HAK_FRAME) ", %rsp\n.cfi_adjust_cfa_offset " TEXT_OF(HAK_FRAME) "\n"
        "call *%rdi\nadd $" TEXT_OF(HAK_FRAME) ", %rsp\n.cfi_adjust_cfa_offset -" TEXT_OF(HAK_FRAME) "\n"
        "ret\n.cfi_endproc\n.size module_call, . - module_call\n");
#else
__asm__(".text\n.globl module_call\n.type module_call, @function\nmodule_call:\n.cfi_startproc\n"
        "sub sp, sp, #" TEXT_OF(HAK_FRAME) "+8\n.cfi_adjust_cfa_offset " TEXT_OF(HAK_FRAME) "+8\n"
        "str x30, [sp]\n.cfi_offset x30, -" TEXT_OF(HAK_FRAME) "-8\n"
        "blr x0\nldr x30, [sp]\nadd sp, sp, #" TEXT_OF(HAK_FRAME) "+8\n"
        ".cfi_restore x30\n.cfi_adjust_cfa_offset -" TEXT_OF(HAK_FRAME) "-8\n"
        "ret\n.cfi_endproc\n.size module_call, . - module_call\n");
#endif
