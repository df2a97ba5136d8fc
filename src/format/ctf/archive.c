/*
 * SPEC ctf/archive: tar. Blocks of 512 bytes; a header: name at 0 (100), size at 124 (12, octal, or
 * binary where the high bit is set), checksum at 148, type at 156, name of a link's target at 157,
 * `ustar` at 257, front of the name at 345 (155, not of GNU). Type `x` before a header has `path`
 * and `size` for it, `L` its name. Regular files and hard links count; hidden names, and such with
 * `..`, do not.
 *
 * Does not read: sparse files, symbolic links.
 */
#include "format/ctf/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/search.h"
#include "base/text.h"

enum {
	BLOCK = 512,
	NAME_AT = 0,
	NAME_LEN = 100,
	SIZE_AT = 124,
	SIZE_LEN = 12,
	SUM_AT = 148,
	SUM_LEN = 8,
	TYPE_AT = 156,
	LINK_AT = 157,
	MAGIC_AT = 257,
	PREFIX_AT = 345,
	PREFIX_LEN = 155,
	MAX_MEMBERS = 1 << 20,
	ROOM = 4096, /* bytes of a name */
	MAX_PAX = 1 << 20, /* bytes of an extended header that are looked at */
};

struct reader {
	struct ctf_archive *a;
	const uint8_t *data;
	uint64_t size, off;
	const char *shown;
	struct diag_log *diag;
	/* Said by the headers before this one, for it. */
	char name[ROOM], link[ROOM];
	uint64_t linked; /* bytes of hard links, which cost nothing in the archive */
	bool has_size, sparse;
	uint64_t told_size;
};

/* Octal digits among blanks, or a binary number. False: other bytes. */
static bool read_number(const uint8_t *p, size_t len, uint64_t *out)
{
	size_t i = 0;
	bool any = false;

	*out = 0;
	if (p[0] & 0x80) {
		for (i = 4; i < len; i++)
			*out = *out << 8 | p[i];
		return (p[0] & 0x7F) == 0 && len == SIZE_LEN && !p[1] && !p[2] && !p[3];
	}
	while (i < len && p[i] == ' ')
		i++;
	for (; i < len && p[i] >= '0' && p[i] <= '7'; i++, any = true)
		*out = *out * 8 + (uint64_t)(p[i] - '0');
	return any && (i == len || p[i] == ' ' || p[i] == '\0');
}

/* By its checksum: the oldest archives have no magic number. */
static bool is_header(const uint8_t *p)
{
	uint64_t want, sum = 0;

	if (!p[0] || !read_number(p + SUM_AT, SUM_LEN, &want))
		return false;
	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= SUM_AT && i < SUM_AT + SUM_LEN ? ' ' : p[i];
	return sum == want;
}

bool archive_is(const uint8_t *data, size_t size)
{
	return size >= BLOCK && is_header(data);
}

bool archive_has(const uint8_t *data, size_t size,
		 bool (*fits)(const char *name, const uint8_t *data, size_t size))
{
	size_t off = 0;

	while (size - off >= BLOCK) {
		const size_t left = size - off - BLOCK;
		char name[NAME_LEN + 1];
		uint64_t len;

		if (!is_header(data + off) || !read_number(data + off + SIZE_AT, SIZE_LEN, &len)) {
			off += BLOCK;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", NAME_LEN, (const char *)data + off);
		if (fits(name, data + off + BLOCK, len < left ? (size_t)len : left))
			return true;
		if (len >= left)
			return false;
		len = align_up(len, BLOCK);
		off += BLOCK + (len < left ? (size_t)len : left);
	}
	return false;
}

static bool is_zero(const uint8_t *p)
{
	return !p[0] && memcmp(p, p + 1, BLOCK - 1) == 0;
}

/* Without "./", "//" and a "/" in front; false: not one that is wanted. */
static bool clean_name(const char *from, char *to)
{
	struct text rest = text_of(from), part;
	size_t len = 0;

	while (text_split(&rest, '/', &part)) {
		if (!part.len || (part.len == 1 && part.p[0] == '.'))
			continue;
		if (part.p[0] == '.' || len + part.len + 2 > ROOM)
			return false;
		if (len)
			to[len++] = '/';
		memcpy(to + len, part.p, part.len);
		len += part.len;
	}
	to[len] = '\0';
	return len > 0;
}

static void header_name(const uint8_t *h, char *name)
{
	const bool posix = memcmp(h + MAGIC_AT, "ustar", 6) == 0 && h[PREFIX_AT];

	snprintf(name, ROOM, "%.*s%s%.*s", posix ? PREFIX_LEN : 0, (const char *)h + PREFIX_AT,
		 posix ? "/" : "", NAME_LEN, (const char *)h + NAME_AT);
}

static bool member_add(struct reader *r, const char *name, const uint8_t *data, uint64_t size)
{
	struct ctf_archive *a = r->a;
	char clean[ROOM];

	if (!clean_name(name, clean))
		return true;
	if (a->count >= MAX_MEMBERS) {
		diag_add(r->diag, DIAG_DAMAGE, "ctf/archive", r->shown, r->off, r->size - r->off,
			 "expected at most %d files in the archive, found more: the rest is not "
			 "read",
			 MAX_MEMBERS);
		r->off = r->size;
		return true;
	}
	if (!mem_grow((void **)&a->members, &a->cap, a->count + 1, sizeof(*a->members),
		      MAX_MEMBERS))
		return false;
	a->members[a->count] =
		(struct ctf_tar_file){ .name = arena_strdup(&a->arena, clean, strlen(clean)),
				       .data = data,
				       .size = size,
				       .number = a->count };
	return a->members[a->count++].name != NULL;
}

/* A hard link is the file that it names, the last of them before it. */
static bool link_add(struct reader *r, const char *name, const char *target)
{
	char clean[ROOM];

	if (!clean_name(target, clean))
		return true;
	for (size_t i = r->a->count, looked = 0; i-- > 0 && looked < 1024; looked++)
		if (strcmp(r->a->members[i].name, clean) == 0 &&
		    r->a->members[i].size <= r->size - r->linked) {
			r->linked += r->a->members[i].size;
			return member_add(r, name, r->a->members[i].data, r->a->members[i].size);
		}
	diag_add(r->diag, DIAG_WARN, "ctf/archive", r->shown, r->off, 0,
		 "expected the target of a link before it, and links to no more bytes than "
		 "there are, found another: skipped");
	return true;
}

/* Lines "LENGTH KEY=VALUE\n". */
static void read_pax(struct reader *r, const uint8_t *data, uint64_t size)
{
	struct text rest = text_make(data, size < MAX_PAX ? (size_t)size : MAX_PAX), line, value;
	uint64_t len;

	while (rest.len) {
		line = rest;
		if (!text_u64(&line, 10, &len) || len > rest.len || len <= rest.len - line.len)
			break;
		line.len = (size_t)len - (rest.len - line.len);
		rest.p += len;
		rest.len -= (size_t)len;
		if (line.len && line.p[line.len - 1] == '\n')
			line.len--;
		value = line;
		if (text_skip(&value, " path="))
			snprintf(r->name, ROOM, "%.*s", (int)(value.len < ROOM ? value.len : 0),
				 value.p);
		else if (text_skip(&value, " linkpath="))
			snprintf(r->link, ROOM, "%.*s", (int)(value.len < ROOM ? value.len : 0),
				 value.p);
		else if (text_skip(&value, " size="))
			r->has_size = text_u64(&value, 10, &r->told_size);
		else if (text_skip(&value, " GNU.sparse."))
			r->sparse = true;
	}
}

static void forget(struct reader *r)
{
	r->name[0] = r->link[0] = '\0';
	r->has_size = r->sparse = false;
}

/* What the current header is of; its bytes are `size`. Returns false if out of memory. */
static bool read_member(struct reader *r, const uint8_t *h, const uint8_t *data, uint64_t size)
{
	const char type = (char)h[TYPE_AT];
	char name[ROOM], target[ROOM];
	bool good = true;

	if (type == 'x') {
		read_pax(r, data, size);
		return true;
	}
	if (type == 'L' || type == 'K') {
		snprintf(type == 'L' ? r->name : r->link, ROOM, "%.*s",
			 (int)(size < ROOM ? size : 0), (const char *)data);
		return true;
	}
	if (type == 'g')
		return true;
	header_name(h, name);
	snprintf(target, ROOM, "%.*s", NAME_LEN, (const char *)h + LINK_AT);
	if (r->sparse || type == 'S')
		diag_add(r->diag, DIAG_WARN, "ctf/archive", r->shown, r->off, 0,
			 "expected a file as it is, found one with holes left out: skipped");
	else if (type == '0' || type == '\0' || type == '7')
		good = member_add(r, r->name[0] ? r->name : name, data, size);
	else if (type == '1')
		good = link_add(r, r->name[0] ? r->name : name, r->link[0] ? r->link : target);
	forget(r);
	return good;
}

/* No header stands here: on to the next one. */
static void pass_over(struct reader *r)
{
	const uint64_t from = r->off;

	do
		r->off += BLOCK;
	while (r->size - r->off >= BLOCK && r->off < r->size && !is_header(r->data + r->off));
	if (r->off > r->size || r->size - r->off < BLOCK)
		r->off = r->size;
	diag_add(r->diag, DIAG_DAMAGE, "ctf/archive", r->shown, from, r->off - from,
		 "expected the header of a file in the archive, found other bytes");
	forget(r);
}

static bool read_all(struct reader *r)
{
	bool good = true;

	/* Invariant: off grows with every turn, and is never after the end. */
	while (good && r->size - r->off >= BLOCK) {
		const uint8_t *h = r->data + r->off;
		uint64_t size = 0, left = r->size - r->off - BLOCK;
		const bool body = h[TYPE_AT] < '1' || h[TYPE_AT] > '6';

		if (is_zero(h))
			break;
		if (!is_header(h) || !read_number(h + SIZE_AT, SIZE_LEN, &size)) {
			pass_over(r);
			continue;
		}
		if (r->has_size && h[TYPE_AT] != 'x' && h[TYPE_AT] != 'L' && h[TYPE_AT] != 'K')
			size = r->told_size;
		if (!body)
			size = 0;
		if (size > left)
			diag_add(r->diag, DIAG_DAMAGE, "ctf/archive", r->shown, r->off, 0,
				 "file in the archive: expected %llu bytes, found %llu: cut off",
				 (unsigned long long)size, (unsigned long long)left);
		size = size < left ? size : left;
		good = read_member(r, h, h + BLOCK, size);
		if (r->off < r->size)
			r->off += BLOCK + (left - size >= BLOCK - 1
						   ? (size + BLOCK - 1) / BLOCK * BLOCK
						   : left);
	}
	return good;
}

static int by_name(const void *a, const void *b)
{
	const struct ctf_tar_file *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

bool archive_open(struct ctf_archive **out, const uint8_t *data, uint64_t size, const char *shown,
		  struct diag_log *diag)
{
	struct ctf_archive *a = mem_alloc(sizeof(*a));
	struct reader *r = mem_alloc(sizeof(*r));
	size_t n = 0;
	bool good = a && r;

	*out = a;
	if (a)
		arena_init(&a->arena);
	if (good) {
		r->a = a;
		r->data = data;
		r->size = size;
		r->shown = shown;
		r->diag = diag;
		good = read_all(r);
	}
	mem_free(r);
	if (!good)
		return false;
	if (a->count)
		qsort(a->members, a->count, sizeof(*a->members), by_name);
	for (size_t i = 0; i < a->count; i++) {
		if (n && strcmp(a->members[n - 1].name, a->members[i].name) == 0)
			n--;
		a->members[n++] = a->members[i];
	}
	a->count = n;
	return true;
}

void archive_close(struct ctf_archive *a)
{
	if (!a)
		return;
	mem_free(a->members);
	arena_free(&a->arena);
	mem_free(a);
}

const struct ctf_tar_file *archive_find(const struct ctf_archive *a, const char *name)
{
	size_t i;

	name += strspn(name, "/");
	bisect(i, 0, a->count, strcmp(a->members[i].name, name) < 0);
	return i < a->count && strcmp(a->members[i].name, name) == 0 ? &a->members[i] : NULL;
}
