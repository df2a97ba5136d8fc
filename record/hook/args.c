/*
 * Arguments and results as a plan describes them. Compiled for general registers alone: those of
 * the program still have its vectors. Memory is read in a way that cannot fault.
 */
#include "hook.h"

#include <sys/uio.h>

enum { TEXT_MOST = SPUR_TRACE_TEXT_MAX, PAGE = 4096 };

/* Copies what can be read of `size` bytes of the program's memory. Returns how many. */
static uint64_t memory_read(uint64_t from, void *to, uint64_t size)
{
	struct iovec local = { to, size }, remote = { (void *)from, size };
	const int kept = errno;
	const long self = syscall(SYS_getpid);
	long got;

	/* The last one is on the stack, where an int would leave the upper half as it was. */
	got = syscall(SYS_process_vm_readv, self, &local, 1L, &remote, 1L, 0L);
	errno = kept;
	return got < 0 ? 0 : (uint64_t)got;
}

/* Bytes up to the end, or to the first one that is 0. */
static uint64_t text_read(uint64_t from, char *to)
{
	uint64_t done = 0;

	while (done < TEXT_MOST) {
		uint64_t piece = PAGE - (from + done) % PAGE, got;

		if (piece > TEXT_MOST - done)
			piece = TEXT_MOST - done;
		got = memory_read(from + done, to + done, piece);
		for (uint64_t i = 0; i < got; i++)
			if (!to[done + i])
				return done + i;
		done += got;
		if (got < piece)
			break;
	}
	return done;
}

/* The double that has the value of a float, from bits to bits. */
static uint64_t float_widen(uint32_t bits)
{
	const uint64_t sign = (uint64_t)(bits >> 31) << 63;
	uint64_t exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;

	if (exponent == 0xFF)
		return sign | UINT64_C(0x7FF) << 52 | fraction << 29;
	if (!exponent) {
		if (!fraction)
			return sign;
		exponent = 1;
		while (!(fraction & 0x800000)) {
			fraction <<= 1;
			exponent--;
		}
		fraction &= 0x7FFFFF;
	}
	return sign | (exponent + 1023 - 127) << 52 | fraction << 29;
}

/* The double nearest to zero of an 80-bit number. */
static uint64_t long_double_narrow(uint64_t fraction, uint16_t head)
{
	const uint64_t sign = (uint64_t)(head >> 15) << 63;
	const int exponent = (head & 0x7FFF) - 16383 + 1023;

	if (!fraction || exponent <= 0)
		return sign;
	if (exponent >= 0x7FF)
		return sign | UINT64_C(0x7FF) << 52 |
		       ((head & 0x7FFF) == 0x7FFF ? fraction << 1 >> 12 : 0);
	return sign | (uint64_t)exponent << 52 | fraction << 1 >> 12;
}

static uint64_t vector_read(uint32_t number)
{
	uint64_t v = 0;

#define VECTOR(n)                                         \
	case n:                                           \
		__asm__ volatile("movq %%xmm" #n ", %0" : "=r"(v)); \
		break
	switch (number) {
		VECTOR(0);
		VECTOR(1);
		VECTOR(2);
		VECTOR(3);
		VECTOR(4);
		VECTOR(5);
		VECTOR(6);
		VECTOR(7);
	}
#undef VECTOR
	return v;
}

/* `result`: there is no stack of arguments. */
static uint64_t integer_read(const struct hook_regs *r, uint32_t number, bool result)
{
	if (result)
		return number ? r->rdx : r->rax;
	switch (number) {
	case 0:
		return r->rdi;
	case 1:
		return r->rsi;
	case 2:
		return r->rdx;
	case 3:
		return r->rcx;
	case 4:
		return r->r8;
	}
	return r->r9;
}

/* The first two words at a place. */
static void place_read(const struct plan_arg *a, const struct hook_regs *r, uint64_t stack,
		       uint64_t *to)
{
	switch (a->place) {
	case PLAN_IN_INTEGER:
		to[0] = integer_read(r, a->offset, !stack);
		to[1] = a->size > SPB_WORD ? integer_read(r, a->offset + 1, !stack) : 0;
		return;
	case PLAN_IN_VECTOR:
		to[0] = vector_read(a->offset);
		to[1] = a->size > SPB_WORD ? vector_read(a->offset + 1) : 0;
		return;
	case PLAN_ON_STACK:
		if (stack && memory_read(stack + SPB_WORD + a->offset, to, 2 * SPB_WORD) ==
				     2 * SPB_WORD)
			return;
	}
	to[0] = to[1] = 0;
}

/* A number as a word, by its type and size. */
static uint64_t number_widen(const struct plan_arg *a, const uint64_t *v)
{
	const unsigned bits = a->size < SPB_WORD ? 8u * a->size : 64;
	uint64_t word = v[0];

	if (a->type == SPB_F64) {
		if (a->size == 4)
			return float_widen((uint32_t)word);
		return a->size > SPB_WORD ? long_double_narrow(v[0], (uint16_t)v[1]) : word;
	}
	if (bits < 64 && bits) {
		word <<= 64 - bits;
		word = a->type == SPB_I64 ? (uint64_t)((int64_t)word >> (64 - bits))
					  : word >> (64 - bits);
	}
	return word;
}

/* Text or bytes: their length, and the rest. Returns the size in the record. */
static uint32_t bytes_put(char *to, uint64_t len)
{
	const uint32_t size = (uint32_t)(2 + len + 7) / 8 * 8;

	to[0] = (char)(len & 0xFF);
	to[1] = (char)(len >> 8);
	for (uint64_t i = 2 + len; i < size; i++)
		((volatile char *)to)[i] = 0;
	return size;
}

static uint32_t value_put(const struct plan_arg *a, const struct hook_regs *r, uint64_t stack,
			  char *to)
{
	uint64_t v[2] = { 0, 0 }, text[2] = { 0, 0 }, len;

	place_read(a, r, stack, v);
	if (a->type != SPB_TEXT && a->type != SPB_BYTES) {
		if (a->read == PLAN_MEMORY) {
			text[0] = v[0];
			v[0] = v[1] = 0;
			memory_read(text[0], v, a->size < sizeof(v) ? a->size : sizeof(v));
		}
		*(uint64_t *)(void *)to = number_widen(a, v);
		return SPB_WORD;
	}
	switch (a->read) {
	case PLAN_TEXT:
		return bytes_put(to, text_read(v[0], to + 2));
	case PLAN_STD_STRING:
		if (memory_read(v[0], text, sizeof(text)) < sizeof(text))
			return bytes_put(to, 0);
		len = text[1] < TEXT_MOST ? text[1] : TEXT_MOST;
		return bytes_put(to, memory_read(text[0], to + 2, len));
	case PLAN_MEMORY:
		return bytes_put(to, memory_read(v[0], to + 2, a->size));
	}
	len = a->size < sizeof(v) ? a->size : sizeof(v);
	for (uint64_t i = 0; i < len; i++)
		((volatile char *)to)[2 + i] = (char)(v[i / 8] >> i % 8 * 8);
	return bytes_put(to, len);
}

/* Where no room is left, texts are empty and numbers 0. */
uint32_t hook_values(const struct plan_arg *a, unsigned n, const struct hook_regs *r,
		     uint64_t stack, uint64_t *to)
{
	uint32_t size = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t need = TEXT_MOST + 2 * SPB_WORD + (n - i - 1) * SPB_WORD;

		if (size + need <= HOOK_VALUES_MOST) {
			size += value_put(&a[i], r, stack, (char *)to + size);
		} else {
			to[size / SPB_WORD] = 0;
			size += SPB_WORD;
		}
	}
	return size;
}
