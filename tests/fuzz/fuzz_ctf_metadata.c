/*
 * Reads the fuzzer's bytes as a file `metadata` of any generation, and checks what meta.h promises
 * of the outcome. Where the bytes are a packed trace directory (see fuzz_dir.h), its metadata is
 * taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/ctf/meta/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PRINT_MAX = 20000 }; /* classes that are printed; more takes too long */

#define require(what) ((what) ? (void)0 : broken(#what))

static void broken(const char *what)
{
	fprintf(stderr, "invariant broken: %s\n", what);
	abort();
}

static uint64_t classes; /* met so far */

static bool refers(const struct ctf_field *f)
{
	return f->kind == CTF_VARIANT || f->kind == CTF_OPTIONAL || f->kind == CTF_STRING_DYNAMIC ||
	       f->kind == CTF_BLOB_DYNAMIC || (f->kind == CTF_SEQUENCE && !f->length_field);
}

static void check_ranges(const struct ctf_range *ranges, uint32_t n, bool negative)
{
	for (uint32_t i = 0; i < n; i++) {
		if (negative)
			require((int64_t)ranges[i].low <= (int64_t)ranges[i].high);
		else
			require(ranges[i].low <= ranges[i].high);
	}
}

static void check_field(const struct ctf_meta *m, const struct ctf_field *f, unsigned depth)
{
	require(++classes <= META_FIELDS);
	require(depth < META_DEPTH && f->kind < CTF_KINDS);
	require(f->align && !(f->align & (f->align - 1)));
	require(f->kind > CTF_FLOAT || f->size);
	require(f->save == CTF_NO_SLOT || f->save < m->nslots);
	require(!refers(f) || f->ref.slot < m->nslots);
	require(!f->clock_name || f->clock);
	for (uint32_t i = 0; i < f->nmappings; i++) {
		require(f->mappings[i].name);
		check_ranges(f->mappings[i].ranges, f->mappings[i].nranges, f->is_signed);
	}
	for (uint32_t i = 0; i < f->nmembers; i++) {
		check_ranges(f->members[i].ranges, f->members[i].nranges, f->selector_signed);
		check_field(m, f->members[i].field, depth + 1);
	}
	if (f->element)
		check_field(m, f->element, depth + 1);
	if (f->length_field)
		check_field(m, f->length_field, depth + 1);
}

static void check_scope(const struct ctf_meta *m, const struct ctf_field *f)
{
	if (f)
		check_field(m, f, 0);
}

static void check_meta(const struct ctf_meta *m)
{
	classes = 0;
	check_scope(m, m->packet_header);
	for (size_t i = 0; i < m->nstreams; i++) {
		const struct ctf_stream_class *s = m->streams[i];

		require(!i || m->streams[i - 1]->id < s->id);
		check_scope(m, s->packet_context);
		check_scope(m, s->event_header);
		check_scope(m, s->event_common);
		for (size_t k = 0; k < s->nevents; k++) {
			require(!k || s->events[k - 1]->id < s->events[k]->id);
			require(s->events[k]->stream_id == s->id);
			check_scope(m, s->events[k]->specific);
			check_scope(m, s->events[k]->payload);
		}
	}
}

/* What came out, as text: the same each time. */
static void read_once(const uint8_t *data, size_t size, struct out *o)
{
	struct spur_error err = { 0 };
	struct ctf_meta *m;
	struct diag_log log;

	diag_init(&log);
	if (meta_read(&m, "metadata", data, size, &log, &err) == SPUR_FAIL) {
		require(!m && err.code && err.message[0]);
		out_str(o, err.message);
	} else {
		check_meta(m);
		if (classes <= PRINT_MAX)
			meta_print(m, o);
	}
	for (size_t i = 0; i < diag_groups(&log); i++)
		out_printf(o, "\n%s %llu %s", diag_at(&log, i)->code,
			   (unsigned long long)diag_at(&log, i)->count,
			   diag_at(&log, i)->kept[0].text);
	meta_free(m);
	diag_free(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char begin[] = "\n@@ metadata\n", end[] = "\n@@ ";
	const uint8_t *in = size ? memmem(data, size, begin, sizeof(begin) - 1) : NULL, *to;
	struct out once, again;

	if (in) {
		size -= (size_t)(in - data) + sizeof(begin) - 1;
		data = in + sizeof(begin) - 1;
		to = size ? memmem(data, size, end, sizeof(end) - 1) : NULL;
		size = to ? (size_t)(to - data) : size;
	}
	out_to_memory(&once);
	out_to_memory(&again);
	read_once(data, size, &once);
	read_once(data, size, &again);
	require(once.len == again.len &&
		!memcmp(once.buf ? once.buf : "", again.buf ? again.buf : "", once.len));
	out_free(&once);
	out_free(&again);
	return 0;
}
