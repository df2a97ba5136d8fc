/*
 * A reader of recordings by docs/formats/spur.md, made only to check the library's: no part of it
 * is shared. It knows the sites of scenario.c by their names.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "law.h"

enum {
	HEADER = 4096,
	PAGE = 4096,
	HEAD = 64,
	CLOSED = 40,
	SITES = 16,
	STRINGS = 16,
	RECORDS = 4096,
	THREADS = 64,
};

struct record {
	uint64_t thread, sequence, time, order;
	uint64_t opened, closed; /* when its chunk was; closed: 0 if it was not */
	const uint8_t *p; /* its payload */
	uint64_t fiber; /* that runs */
	uint32_t words, site;
};

static char names[SITES][16];
static struct {
	uint64_t id;
	char text[16];
} strings[STRINGS];
static size_t nstrings;
static struct record records[RECORDS];
static size_t nrecords;
static uint64_t fiber; /* that runs in the chunk that is read */
static uint64_t tids[THREADS]; /* of the threads with these numbers; 0: not known yet */

static uint64_t number(const uint8_t *p, unsigned size)
{
	uint64_t v = 0;

	for (unsigned i = size; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

/* SPEC spur/descriptor: number, kind, three counts, line, category, name. */
static void site(const uint8_t *p, size_t size)
{
	const uint64_t n = number(p + 8, 4);
	size_t category, len;

	if (size < 24 || !n || n >= SITES || !p[12]) {
		law_read_damage();
		return;
	}
	category = number(p + 20, 2);
	if (24 + category > size) {
		law_read_damage();
		return;
	}
	len = number(p + 22 + category, 2);
	if (24 + category + len > size || len >= sizeof(names[0])) {
		law_read_damage();
		return;
	}
	memcpy(names[n], p + 24 + category, len);
	names[n][len] = '\0';
}

/* A number, then a text. */
static void string(const uint8_t *p, size_t size)
{
	const size_t len = size < 18 ? size : number(p + 16, 2);

	if (18 + len > size || len >= sizeof(strings[0].text) || nstrings == STRINGS) {
		law_read_damage();
		return;
	}
	strings[nstrings].id = number(p + 8, 8);
	memcpy(strings[nstrings].text, p + 18, len);
	strings[nstrings++].text[len] = '\0';
}

static void descriptors(const uint8_t *chunk, size_t chunk_size)
{
	for (size_t page = 0; page < chunk_size; page += PAGE) {
		size_t at = page ? page : HEAD;

		while (at + 8 <= page + PAGE) {
			const uint64_t size = number(chunk + at, 4);

			if (!size)
				break;
			if (size % 8 || size < 8 || at + size > page + PAGE) {
				law_read_damage();
				break;
			}
			if (!number(chunk + at + 4, 4))
				law_read_damage();
			if (number(chunk + at + 4, 4) == 1)
				site(chunk + at, size);
			if (number(chunk + at + 4, 4) == 8)
				string(chunk + at, size);
			at += size;
		}
	}
}

static void record(const uint8_t *chunk, const uint8_t *p, uint64_t words, uint64_t time)
{
	const uint64_t word = number(p, 8);

	if (nrecords == RECORDS)
		abort();
	records[nrecords] = (struct record){ .thread = number(chunk + 20, 4),
					     .sequence = number(chunk + 8, 8),
					     .time = time,
					     .order = nrecords,
					     .opened = number(chunk + 24, 8),
					     .closed = number(chunk + CLOSED, 8),
					     .fiber = fiber,
					     .p = p + ((word >> 4 & 15) == 15 ? 16 : 8),
					     .words = (uint32_t)words,
					     .site = (uint32_t)(word >> 8 & 0xFFFFFF) };
	nrecords++;
}

/* SPEC spur/commit: the words of a page. */
static void page_records(const uint8_t *chunk, size_t at, size_t end, uint64_t *time)
{
	size_t hole = 0;

	for (; at < end;) {
		const uint64_t word = number(chunk + at, 8);
		uint64_t words = word >> 4 & 15, head = 8;

		if (!word) {
			hole = hole ? hole : at;
			at += 8;
			continue;
		}
		if (hole)
			law_read_lost(1);
		hole = 0;
		if (words == 15) {
			words = at + 16 <= end ? number(chunk + at + 8, 4) : PAGE;
			head = 16;
			if ((word & 15) == 14)
				words = word >> 32; /* SPEC spur/reserved */
		}
		if (at + head + 8 * words > end) {
			law_read_damage();
			return;
		}
		if ((word & 15) == 14) {
			law_read_lost(1);
		} else if ((word & 15) == 3) {
			*time += (uint64_t)(int32_t)((uint32_t)(word >> 32) - (uint32_t)*time);
			record(chunk, chunk + at, words, *time);
		} else if ((word & 15) == 10) {
			law_read_lost(number(chunk + at + head, 8));
		} else if ((word & 15) == 9 && words == 1) {
			fiber = number(chunk + at + head, 8);
		} else if ((word & 15) == 8 && words == 1) {
			*time = number(chunk + at + head, 8);
		} else if ((word & 15) == 15) {
			/* PAD: nothing */
		} else {
			law_read_damage();
		}
		at += head + 8 * words;
	}
}

static void chunk_records(const uint8_t *chunk, size_t chunk_size)
{
	uint64_t time = number(chunk + 24, 8);
	const uint64_t tid = number(chunk + 16, 4), thread = number(chunk + 20, 4);

	/* SPEC spur/thread */
	if (!thread || thread >= THREADS || (tids[thread] && tids[thread] != tid))
		law_read_damage();
	else
		tids[thread] = tid;
	law_read_lost(number(chunk + 56, 8));
	/* SPEC spur/fiber: a chunk begins on the thread's own stack. */
	fiber = 0;
	for (size_t page = 0; page < chunk_size; page += PAGE)
		page_records(chunk, page ? page : HEAD, page + PAGE, &time);
}

static int by_sequence(const void *a, const void *b)
{
	const struct record *const x = a, *const y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* "string ." of an event. */
static bool is_string(const char *text, uint64_t event)
{
	return strncmp(text, "string ", 7) == 0 && text[7] == law_text(event % 3, 0) && !text[8];
}

/* The string of an id; 0 is that of a string that had no room. */
static bool is_id(uint64_t id, uint64_t event)
{
	for (size_t i = 0; i < nstrings; i++)
		if (strings[i].id == id)
			return is_string(strings[i].text, event);
	return !id;
}

/* SPEC spur/list: what a process was told. */
static bool is_list(const struct record *r)
{
	const char *const text = (const char *)r->p + 2;

	return r->words == 1 && ((number(r->p, 2) == 4 && memcmp(text, "none", 4) == 0) ||
				 (number(r->p, 2) == 3 && memcmp(text, "all", 3) == 0));
}

/* A number and its complement; or a number and texts. */
static void tell(const struct record *r, unsigned gaps)
{
	const char *const name = r->site < SITES ? names[r->site] : "";
	const uint64_t event = r->words ? number(r->p, 8) : 0;
	bool whole = event != 0;

	law_read_chunk(r->sequence, gaps);
	law_read_fiber(r->fiber);
	if (strcmp(name, "tick") == 0) {
		law_read_tick();
	} else if (strcmp(name, "categories") == 0) {
		law_read_told(is_list(r));
	} else if (strcmp(name, "unnamed") == 0 || is_string(name, event)) {
		law_read_event(event, whole && r->words == 2 && number(r->p + 8, 8) == ~event);
	} else if (strcmp(name, "string") == 0) {
		law_read_event(event, whole && r->words == 2 && is_id(number(r->p + 8, 8), event));
	} else if (strcmp(name, "pair") == 0) {
		law_read_event(event, whole && r->words == 2 && number(r->p + 8, 8) == ~event);
	} else if (strcmp(name, "text") == 0 || strcmp(name, "large") == 0) {
		for (size_t at = 8; at < 8 * (size_t)r->words;) {
			const size_t len = number(r->p + at, 2);

			for (size_t i = 0; i < len && whole; i++)
				whole = at + 2 + i < 8 * (size_t)r->words &&
					(char)r->p[at + 2 + i] == law_text(event, i);
			at += (2 + len + 7) / 8 * 8;
		}
		law_read_event(event, whole);
	} else {
		law_read_damage();
	}
}

/* Gaps between chunks of a record's thread before it; `gaps`: those before the last record. */
static unsigned gaps_before(size_t i, unsigned gaps)
{
	const struct record *const r = &records[i], *const last = r - 1;

	if (!i || last->thread != r->thread)
		return 0;
	return gaps + (last->sequence != r->sequence && last->closed && last->closed < r->opened);
}

void parse(const uint8_t *file, size_t size)
{
	unsigned gaps = 0;
	const size_t chunk_size = size >= HEADER ? number(file + 8, 4) : 0;

	memset(names, 0, sizeof(names));
	memset(tids, 0, sizeof(tids));
	nrecords = nstrings = 0;
	if (size < HEADER || memcmp(file, "SPURSPB1", 8) != 0)
		return;
	if (chunk_size < PAGE || chunk_size & (chunk_size - 1)) {
		law_read_damage();
		return;
	}
	law_read_lost(number(file + 128, 8));
	for (size_t at = HEADER; at + chunk_size <= size; at += chunk_size) {
		const uint8_t *const chunk = file + at;

		if (!number(chunk + 8, 8))
			continue;
		if (memcmp(chunk, "SPBC", 4) != 0)
			law_read_damage();
		else if (number(chunk + 4, 2) == 2)
			descriptors(chunk, chunk_size);
		else if (number(chunk + 4, 2) == 1)
			chunk_records(chunk, chunk_size);
		else
			law_read_damage();
	}
	qsort(records, nrecords, sizeof(*records), by_sequence);
	for (size_t i = 0; i < nrecords; i++) {
		gaps = gaps_before(i, gaps);
		tell(&records[i], gaps);
	}
}
