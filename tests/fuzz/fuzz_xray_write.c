/*
 * Writes what is read of the fuzzer's bytes, an XRay log, as another XRay log, and copies and
 * repairs it: each output must read back without damage and with the same calls and events at the
 * same times, as far as the target holds them. The last byte chooses the target.
 */
#include <spur.h>

#include "flow/convert.h"
#include "flow/cut.h"
#include "format/format.h"
#include "fuzz_dir.h"
#include "fuzz_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sums over the rows of a log, whatever their order. */
struct reading {
	uint64_t calls, call_hash;
	uint64_t events, event_hash;
	bool damaged, samples;
	bool overwritten; /* payloads are missing: which ones, is guessed from all of a buffer */
	bool nameless; /* a thread is unknown or 0, and gets another number */
	bool estimated; /* times are guessed from what may be wrong */
	bool forked; /* records are left out that a forked process repeats */
	struct spur_args args;
};

static uint64_t hash_row(struct spur_trace *t, const struct spur_event *row, struct reading *r,
			 bool payload)
{
	const struct spur_track *k = spur_track(t, row->track);
	uint64_t h = fuzz_hash(0xCBF29CE484222325u, &row->ts, sizeof(row->ts));

	h = fuzz_hash(h, &row->kind, 1);
	h = fuzz_hash(h, &k->tid, sizeof(k->tid));
	if (row->kind != SPUR_INSTANT)
		h = fuzz_hash(h, &row->id, sizeof(row->id));
	require(spur_args(t, row, &r->args) != SPUR_FAIL);
	for (size_t i = 0; payload && i < r->args.count; i++) {
		const struct spur_value *v = &r->args.items[i];

		if (v->type == SPUR_U64)
			h = fuzz_hash(h, &v->u, sizeof(v->u));
		else if (v->type == SPUR_STRING || v->type == SPUR_BYTES)
			h = fuzz_hash(h, v->text, v->count);
	}
	return h;
}

static void read_rows(struct spur_trace *t, struct reading *r)
{
	const struct spur_event *rows;
	struct spur_damage d;
	enum spur_status st;
	size_t n;

	while ((st = spur_next(t, &rows, &n)) == SPUR_OK) {
		for (size_t i = 0; i < n; i++) {
			current = rows[i];
			r->nameless |= spur_track(t, rows[i].track)->tid <= 0;
			if (rows[i].kind == SPUR_INSTANT) {
				r->events++;
				r->event_hash += hash_row(t, &rows[i], r, true);
			} else if (rows[i].kind <= SPUR_END_SPAN) {
				r->calls++;
				r->call_hash += hash_row(t, &rows[i], r, true);
			}
			r->samples |= rows[i].kind == SPUR_SAMPLE;
		}
	}
	require(st == SPUR_END);
	for (size_t i = 0; i < spur_damage_count(t); i++) {
		require(spur_damage(t, i, &d));
		r->overwritten |= strstr(d.code, "overwritten") != NULL;
		r->damaged |= d.is_damage;
		r->forked |= strcmp(d.code, "xray/forked-copy") == 0;
		r->estimated |= d.is_damage && (strstr(d.code, "ticks") || strstr(d.code, "head"));
	}
}

static struct spur_trace *log_open(const char *path)
{
	const struct spur_options opt =
		SPUR_OPTIONS(.format = "xray", .threads = 1, .symbol_dirs = "/nonexistent");
	struct spur_error err;
	struct spur_trace *t;

	return spur_open(&t, path, &opt, &err) == SPUR_FAIL ? NULL : t;
}

static bool log_read(const char *path, struct reading *r)
{
	struct spur_trace *t = log_open(path);

	*r = (struct reading){ 0 };
	if (!t)
		return false;
	read_rows(t, r);
	spur_close(t);
	spur_args_free(&r->args);
	r->args = (struct spur_args){ 0 };
	return true;
}

static void check_convert(const char *from, const char *to, const char *settings, bool events,
			  const struct reading *want)
{
	struct spur_trace *t = log_open(from);
	struct convert c = { .settings = settings };
	struct reading got;
	uint64_t ends = 0, payloads = 0, moved = 0;
	struct out o;

	c.pipe.threads = 1;
	out_to_memory(&o);
	require(convert_run(&c, t, writer_find("xray"), &o) != SPUR_FAIL);
	for (size_t i = LOSS_OWN; i < c.loss.count; i++) {
		if (strstr(c.loss.reasons[i].why, "behind lost events"))
			ends += c.loss.events[i][SPUR_END_SPAN];
		if (strstr(c.loss.reasons[i].why, "overwritten"))
			payloads += c.loss.events[i][SPUR_INSTANT];
		/* Estimated times of damaged logs may be later than a log can tell. */
		for (unsigned k = 0; strstr(c.loss.reasons[i].why, "2^63") && k < SPUR_KINDS; k++)
			moved += c.loss.events[i][k];
	}
	fuzz_dir_write(to + strlen(to) - 3, 3, (const uint8_t *)o.buf, o.len);
	out_free(&o);
	spur_close(t);
	require(log_read(to, &got));
	require(!got.damaged);
	require(got.calls + ends == want->calls);
	require(!events || got.events == want->events);
	require(!events || payloads || moved || want->nameless ||
		got.event_hash == want->event_hash);
}

static void check_copy(const char *from, const char *to, bool repair, const struct reading *want)
{
	struct spur_trace *t = log_open(from);
	struct out o, notes;
	struct cut c = { .repair = repair, .out = &o, .notes = &notes };
	struct reading got;
	bool guessed = want->estimated;

	c.pipe.threads = 1;
	out_to_memory(&o);
	out_to_memory(&notes);
	require(cut_run(&c, t) != SPUR_FAIL);
	guessed |= notes.len && memmem(notes.buf, notes.len, "too late for a log", 18);
	fuzz_dir_write(to + strlen(to) - 3, 3, (const uint8_t *)o.buf, o.len);
	out_free(&o);
	out_free(&notes);
	spur_close(t);
	require(log_read(to, &got));
	/* Times that are estimated again may be estimated otherwise. */
	require(!got.damaged || guessed);
	/* Without the damage in between, records that repeat others may be a forked process's. */
	if (want->damaged && got.forked && got.calls < want->calls)
		return;
	require(got.calls == want->calls && (guessed || got.call_hash == want->call_hash));
	require(got.events == want->events);
	require(want->overwritten || guessed || got.event_hash == want->event_hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const settings[8] = {
		"type=fdr,names=none", "type=fdr,version=4", "type=fdr,version=3",
		"type=fdr,version=2",  "type=basic",	     "type=basic,byte-order=big",
		"byte-order=big",      "buffer-size=1024",
	};
	const unsigned how = size ? data[size - 1] & 7 : 0;
	struct reading want;
	char from[128], to[128];

	fuzz_dir_make((const uint8_t *)"", 0);
	snprintf(from, sizeof(from), "%s/log", fuzz_dir);
	snprintf(to, sizeof(to), "%s/out", fuzz_dir);
	fuzz_dir_write("log", 3, data, size);
	if (!log_read(from, &want))
		return 0;
	if (!want.samples)
		check_convert(from, to, settings[how], how != 4 && how != 5 && how != 3, &want);
	check_copy(from, to, false, &want);
	check_copy(from, to, true, &want);
	return 0;
}
