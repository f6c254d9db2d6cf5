/* dlsym and dlvsym as the program sees them, in both of glibc's versions.
 *
 * glibc finds the caller of RTLD_NEXT and RTLD_DEFAULT by the return address, so a wrapper must not
 * stand in between: either the look-up is answered with one of our hooks, or the arguments are
 * restored and glibc's own function is jumped to, the program's return address on the stack. */
#if !defined(__x86_64__)
#error "the preload library knows the calling convention of x86-64 only"
#endif

    .section .note.GNU-stack, "", @progbits
    .text

/* Arguments: handle, name (and version) in rdi, rsi (and rdx). The answer also gets the caller, the return address,
 * in the register of the argument behind them. */
.macro loader_entry symbol, own, answer, find_true, caller
    .globl  \symbol
    .type   \symbol, @function
    .globl  \own
    .hidden \own
    .type   \own, @function
\symbol:
\own:
    .cfi_startproc
    endbr64
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    pushq   %rdx
    .cfi_adjust_cfa_offset 8
    movq    24(%rsp), \caller
    call    \answer
    testq   %rax, %rax
    jne     1f
    call    \find_true
    popq    %rdx
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    testq   %rax, %rax
    je      2f
    jmpq    *%rax
    .cfi_adjust_cfa_offset 24
1:  addq    $24, %rsp
    .cfi_adjust_cfa_offset -24
2:  ret
    .cfi_endproc
    .size   \symbol, . - \symbol
.endm

    loader_entry tessera_preload_dlsym, tessera_preload_own_dlsym, tessera_preload_answer, tessera_preload_true_dlsym, %rdx
    loader_entry tessera_preload_dlvsym, tessera_preload_own_dlvsym, tessera_preload_answer_version, \
        tessera_preload_true_dlvsym, %rcx

    .globl  tessera_preload_dlsym_old
    .set    tessera_preload_dlsym_old, tessera_preload_dlsym
    .globl  tessera_preload_dlvsym_old
    .set    tessera_preload_dlvsym_old, tessera_preload_dlvsym
    .symver tessera_preload_dlsym_old, dlsym@GLIBC_2.2.5, remove
    .symver tessera_preload_dlvsym_old, dlvsym@GLIBC_2.2.5, remove
    .symver tessera_preload_dlsym, dlsym@@GLIBC_2.34, remove
    .symver tessera_preload_dlvsym, dlvsym@@GLIBC_2.34, remove
