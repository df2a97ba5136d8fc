/*
 * A recorded function that does nothing changes no register: general and vector registers have
 * their values when it returns. Enough calls are made for records in several pages and chunks.
 * Prints the registers that differ. Built with -DSLEDS, r10 does not count: the code of a sled sets
 * it to the function's number, whatever answers it.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CALLS = 40000, GENERAL = 15, VECTORS = 16, VECTOR = 32 };

struct registers {
	uint64_t general[GENERAL]; /* in the order of `names` */
	unsigned char vectors[VECTORS][VECTOR];
};

struct registers before, after;
uint32_t has_ymm; /* else the low halves */

void leaf(void);
__attribute__((noinline)) void leaf(void)
{
	__asm__ volatile("");
}

/* Calls leaf() with `before`, and stores `after`. */
void call_leaf(void);
__asm__(".text\n"
	".macro each_general do\n"
	"	.irp r, rax,rbx,rcx,rdx,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15,rbp\n"
	"	\\do \\r\n"
	"	.endr\n"
	".endm\n"
	".macro load r\n"
	"	mov before+at(%rip), %\\r\n"
	"	at = at + 8\n"
	".endm\n"
	".macro store r\n"
	"	mov %\\r, after+at(%rip)\n"
	"	at = at + 8\n"
	".endm\n"
	"	.p2align 4\n"
	"	.type call_leaf, @function\n"
	"call_leaf:\n"
	"	.irp r, rbx,rbp,r12,r13,r14,r15\n"
	"	push %\\r\n"
	"	.endr\n"
	"	sub $8, %rsp\n"
	"	cmpl $0, has_ymm(%rip)\n"
	"	je 1f\n"
	"	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu before+120+32*\\n(%rip), %ymm\\n\n"
	"	.endr\n"
	"	jmp 2f\n"
	"1:\n"
	"	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movdqu before+120+32*\\n(%rip), %xmm\\n\n"
	"	.endr\n"
	"2:	at = 0\n"
	"	each_general load\n"
	"	call leaf\n"
	"	at = 0\n"
	"	each_general store\n"
	"	cmpl $0, has_ymm(%rip)\n"
	"	je 3f\n"
	"	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu %ymm\\n, after+120+32*\\n(%rip)\n"
	"	.endr\n"
	"	vzeroupper\n"
	"	jmp 4f\n"
	"3:\n"
	"	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movdqu %xmm\\n, after+120+32*\\n(%rip)\n"
	"	.endr\n"
	"4:	add $8, %rsp\n"
	"	.irp r, r15,r14,r13,r12,rbp,rbx\n"
	"	pop %\\r\n"
	"	.endr\n"
	"	ret\n"
	"	.size call_leaf, . - call_leaf\n");

static const char *const names[GENERAL] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
					    "r10", "r11", "r12", "r13", "r14", "r15", "rbp" };

static int counts(int i)
{
#ifdef SLEDS
	return strcmp(names[i], "r10") != 0;
#else
	return i >= 0;
#endif
}

/* Returns how many registers differ. */
static int compare(int call)
{
	const size_t size = has_ymm ? VECTOR : VECTOR / 2;
	int differ = 0;

	for (int i = 0; i < GENERAL; i++)
		if (counts(i) && after.general[i] != before.general[i]) {
			printf("call %d: %s differs\n", call, names[i]);
			differ++;
		}
	for (int i = 0; i < VECTORS; i++)
		if (memcmp(after.vectors[i], before.vectors[i], size)) {
			printf("call %d: vector register %d differs\n", call, i);
			differ++;
		}
	return differ;
}

int main(void)
{
	has_ymm = __builtin_cpu_supports("avx") != 0;
	for (int call = 0; call < CALLS; call++) {
		for (int i = 0; i < GENERAL; i++)
			before.general[i] = UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(call + i + 1);
		memset(before.vectors, 1 + call % 255, sizeof(before.vectors));
		call_leaf();
		if (compare(call))
			return 1;
	}
	puts("all as before");
	return 0;
}
