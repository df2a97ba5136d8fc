/*
 * Functions that look at their caller, or have any number of arguments: what they replace is entered
 * by a jump, as if there were nothing between.
 */
#if defined(__x86_64__)
#include "push.inc"
	.text
	.hidden	hook_modules, hook_real_dlsym, hook_real_dlopen, hook_may_wrap, hook_fiber_made
	.hidden	hook_fiber_swapped, hook_fiber_set

/* Before the first symbol of a module is found, the module is known. */
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	PUSHED	%rdi
	PUSHED	%rsi
	PUSHED	%rdx
	call	hook_modules
	call	hook_real_dlsym
	POPPED	%rdx
	POPPED	%rsi
	POPPED	%rdi
	jmp	*%rax
	.cfi_endproc
	.size	dlsym, . - dlsym

	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	PUSHED	%rdi
	PUSHED	%rsi
	PUSHED	%rdx
	call	hook_may_wrap
	test	%al, %al
	jnz	1f
	call	hook_real_dlopen
	POPPED	%rdx
	POPPED	%rsi
	POPPED	%rdi
	jmp	*%rax
	.cfi_def_cfa_offset 32
1:	call	hook_real_dlopen
	POPPED	%rdx
	POPPED	%rsi
	POPPED	%rdi
	PUSHED	%rax
	call	*%rax
	mov	%rax, (%rsp)
	test	%rax, %rax
	jz	2f
	sub	$16, %rsp
	.cfi_adjust_cfa_offset 16
	call	hook_modules
	add	$16, %rsp
	.cfi_adjust_cfa_offset -16
2:	POPPED	%rax
	ret
	.cfi_endproc
	.size	dlopen, . - dlopen

/* Its stack is known before the fiber runs on it. The other arguments are those of the fiber. */
	.globl	makecontext
	.type	makecontext, @function
	.p2align 4
makecontext:
	.cfi_startproc
	PUSHED	%rdi
	PUSHED	%rsi
	PUSHED	%rdx
	PUSHED	%rcx
	PUSHED	%r8
	PUSHED	%r9
	PUSHED	%rax
	call	hook_fiber_made
	mov	%rax, %r11
	POPPED	%rax
	POPPED	%r9
	POPPED	%r8
	POPPED	%rcx
	POPPED	%rdx
	POPPED	%rsi
	POPPED	%rdi
	jmp	*%r11
	.cfi_endproc
	.size	makecontext, . - makecontext

/* They go on by a jump, as a context that is stored must not need a frame of ours. */
	.macro SWITCHES name, to, first
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	PUSHED	%rdi
	PUSHED	%rsi
	PUSHED	%rax
	mov	\to, %rdi
	lea	32(%rsp), %rsi
	call	\first
	mov	%rax, %r11
	POPPED	%rax
	POPPED	%rsi
	POPPED	%rdi
	jmp	*%r11
	.cfi_endproc
	.size	\name, . - \name
	.endm

	SWITCHES swapcontext, %rsi, hook_fiber_swapped
	SWITCHES setcontext, %rdi, hook_fiber_set
#endif
	.section .note.GNU-stack,"",@progbits
