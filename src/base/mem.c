/* Heap, scratch memory and arena. See mem.h. */
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/file.h"
#include "base/os.h"

enum {
	/* Bytes of a new array, about: there may be one for each of a million threads */
	GROW_MIN = 256,
	CLEAR_PIECE = 2048,
	CLEAR_LOOK = 1 << 18, /* bytes; fewer are cleared unseen */
	/* Up to here scratch memory is the heap's: there may be one for each of many streams. */
	SCRATCH_HEAP = 1024,
	SCRATCH_ANON = 16 << 20, /* from here on scratch memory is a file */
	TABLE_HEAP = 1 << 20, /* below this, tables are in the heap; from here on, each is a file */
	BLOCK_MIN = 512, /* each feed with damage has an arena */
	BLOCK_MAX = 1 << 20,
	ARENA_ALIGN = 16,
};

static _Atomic uint64_t fail_at, counted;
static uint64_t of_process, of_all; /* atomic */
_Thread_local uint64_t *mem_charged = &of_process;

void mem_fail_at(uint64_t n)
{
	atomic_store(&counted, 0);
	atomic_store(&fail_at, n);
}

uint64_t mem_count(void)
{
	return atomic_load(&counted);
}

void mem_failed(int error)
{
	uint64_t old = __atomic_load_n(mem_charged, __ATOMIC_RELAXED), next;

	assert(error > 0);
	do
		next = ((old + 1) & MEM_COUNT) | (uint64_t)error << MEM_COUNT_BITS;
	while (!__atomic_compare_exchange_n(mem_charged, &old, next, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	if (error == ENOMEM)
		__atomic_fetch_add(&of_all, 1, __ATOMIC_RELAXED);
}

int mem_error(void)
{
	return (int)(__atomic_load_n(mem_charged, __ATOMIC_RELAXED) >> MEM_COUNT_BITS);
}

#ifdef SPUR_FAULTS
/*
 * A build for tests: SPUR_FAIL_AT=n makes the n-th allocation of the program fail, and all after
 * it, or with SPUR_FAIL_ONCE=1 only that one; 0 only counts. The number of allocations is written
 * to the file SPUR_FAIL_COUNT when the program ends.
 */
bool mem_fails_once; /* of tests/fuzz/faults.c, too */

__attribute__((constructor)) static void faults_begin(void)
{
	const char *at = getenv("SPUR_FAIL_AT");
	const char *once = getenv("SPUR_FAIL_ONCE");
	const uint64_t n = at ? strtoull(at, NULL, 10) : 0;

	mem_fails_once = once && *once;
	if (at)
		mem_fail_at(n ? n : UINT64_MAX);
}

__attribute__((destructor)) static void faults_end(void)
{
	const char *path = getenv("SPUR_FAIL_COUNT");
	const int fd = path ? os_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	char text[24];
	const int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)mem_count());

	if (fd < 0)
		return;
	(void)!os_write(fd, text, (size_t)len);
	os_close(fd);
}
#else
enum { mem_fails_once = false };
#endif

static void *mem_given(void *p)
{
	if (!p)
		mem_failed(ENOMEM);
	return p;
}

uint64_t mem_failures_all(void)
{
	return __atomic_load_n(&of_all, __ATOMIC_RELAXED);
}

bool mem_refused(void)
{
	const uint64_t at = atomic_load_explicit(&fail_at, memory_order_relaxed);
	uint64_t n;

	if (!at)
		return false;
	n = atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed) + 1;
	return mem_fails_once ? n == at : n >= at;
}

void *mem_alloc(size_t size)
{
	return mem_given(mem_refused() || size > PTRDIFF_MAX ? NULL : calloc(1, size ? size : 1));
}

void *mem_array(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return mem_alloc(bytes);
}

void mem_free(void *p)
{
	free(p);
}

static bool is_zero(const char *p, size_t size)
{
	uint64_t any = 0, w;

	for (size_t i = 0; i + sizeof(w) <= size; i += sizeof(w)) {
		memcpy(&w, p + i, sizeof(w));
		any |= w;
	}
	return !any;
}

/*
 * Clears what was added to an array. Of a large one most is memory that was never touched, and is
 * zero: it is only read, so that it stays shared with all that was never touched, and takes no
 * memory until it is used.
 */
static void clear(char *p, size_t size)
{
	for (; size >= CLEAR_LOOK; p += CLEAR_PIECE, size -= CLEAR_PIECE)
		if (!is_zero(p, CLEAR_PIECE))
			memset(p, 0, CLEAR_PIECE);
	memset(p, 0, size);
}

/* Returns the capacity of an array that grows for `need` elements: doubled, at most `limit`. */
static size_t grown(size_t cap, size_t need, size_t size, size_t limit)
{
	const size_t least = size < GROW_MIN ? GROW_MIN / size : 1;
	size_t want = cap > limit / 2 ? limit : cap * 2;

	if (want < least)
		want = least < limit ? least : limit;
	return want < need ? need : want;
}

bool mem_grow(void **p, size_t *cap, size_t need, size_t size, size_t limit)
{
	size_t want, bytes;
	void *array;

	assert(size && (*p || !*cap));
	if (need <= *cap)
		return true;
	if (need > limit)
		return false;
	want = grown(*cap, need, size, limit);
	if (__builtin_mul_overflow(want, size, &bytes) || bytes > PTRDIFF_MAX)
		return false;
	/* Copied as bytes: `p` points at a pointer to some other type. */
	memcpy(&array, p, sizeof(array));
	array = mem_given(mem_refused() ? NULL : realloc(array, bytes ? bytes : 1));
	if (!array)
		return false;
	clear((char *)array + *cap * size, bytes - *cap * size);
	memcpy(p, &array, sizeof(array));
	*cap = want;
	return true;
}

void mem_trim(void **p, size_t *cap, size_t count, size_t size)
{
	void *array;

	if (!count || count >= *cap)
		return;
	memcpy(&array, p, sizeof(array));
	array = realloc(array, count * size);
	if (!array)
		return;
	memcpy(p, &array, sizeof(array));
	*cap = count;
}

static size_t scratch_bytes(size_t size)
{
	return align_up(size ? size : 1, (uint64_t)sysconf(_SC_PAGESIZE));
}

/*
 * Returns MAP_FAILED (errno) if it fails. Without a file, or for less than `anon` bytes, the memory
 * is anonymous, but not if the disk is full.
 */
static void *scratch_map(size_t bytes, size_t anon)
{
	const int fd = bytes >= anon ? temp_file_open() : -1;
	void *p = MAP_FAILED;
	int rc;

	if (fd < 0)
		return os_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	/* A hole that cannot be filled later would be a SIGBUS. */
	do {
		rc = os_posix_fallocate(fd, 0, (off_t)bytes);
	} while (rc == EINTR);
	if (!rc) {
		p = os_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		rc = errno;
	}
	os_close(fd);
	errno = rc;
	return p;
}

/* As scratch_alloc(): a file from `anon` bytes on. */
static void *scratch_new(size_t size, size_t anon)
{
	void *p = MAP_FAILED;

	errno = ENOMEM;
	if (!mem_refused() && size <= PTRDIFF_MAX / 2)
		p = scratch_map(scratch_bytes(size), anon);
	if (p != MAP_FAILED)
		return p;
	mem_failed(errno);
	return NULL;
}

void *scratch_alloc(size_t size)
{
	return size <= SCRATCH_HEAP ? mem_alloc(size) : scratch_new(size, SCRATCH_ANON);
}

void scratch_free(void *p, size_t size)
{
	if (p && size <= SCRATCH_HEAP)
		mem_free(p);
	else if (p)
		os_munmap(p, scratch_bytes(size));
}

bool scratch_reserve(void **p, size_t *cap, size_t need, size_t size)
{
	size_t want = *cap > SIZE_MAX / 2 ? need : *cap * 2, bytes;
	void *array, *bigger;

	if (need <= *cap)
		return true;
	want = want > need ? want : need;
	if (__builtin_mul_overflow(want, size, &bytes))
		return false;
	bigger = scratch_alloc(bytes);
	if (!bigger)
		return false;
	/* Copied as bytes: `p` points at a pointer to some other type. */
	memcpy(&array, p, sizeof(array));
	if (array) {
		memcpy(bigger, array, *cap * size);
		scratch_free(array, *cap * size);
	}
	memcpy(p, &bigger, sizeof(bigger));
	*cap = want;
	return true;
}

void *mem_table_alloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return bytes < TABLE_HEAP ? mem_alloc(bytes) : scratch_new(bytes, TABLE_HEAP);
}

void mem_table_free(void *p, size_t count, size_t size)
{
	if (p && count * size < TABLE_HEAP)
		mem_free(p);
	else if (p)
		os_munmap(p, scratch_bytes(count * size));
}

bool mem_table_grow(void **p, size_t *cap, size_t need, size_t size, size_t limit)
{
	void *table, *bigger;
	size_t want;

	if (need <= *cap)
		return true;
	if (need > limit)
		return false;
	want = grown(*cap, need, size, limit);
	if (want < TABLE_HEAP / size)
		return mem_grow(p, cap, need, size, limit);
	bigger = mem_table_alloc(want, size);
	if (!bigger)
		return false;
	/* Copied as bytes: `p` points at a pointer to some other type. */
	memcpy(&table, p, sizeof(table));
	if (table)
		memcpy(bigger, table, *cap * size);
	mem_table_free(table, *cap, size);
	memcpy(p, &bigger, sizeof(bigger));
	*cap = want;
	return true;
}

/* What a spare array begins with. */
struct spare {
	void *next;
	size_t cap;
};

void mem_spare_put(struct mem_spare *s, void **p, size_t *cap)
{
	const struct spare head = { .next = s->first, .cap = *cap };
	void *array;

	memcpy(&array, p, sizeof(array));
	if (!array)
		return;
	memcpy(array, &head, sizeof(head));
	s->first = array;
	array = NULL;
	memcpy(p, &array, sizeof(array));
	*cap = 0;
}

void mem_spare_take(struct mem_spare *s, void **p, size_t *cap)
{
	struct spare head;

	if (!s->first)
		return;
	memcpy(&head, s->first, sizeof(head));
	memcpy(p, &s->first, sizeof(s->first));
	*cap = head.cap;
	s->first = head.next;
}

void mem_spare_free(struct mem_spare *s)
{
	size_t cap;
	void *array;

	while (s->first) {
		mem_spare_take(s, &array, &cap);
		mem_free(array);
	}
}

/* INVARIANT: the bytes of a block past `used` are zero; `size` is a multiple of ARENA_ALIGN. */
struct arena_block {
	struct arena_block *next;
	size_t size, used;
	_Alignas(ARENA_ALIGN) char data[];
};

void arena_init(struct arena *a)
{
	*a = (struct arena){ 0 };
}

void arena_init_scratch(struct arena *a)
{
	*a = (struct arena){ .scratch = true };
}

static void arena_block_free(const struct arena *a, struct arena_block *b)
{
	if (a->scratch)
		mem_table_free(b, 1, sizeof(*b) + b->size);
	else
		mem_free(b);
}

/* A block for `size` more bytes; a large piece gets its own after the current block. */
static struct arena_block *arena_block_add(struct arena *a, size_t size)
{
	struct arena_block *head = a->blocks;
	size_t want = head ? head->size * 2 : BLOCK_MIN;
	struct arena_block *b;

	/* Large pieces alone would never make the blocks of a scratch arena files. */
	if (want > BLOCK_MAX || (a->scratch && a->used >= BLOCK_MAX))
		want = BLOCK_MAX;
	if (size > want / 4)
		want = size = align_up(size, ARENA_ALIGN);
	b = a->scratch ? mem_table_alloc(1, sizeof(*b) + want) : mem_alloc(sizeof(*b) + want);
	if (!b)
		return NULL;
	b->size = want;
	if (head && want == size) {
		b->next = head->next;
		head->next = b;
	} else {
		b->next = head;
		a->blocks = b;
	}
	return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;

	if (size > PTRDIFF_MAX / 2)
		return NULL;
	size = align_up(size ? size : 1, ARENA_ALIGN);
	if (b)
		b->used = align_up(b->used, ARENA_ALIGN);
	return arena_chars(a, size);
}

char *arena_chars(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	char *p;

	if (size > PTRDIFF_MAX / 2)
		return NULL;
	if (!b || b->size - b->used < size) {
		b = arena_block_add(a, size);
		if (!b)
			return NULL;
	}
	p = b->data + b->used;
	b->used += size;
	assert(b->used <= b->size);
	a->used += size;
	return p;
}

char *arena_strdup(struct arena *a, const char *s, size_t len)
{
	char *p = len < PTRDIFF_MAX / 2 ? arena_chars(a, len + 1) : NULL;

	if (p && len)
		memcpy(p, s, len);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	p = arena_chars(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->blocks;

	for (struct arena_block *b = a->blocks; b; b = b->next) {
		if (b->size > keep->size)
			keep = b;
	}
	for (struct arena_block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		if (b != keep)
			arena_block_free(a, b);
	}
	if (keep) {
		memset(keep->data, 0, keep->used);
		keep->used = 0;
		keep->next = NULL;
	}
	a->blocks = keep;
	a->used = 0;
}

void arena_join(struct arena *into, struct arena *from)
{
	struct arena_block **end = &into->blocks;

	assert(!into->scratch && !from->scratch);
	while (*end)
		end = &(*end)->next;
	*end = from->blocks;
	into->used += from->used;
	arena_init(from);
}

void arena_free(struct arena *a)
{
	for (struct arena_block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		arena_block_free(a, b);
	}
	*a = (struct arena){ .scratch = a->scratch };
}
