/*
 * The way of an event, x86-64: hook.h says how calls are kept. A record is reserved by one unlocked
 * add and committed by one store. All registers that are used are saved, since gcc's -fipa-ra lets
 * callers keep values in any that the function they call does not change.
 *
 * A thunk, at which a patched function is entered, and through which it returns:
 *	push $word ; call hook_enter ; jc 1f ; call body ; push $0 ; jmp hook_exit ; 1: jmp body
 * `call body` puts the thunk's address where the return address was, so that arguments on the stack
 * stay where they are, and each call has its own return.
 *
 * A thunk that a function jumps to in place of its call of mcount, when its frame is set up:
 *	push $word ; call hook_call_enter ; jc 2f ; call 1f ; push $0 ; jmp hook_exit
 *	1: lea 8(%rsp), %rsp ; 2: jmp body
 * The function's return then belongs to `call 1f`, as the CPU counts calls and returns.
 *
 * A call enters in this order: top, then the call's own fields, then span. So a signal handler that
 * comes anywhere finds a valid place for its own calls, and leaves it as it was.
 */
#if defined(__x86_64__)
#include "push.inc"

	.equ	ENTER, 4
	.equ	POP_R10, 0x5A41
/* struct hook_thread */
	.equ	HOOK_LOW, 0
	.equ	HOOK_SPAN, 8
	.equ	HOOK_TOP, 16
	.equ	HOOK_LIMIT, 24
	.equ	HOOK_SLOW_STACK, 32
	.equ	HOOK_SIZE, 40
	.equ	HOOK_ALTERNATE, 48
	.equ	HOOK_SIGNAL_LOW, 56
	.equ	HOOK_SIGNAL_SIZE, 64
	.equ	HOOK_CALL_SIZE, 32
/* <asm/unistd.h>, <signal.h> */
	.equ	SIGPROCMASK, 14
	.equ	SIG_SETMASK, 2
	.equ	SIGNALS_SIZE, 8
/* hook.h */
	.equ	HOOK_CALL_BACK, 7
	.equ	HOOK_MIRROR_BIT, 46
	.equ	HOOK_MIRROR_OFFSET, 0x840
	.equ	HOOK_LIST_FACTOR, 0x9E3779B97F4A7C15

/*
 * A signal handler may unwind from any instruction of a hook, so unwinders can find their way from
 * each: .cfi directives follow the stack pointer. What is entered by a call has its return address
 * at CFA - 8 as usual; what a call returns through has it in the mirror of that place.
 */
	.macro IN_MIRROR
	.cfi_escape 0x10, 16, 15, 0x38, 0x1c, 0x0e, 0, 0, 0, 0, 0, 0x40, 0, 0, 0x27, 0x23, 0xc0, 0x10
	.endm

/* Where a jump leads to from behind SAVE. */
	.macro SAVED
	.cfi_def_cfa_offset 40
	.endm

/* Registers that all hooks save first: 0 r11, 8 rcx, 16 rdx, 24 rax, 32 what was there. */
	.macro SAVE
	PUSHED	%rax
	PUSHED	%rdx
	PUSHED	%rcx
	PUSHED	%r11
	.endm

	.macro RESTORE
	POPPED	%r11
	POPPED	%rcx
	POPPED	%rdx
	POPPED	%rax
	.endm

/*
 * Stores the word in r11 as a record with its time; changes rax, rcx, rdx, r11. `look`: this may be
 * a child that has its parent's page. The page's end is read before the place is moved, see
 * spur_trace_reserve(). RECORD_SLOW follows where nothing runs into it. `bare`: nothing was saved.
 */
	.macro RECORD look=0
	mov	spur_trace_here@gottpoff(%rip), %rcx
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	.if \look
	cmpl	$0, core_guard+4(%rip)
	je	8f
	.endif
	cmp	%fs:16(%rcx), %rax
	jae	8f
	shl	$32, %rax
	or	%r11, %rax
	mov	%fs:8(%rcx), %r11
	mov	$8, %edx
	xadd	%rdx, %fs:(%rcx)
	sub	%rdx, %r11
	sub	$8, %r11
	cmp	$4088, %r11
	ja	9f
	mov	%rax, (%rdx)
7:
	.endm

	.macro RECORD_SLOW bare=0
	.if \bare
	.cfi_def_cfa_offset 8
8:	mov	$1, %edx
9:	SAVE
	SLOW	hook_paged
	RESTORE
	.else
	SAVED
8:	mov	$1, %edx
9:	SLOW	hook_paged
	.endif
	jmp	7b
	.endm

/* The same for an ENTER record with the address as payload. */
	.macro RECORD_ADDRESS address
	mov	spur_trace_here@gottpoff(%rip), %rcx
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	cmp	%fs:16(%rcx), %rax
	jae	8f
	shl	$32, %rax
	or	$0x14, %rax
	mov	%fs:8(%rcx), %r11
	mov	$16, %edx
	xadd	%rdx, %fs:(%rcx)
	sub	%rdx, %r11
	sub	$16, %r11
	cmp	$4080, %r11
	ja	9f
	movabs	$0x10000001E, %rcx
	mov	%rcx, (%rdx)
	mov	\address, %r11
	mov	%r11, 8(%rdx)
	mov	%rax, (%rdx)
7:
	.endm

	.macro RECORD_ADDRESS_SLOW address, bare=0
	.if \bare
	.cfi_def_cfa_offset 8
8:	mov	$1, %edx
9:	mov	\address, %r11
	SAVE
	SLOW	hook_paged_address
	RESTORE
	.else
	SAVED
8:	mov	$1, %edx
9:	mov	\address, %r11
	SLOW	hook_paged_address
	.endif
	jmp	7b
	.endm

/* Calls a C function. ZF: it returned false. */
	.macro SLOW function
	PUSHED	%r10
	lea	\function(%rip), %r10
	call	hook_slow
	POPPED	%r10
	.endm

/* Makes room for a call at the address in rcx: rax is behind it, rcx its key. */
	.macro OPEN slow
	mov	hook_here@gottpoff(%rip), %rdx
	sub	%fs:HOOK_LOW(%rdx), %rcx
	cmp	%fs:HOOK_SPAN(%rdx), %rcx
	jae	\slow
	mov	%fs:HOOK_TOP(%rdx), %rax
	cmp	%fs:HOOK_LIMIT(%rdx), %rax
	jae	\slow
	add	$HOOK_CALL_SIZE, %rax
	mov	%rax, %fs:HOOK_TOP(%rdx)
	mov	%ecx, -32(%rax)
	mov	%fs:HOOK_SPAN(%rdx), %r11
	mov	%r11d, -28(%rax)
	.endm

/* Moves the return address from the slot to the mirror; changes rcx, rdx. */
	.macro MOVE slot
	lea	\slot, %rdx
	mov	(%rdx), %rcx
	btc	$HOOK_MIRROR_BIT, %rdx
	mov	%rcx, HOOK_MIRROR_OFFSET(%rdx)
	.endm

	.macro MOVE_BACK slot
	lea	\slot, %rdx
	btc	$HOOK_MIRROR_BIT, %rdx
	mov	HOOK_MIRROR_OFFSET(%rdx), %rcx
	mov	%rcx, \slot
	.endm

/* Ends the call at the address in rcx: r11 is what it was. */
	.macro CLOSE slow
	mov	hook_here@gottpoff(%rip), %rdx
	sub	%fs:HOOK_LOW(%rdx), %rcx
	cmp	%fs:HOOK_SPAN(%rdx), %rcx
	jne	\slow
	mov	%fs:HOOK_TOP(%rdx), %rax
	mov	-24(%rax), %r11
	mov	-28(%rax), %ecx
	sub	$HOOK_CALL_SIZE, %rax
	mov	%rcx, %fs:HOOK_SPAN(%rdx)
	movl	$0, (%rax)
	mov	%rax, %fs:HOOK_TOP(%rdx)
	.endm

/*
 * The word of the function that the list has at the address in a register, in r11; changes rax, rdx.
 * Only where the search for it begins.
 */
	.macro LISTED address, slow
	mov	hook_list(%rip), %rdx
	test	%rdx, %rdx
	jz	\slow
	movabs	$HOOK_LIST_FACTOR, %rax
	imul	\address, %rax
	shr	$32, %rax
	and	(%rdx), %rax
	shl	$4, %rax
	cmp	16(%rdx, %rax), \address
	jne	\slow
	mov	24(%rdx, %rax), %r11d
	shl	$8, %r11d
	or	$ENTER, %r11d
	.endm

	.macro FUNCTION name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 5
\name:
	.cfi_startproc
	.endm

	.macro END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.hidden	hook_here, core_guard, hook_personality
	.hidden hook_look_orphan, hook_entered, hook_returned, hook_xray_entered, hook_xray_returned, hook_xray_tailed
	.hidden hook_lists, hook_cyg_entered, hook_cyg_returned
	.hidden hook_paged, hook_paged_address, hook_mcounted, hook_fentered, hook_id_called

	.text
/* 32 where in the thunk to return, 40 word, 48 the slot of the return address. */
FUNCTION hook_enter
	SAVE
	cmpl	$0, core_guard(%rip)
	je	5f
	lea	48(%rsp), %rcx
	OPEN	1f
	mov	40(%rsp), %r11d
	mov	%r11, -24(%rax)
	mov	%rcx, %fs:HOOK_SPAN(%rdx)
	MOVE	48(%rsp)
	RECORD
	RESTORE
	clc
	ret	$16
	SAVED
5:	cmpl	$0, core_guard+4(%rip)
	je	1f
6:	RESTORE
	stc
	ret	$8
	RECORD_SLOW
END hook_enter
FUNCTION hook_enter_full
	SAVE
1:	SLOW	hook_entered
	jnz	6b
	RESTORE
	clc
	ret	$16
END hook_enter_full

/* 32 the slot of the return address. */
FUNCTION hook_exit
	IN_MIRROR
	SAVE
	lea	32(%rsp), %rcx
	CLOSE	1f
	xor	$1, %r11d
	RECORD	1
	MOVE_BACK 32(%rsp)
	RESTORE
	ret
	RECORD_SLOW
END hook_exit
FUNCTION hook_exit_full
	IN_MIRROR
	SAVE
1:	SLOW	hook_returned
	RESTORE
	ret
END hook_exit_full

/* 32 where in the sled to return, 40 the slot; r10 has the word. */
FUNCTION hook_xray_enter
	SAVE
	cmpl	$0, core_guard(%rip)
	je	5f
	lea	40(%rsp), %rcx
	OPEN	1f
	mov	%r10d, %r11d
	mov	%r11, -24(%rax)
	mov	%rcx, %fs:HOOK_SPAN(%rdx)
	RECORD
6:	RESTORE
	ret
	SAVED
5:	cmpl	$0, core_guard+4(%rip)
	jne	6b
1:	SLOW	hook_xray_entered
	jmp	6b
	RECORD_SLOW
END hook_xray_enter

/* In place of a return. */
FUNCTION hook_xray_exit
	SAVE
	lea	32(%rsp), %rcx
	CLOSE	1f
	xor	$1, %r11d
	RECORD	1
5:	RESTORE
	ret
	SAVED
1:	SLOW	hook_xray_returned
	jmp	5b
	RECORD_SLOW
END hook_xray_exit

/* Before a jump to another function. */
FUNCTION hook_xray_tail
	SAVE
	lea	40(%rsp), %rcx
	CLOSE	1f
	xor	$1, %r11d
	RECORD	1
5:	RESTORE
	ret
	SAVED
1:	SLOW	hook_xray_tailed
	jmp	5b
	RECORD_SLOW
END hook_xray_tail

/*
 * 32 the address in the function, which is all that is known of it. `chain`: there the function may
 * pop r10, which is then on the stack where the return address is looked for.
 */
	.macro CALLED slot, slow, chain=0
	SAVE
	cmpl	$0, core_guard(%rip)
	je	10f
11:	mov	32(%rsp), %r11
	.if \chain
	cmpw	$POP_R10, (%r11)
	je	5f
	.endif
	cmpl	$0, hook_lists(%rip)
	je	2f
	LISTED	%r11, 1f
	jmp	3f
2:	bts	$63, %r11
3:	lea	\slot, %rcx
	PUSHED	%r11
	OPEN	4f
	POPPED	%r11
	mov	%r11, -24(%rax)
	mov	%rcx, %fs:HOOK_SPAN(%rdx)
	MOVE	\slot
	lea	hook_ret(%rip), %rcx
	mov	%rcx, \slot
	test	%r11, %r11
	js	6f
	RECORD
5:	RESTORE
	ret
	RECORD_SLOW
6:	RECORD_ADDRESS 32(%rsp)
	jmp	5b
	RECORD_ADDRESS_SLOW 32(%rsp)
	SAVED
10:	cmpl	$0, core_guard+4(%rip)
	jne	5b
	SLOW	hook_look_orphan
	cmpl	$0, core_guard(%rip)
	jne	11b
	jmp	5b
	.cfi_def_cfa_offset 48
4:	POPPED	%r11
1:	SLOW	\slow
	jmp	5b
	.endm

	.globl	mcount, _mcount, __fentry__
	.type	mcount, @function
	.type	_mcount, @function
	.type	__fentry__, @function
	.p2align 5
mcount:
_mcount:
	.cfi_startproc
	CALLED	8(%rbp), hook_mcounted
	.cfi_endproc
	.p2align 5
__fentry__:
	.cfi_startproc
	CALLED	40(%rsp), hook_fentered, 1
	.cfi_endproc

/*
 * 32 where in the thunk to return, 40 word: in place of mcount where calls were rewritten. The
 * function is to return to the thunk, behind its call of 5 bytes, so that the CPU predicts that.
 */
FUNCTION hook_call_enter
	SAVE
	cmpl	$0, core_guard(%rip)
	je	5f
	lea	8(%rbp), %rcx
	OPEN	1f
	mov	40(%rsp), %r11d
	mov	%r11, -24(%rax)
	mov	%rcx, %fs:HOOK_SPAN(%rdx)
	MOVE	8(%rbp)
	mov	32(%rsp), %rcx
	lea	HOOK_CALL_BACK(%rcx), %rcx
	mov	%rcx, 8(%rbp)
	RECORD
2:	RESTORE
	clc
	ret	$8
	SAVED
5:	cmpl	$0, core_guard+4(%rip)
	je	1f
6:	RESTORE
	stc
	ret	$8
	SAVED
1:	SLOW	hook_id_called
	jz	2b
	jmp	6b
	RECORD_SLOW
END hook_call_enter

/*
 * Where functions return whose return address was replaced. What comes before it is for calls that
 * are open, which unwinders look for one byte before hook_ret: the frame is at rsp - 1, since
 * unwinders tell frames by it and it must be no other's, and the return address is in the mirror.
 */
	.p2align 5
	nop
	.cfi_startproc
	.cfi_personality 0x1b, hook_personality
	.cfi_escape 0x0f, 2, 0x77, 0x7f
	.cfi_escape 0x10, 16, 15, 0x37, 0x1c, 0x0e, 0, 0, 0, 0, 0, 0x40, 0, 0, 0x27, 0x23, 0xc0, 0x10
	.cfi_escape 0x16, 7, 2, 0x31, 0x22
	nop
	.p2align 5
	.cfi_endproc
FUNCTION hook_ret
	.cfi_def_cfa_offset 0
	IN_MIRROR
	PUSHED	%rax
	SAVE
	lea	32(%rsp), %rcx
	CLOSE	1f
	test	%r11, %r11
	js	2f
	xor	$1, %r11d
3:	RECORD	1
	MOVE_BACK 32(%rsp)
	RESTORE
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*-8(%rsp)
	RECORD_SLOW
2:	mov	$5, %r11d
	jmp	3b
1:	SLOW	hook_returned
	RESTORE
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*-8(%rsp)
END hook_ret

/*
 * rdi: the function. The caller expects no register to be kept. Functions that were inlined have
 * the same place as the one around them.
 */
	.globl	__cyg_profile_func_enter, __cyg_profile_func_exit
	.type	__cyg_profile_func_enter, @function
	.type	__cyg_profile_func_exit, @function
	.p2align 5
__cyg_profile_func_enter:
	.cfi_startproc
	cmpl	$0, core_guard(%rip)
	je	4f
	lea	8(%rsp), %rcx
	mov	hook_here@gottpoff(%rip), %rsi
	sub	%fs:HOOK_LOW(%rsi), %rcx
	cmp	%fs:HOOK_SPAN(%rsi), %rcx
	ja	1f
	mov	%fs:HOOK_TOP(%rsi), %r8
	cmp	%fs:HOOK_LIMIT(%rsi), %r8
	jae	1f
	mov	%rdi, %r11
	bts	$63, %r11
	cmpl	$0, hook_lists(%rip)
	je	2f
	LISTED	%rdi, 1f
2:	add	$HOOK_CALL_SIZE, %r8
	mov	%r8, %fs:HOOK_TOP(%rsi)
	mov	%ecx, -32(%r8)
	mov	%fs:HOOK_SPAN(%rsi), %r9
	mov	%r9d, -28(%r8)
	mov	%r11, -24(%r8)
	mov	%rdi, -8(%r8)
	mov	%rcx, %fs:HOOK_SPAN(%rsi)
	btr	$63, %r11
	jc	3f
	RECORD
5:	ret
	RECORD_SLOW 1
3:	RECORD_ADDRESS %rdi
	ret
	RECORD_ADDRESS_SLOW %rdi, 1
4:	cmpl	$0, core_guard+4(%rip)
	jne	5b
1:	SAVE
	SLOW	hook_cyg_entered
	RESTORE
	ret
	.cfi_endproc

	.p2align 5
__cyg_profile_func_exit:
	.cfi_startproc
	lea	8(%rsp), %rcx
	mov	hook_here@gottpoff(%rip), %rdx
	sub	%fs:HOOK_LOW(%rdx), %rcx
	cmp	%fs:HOOK_SIZE(%rdx), %rcx
	jae	1f
	cmpq	$0, %fs:HOOK_SPAN(%rdx)
	je	1f
	mov	%fs:HOOK_TOP(%rdx), %rax
	cmp	-8(%rax), %rdi
	jne	1f
	mov	-24(%rax), %r11
	mov	-28(%rax), %ecx
	sub	$HOOK_CALL_SIZE, %rax
	mov	%rcx, %fs:HOOK_SPAN(%rdx)
	movl	$0, (%rax)
	mov	%rax, %fs:HOOK_TOP(%rdx)
	xor	$1, %r11
	js	2f
3:	RECORD	1
	ret
	RECORD_SLOW 1
2:	mov	$5, %r11d
	jmp	3b
1:	SAVE
	SLOW	hook_cyg_returned
	RESTORE
	ret
	.cfi_endproc

/*
 * Calls the function in r10 with the registers, the word, the place and the time that the hook has,
 * on the thread's stack for slow ways if that is free. Requires that SAVE and r10 are pushed.
 *
 * While another stack runs, the system takes an alternate stack for free, and a handler that came
 * would overwrite it from its top. So signals are blocked if this may be an alternate stack.
 */
FUNCTION hook_slow
	PUSHED	%r9
	PUSHED	%r8
	PUSHED	%rdi
	PUSHED	%rsi
	PUSHED	%rbp
	.cfi_rel_offset %rbp, 0
	cld
	mov	%rsp, %rdi
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	mov	%r11, %rsi
	mov	%rax, %rcx
	mov	hook_here@gottpoff(%rip), %rax
	cmpq	$0, %fs:HOOK_SLOW_STACK(%rax)
	je	1f
	mov	%rsp, %r9
	sub	%fs:HOOK_LOW(%rax), %r9
	cmp	%fs:HOOK_SIZE(%rax), %r9
	jae	3f
	cmpq	$0, %fs:HOOK_ALTERNATE(%rax)
	jne	3f
	mov	%rsp, %r9
	sub	%fs:HOOK_SIGNAL_LOW(%rax), %r9
	cmp	%fs:HOOK_SIGNAL_SIZE(%rax), %r9
	jb	3f
	/* A handler may take it, and let another fiber go on before it is free again. */
	xor	%r8d, %r8d
	xchg	%r8, %fs:HOOK_SLOW_STACK(%rax)
	test	%r8, %r8
	jz	1f
	lea	-16(%r8), %rsp
	mov	%r8, (%rsp)
	call	*%r10
	mov	(%rsp), %r8
	mov	hook_here@gottpoff(%rip), %rcx
	/* It is free when it has been left: a signal handler may come between. */
	mov	%rbp, %rsp
	mov	%r8, %fs:HOOK_SLOW_STACK(%rcx)
	jmp	2f
1:	and	$-16, %rsp
	call	*%r10
	mov	%rbp, %rsp
2:	test	%al, %al
	.cfi_remember_state
	.cfi_def_cfa_register %rsp
	POPPED	%rbp
	.cfi_restore %rbp
	POPPED	%rsi
	POPPED	%rdi
	POPPED	%r8
	POPPED	%r9
	ret
	.cfi_restore_state
	/* The mask before is at rbp - 8. */
3:	push	$-1
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r10
	mov	$SIGPROCMASK, %eax
	mov	$SIG_SETMASK, %edi
	lea	-8(%rbp), %rsi
	mov	%rsi, %rdx
	mov	$SIGNALS_SIZE, %r10d
	syscall
	pop	%r10
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	mov	hook_here@gottpoff(%rip), %rax
	xor	%r8d, %r8d
	xchg	%r8, %fs:HOOK_SLOW_STACK(%rax)
	test	%r8, %r8
	jz	4f
	lea	-16(%r8), %rsp
	mov	%r8, (%rsp)
	call	*%r10
	mov	(%rsp), %r8
	mov	hook_here@gottpoff(%rip), %rcx
	lea	-8(%rbp), %rsp
	mov	%r8, %fs:HOOK_SLOW_STACK(%rcx)
	jmp	5f
4:	and	$-16, %rsp
	call	*%r10
	lea	-8(%rbp), %rsp
5:	push	%rax
	mov	$SIGPROCMASK, %eax
	mov	$SIG_SETMASK, %edi
	lea	-8(%rbp), %rsi
	xor	%edx, %edx
	mov	$SIGNALS_SIZE, %r10d
	syscall
	pop	%rax
	mov	%rbp, %rsp
	jmp	2b
END hook_slow

FUNCTION hook_guarded
	PUSHED	%rbp
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rbx
	.cfi_offset %rbx, -24
	push	%r12
	.cfi_offset %r12, -32
	mov	%rdi, %r12
	mov	%rsi, %rdi
	sub	hook_vectors_size(%rip), %rsp
	and	$-64, %rsp
	mov	%rsp, %rbx
	mov	hook_vectors_mask(%rip), %eax
	xor	%edx, %edx
	test	%eax, %eax
	jz	1f
	/* The header must be zero where xsave does not write. */
	mov	%rdx, 512(%rbx)
	mov	%rdx, 520(%rbx)
	mov	%rdx, 528(%rbx)
	mov	%rdx, 536(%rbx)
	mov	%rdx, 544(%rbx)
	mov	%rdx, 552(%rbx)
	mov	%rdx, 560(%rbx)
	mov	%rdx, 568(%rbx)
	xsave64	(%rbx)
	call	*%r12
	mov	hook_vectors_mask(%rip), %eax
	xor	%edx, %edx
	xrstor64 (%rbx)
	jmp	2f
1:	fxsave64 (%rbx)
	call	*%r12
	fxrstor64 (%rbx)
2:	lea	-16(%rbp), %rsp
	pop	%r12
	pop	%rbx
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
END hook_guarded
	.hidden	hook_vectors_size, hook_vectors_mask
#endif
	.section .note.GNU-stack,"",@progbits
