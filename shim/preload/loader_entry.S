/* The dlsym and dlvsym that the program sees, in both of glibc's versions.
 *
 * glibc resolves RTLD_NEXT and RTLD_DEFAULT by the caller's return address, so these entries must not be ordinary
 * wrappers: either the look-up returns one of our hooks, or the arguments are restored and the entry jumps to glibc's
 * own function with the program's return address on the stack. */
#if !defined(__x86_64__)
#error "the preload library knows the calling convention of x86-64 only"
#endif

    .section .note.GNU-stack, "", @progbits
    .text

/* Arguments: handle, name (and version) in rdi, rsi (and rdx). \answer also takes the caller, the return address, in
 * the next argument register. */
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
