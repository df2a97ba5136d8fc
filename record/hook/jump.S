/*
 * Functions that look at their caller, or have any number of arguments: what they replace is entered
 * by a jump, as if there were nothing between.
 */
#if defined(__x86_64__)
	.text
	.hidden	hook_modules, hook_real_dlsym, hook_real_dlopen, hook_may_wrap, hook_fiber_made

/* Before the first symbol of a module is found, the module is known. */
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	push	%rdi
	push	%rsi
	push	%rdx
	call	hook_modules
	call	hook_real_dlsym
	pop	%rdx
	pop	%rsi
	pop	%rdi
	jmp	*%rax
	.size	dlsym, . - dlsym

	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	push	%rdi
	push	%rsi
	push	%rdx
	call	hook_may_wrap
	test	%al, %al
	jnz	1f
	call	hook_real_dlopen
	pop	%rdx
	pop	%rsi
	pop	%rdi
	jmp	*%rax
1:	call	hook_real_dlopen
	pop	%rdx
	pop	%rsi
	pop	%rdi
	push	%rax
	call	*%rax
	mov	%rax, (%rsp)
	test	%rax, %rax
	jz	2f
	sub	$16, %rsp
	call	hook_modules
	add	$16, %rsp
2:	pop	%rax
	ret
	.size	dlopen, . - dlopen

/* Its stack is known before the fiber runs on it. The other arguments are those of the fiber. */
	.globl	makecontext
	.type	makecontext, @function
	.p2align 4
makecontext:
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	push	%rax
	call	hook_fiber_made
	mov	%rax, %r11
	pop	%rax
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	jmp	*%r11
	.size	makecontext, . - makecontext
#endif
	.section .note.GNU-stack,"",@progbits
