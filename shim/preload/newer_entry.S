/* The entries that a program gets in place of driver functions newer than our lists: newer_calls.hpp.
 *
 * The function's arguments are unknown, so an entry preserves all registers that may hold one and the stack, and jumps
 * to the function. Entry i is 32 * i bytes after the first one. */
#if !defined(__x86_64__)
#error "the preload library knows the calling convention of x86-64 only"
#endif

    .section .note.GNU-stack, "", @progbits
    .section .rodata
    .globl  tessera_preload_reviewed_names, tessera_preload_reviewed_names_end
    .hidden tessera_preload_reviewed_names, tessera_preload_reviewed_names_end
tessera_preload_reviewed_names:
    .incbin "shim/preload/entry_points.txt"
tessera_preload_reviewed_names_end:
    .byte   0

    .text
    .globl  tessera_preload_newer_entries
    .hidden tessera_preload_newer_entries
    .balign 32
    .type   tessera_preload_newer_entries, @function
tessera_preload_newer_entries:
    .set    index, 0
    .rept   64
    .balign 32
    .cfi_startproc
    endbr64
    pushq   $index
    .cfi_adjust_cfa_offset 8
    jmp     look_and_go_on
    .cfi_endproc
    .set    index, index + 1
    .endr
    .size   tessera_preload_newer_entries, . - tessera_preload_newer_entries

/* On the stack: the entry's number, the return address. The six argument registers are stored as an array. */
    .type   look_and_go_on, @function
look_and_go_on:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    pushq   %rax
    .cfi_adjust_cfa_offset 8
    pushq   %r9
    .cfi_adjust_cfa_offset 8
    pushq   %r8
    .cfi_adjust_cfa_offset 8
    pushq   %rcx
    .cfi_adjust_cfa_offset 8
    pushq   %rdx
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    movq    56(%rsp), %rdi
    movq    %rsp, %rsi
    subq    $136, %rsp
    .cfi_adjust_cfa_offset 136
    movups  %xmm0, 0(%rsp)
    movups  %xmm1, 16(%rsp)
    movups  %xmm2, 32(%rsp)
    movups  %xmm3, 48(%rsp)
    movups  %xmm4, 64(%rsp)
    movups  %xmm5, 80(%rsp)
    movups  %xmm6, 96(%rsp)
    movups  %xmm7, 112(%rsp)
    call    tessera_preload_newer_called
    movq    %rax, %r11
    movups  0(%rsp), %xmm0
    movups  16(%rsp), %xmm1
    movups  32(%rsp), %xmm2
    movups  48(%rsp), %xmm3
    movups  64(%rsp), %xmm4
    movups  80(%rsp), %xmm5
    movups  96(%rsp), %xmm6
    movups  112(%rsp), %xmm7
    addq    $136, %rsp
    .cfi_adjust_cfa_offset -136
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdx
    .cfi_adjust_cfa_offset -8
    popq    %rcx
    .cfi_adjust_cfa_offset -8
    popq    %r8
    .cfi_adjust_cfa_offset -8
    popq    %r9
    .cfi_adjust_cfa_offset -8
    popq    %rax
    .cfi_adjust_cfa_offset -8
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    jmpq    *%r11
    .cfi_endproc
    .size   look_and_go_on, . - look_and_go_on
