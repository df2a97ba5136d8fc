/*
 * Makes allocations and threads fail under any of the fuzzers beside it: fuzz_NAME-faults is
 * fuzz_NAME with this in front of the calls that it makes (the linker's --wrap). Each such call is
 * first made with the n-th allocation failing, alone or with all after it, or with no thread to be
 * had; n comes from the bytes of the input. Nothing may crash or leak, and a trace gives an error
 * or all that it gives without failures. Then the fuzzer goes on as ever.
 */
#include <errno.h>
#include <pthread.h>
#include <spur.h>

#include "base/mem.h"
#include "base/source.h"
#include "flow/filter.h"
#include "format/ctf/meta/meta.h"
#include "format/xray/map.h"
#include "fuzz_row.h"
#include "pass/pass.h"
#include "view/view.h"

enum { ROWS = 20000 }; /* of a trace that is read four times */

/* base/mem.c as it is compiled for tests: only the n-th allocation fails, not those after it. */
extern bool mem_fails_once;

static uint64_t seed; /* of the input */
static bool busy; /* inside one of the calls: what it calls in turn is left alone */
static bool no_threads;
static uint64_t refused, *charged; /* what fails here is no failure of the fuzzer's own trace */

enum spur_status __real_spur_open(struct spur_trace **out, const char *path,
				  const struct spur_options *opt, struct spur_error *err);

#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

WRAPPED(int, LLVMFuzzerTestOneInput, const uint8_t *data, size_t size)
{
	seed = fuzz_hash(0xCBF29CE484222325u, data, size);
	return __real_LLVMFuzzerTestOneInput(data, size);
}

WRAPPED(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
	void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

/* The n-th of `count` allocations is the first to fail. */
static void faults_begin(uint64_t count)
{
	seed = seed * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
	mem_fails_once = seed >> 62 & 1;
	no_threads = (seed >> 60 & 3) == 0;
	charged = mem_charge(&refused);
	mem_fail_at(1 + (seed >> 33) % (count ? count : 1));
}

static void faults_end(void)
{
	mem_fail_at(0);
	mem_charge(charged);
	no_threads = false;
}

/* What a trace gave. Sums, as rows of equal time may come in any order from several files. */
struct answer {
	uint64_t rows, hash, damage;
	bool failed;
	bool untold; /* memory ran out while damage was listed: no error of the trace */
	bool longer; /* than ROWS, and so not read to its end */
};

static uint64_t hash_args(uint64_t h, const struct spur_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h = fuzz_hash(h, &v[i].type, 1);
		if (v[i].type == SPUR_STRUCT || v[i].type == SPUR_ARRAY)
			h = hash_args(h, v[i].items, v[i].count);
		else if (v[i].type == SPUR_STRING || v[i].type == SPUR_BYTES)
			h = fuzz_hash(h, v[i].text, v[i].count);
	}
	return h;
}

static void answer_row(struct spur_trace *t, const struct spur_event *row, struct spur_args *args,
		       struct answer *a)
{
	const char *name = spur_string(t, row->name, NULL);
	uint64_t h = fuzz_hash(0xCBF29CE484222325u, &row->ts, 4 * sizeof(uint64_t));

	h = fuzz_hash(h, &row->len, sizeof(row->len));
	h = fuzz_hash(h, &row->kind, sizeof(row->kind));
	h = fuzz_hash(h, name, strlen(name));
	if (spur_args(t, row, args) == SPUR_FAIL)
		a->failed = true;
	else
		h = hash_args(h, args->items, args->count);
	a->hash += h;
	a->rows++;
}

static void answer_damage(struct spur_trace *t, struct answer *a)
{
	const uint64_t before = mem_failures_all();
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		if (!spur_damage(t, i, &d))
			continue;
		a->damage += fuzz_hash(d.count ^ d.bytes_lost << 20, d.code, strlen(d.code));
		a->damage += fuzz_hash(d.first_offset, d.first, strlen(d.first));
	}
	a->untold = mem_failures_all() != before;
}

/* Reads the trace to its end and closes it. */
static struct answer answer_of(struct spur_trace *t)
{
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct answer a = { 0 };
	enum spur_status st;
	size_t n;

	while ((st = spur_next(t, &rows, &n)) == SPUR_OK && !a.longer) {
		for (size_t i = 0; i < n; i++)
			answer_row(t, &rows[i], &args, &a);
		a.longer = a.rows > ROWS;
	}
	a.failed |= st == SPUR_FAIL;
	answer_damage(t, &a);
	spur_args_free(&args);
	spur_close(t);
	return a;
}

/* Where a trace comes from: a path, or bytes in memory. */
struct origin {
	const char *path;
	const void *data;
	size_t size;
	struct spur_options opt;
};

static struct answer answer_to(const struct origin *from)
{
	struct spur_error err = { 0 };
	struct spur_trace *t = NULL;
	enum spur_status st;

	if (from->data)
		st = spur_open_memory(&t, from->path, from->data, from->size, &from->opt, &err);
	else
		st = __real_spur_open(&t, from->path, &from->opt, &err);
	require((st == SPUR_FAIL) == !t);
	if (t)
		return answer_of(t);
	require(err.code && err.message[0]);
	return (struct answer){ .failed = true };
}

/* An error, or the whole answer. */
static void try_trace(const struct origin *from)
{
	struct answer whole, faulty;
	uint64_t count;

	mem_fail_at(UINT64_MAX);
	whole = answer_to(from);
	count = mem_count();
	mem_fail_at(0);
	if (whole.longer)
		return;
	faults_begin(count);
	faulty = answer_to(from);
	faults_end();
	if (faulty.failed)
		return;
	require(!whole.failed);
	require(faulty.rows == whole.rows);
	require(faulty.hash == whole.hash);
	require(faulty.untold || faulty.damage == whole.damage);
}

WRAPPED(enum spur_status, spur_open, struct spur_trace **out, const char *path,
	const struct spur_options *opt, struct spur_error *err)
{
	enum spur_status st;

	if (busy)
		return __real_spur_open(out, path, opt, err);
	busy = true;
	if (strncmp(path, "net", 3) != 0)
		try_trace(&(struct origin){ .path = path, .opt = *opt });
	st = __real_spur_open(out, path, opt, err);
	busy = false;
	return st;
}

/* FXT and Heph are opened below spur_open(). */
WRAPPED(enum spur_status, source_memory, struct source **out, const char *name, const void *data,
	size_t size, const struct source_options *opt, struct spur_error *err)
{
	if (!busy && opt) {
		busy = true;
		try_trace(&(struct origin){ "-", data ? data : "", data ? size : 0,
					    SPUR_OPTIONS(.read_size = opt->read_size) });
		busy = false;
	}
	return __real_source_memory(out, name, data, size, opt, err);
}

WRAPPED(enum spur_status, filter_new, struct filter **out, struct spur_trace *t,
	const struct filter_spec *spec, struct spur_error *err)
{
	struct spur_error mine = { 0 };
	struct filter *f = NULL;

	if (!busy) {
		busy = true;
		faults_begin(64);
		if (__real_filter_new(&f, t, spec, &mine) == SPUR_FAIL)
			require(mine.code && mine.message[0]);
		faults_end();
		filter_free(f);
		busy = false;
	}
	return __real_filter_new(out, t, spec, err);
}

WRAPPED(enum spur_status, meta_read, struct ctf_meta **out, const char *path, const uint8_t *data,
	size_t size, struct diag_log *diag, struct spur_error *err)
{
	struct spur_error mine = { 0 };
	struct ctf_meta *m = NULL;
	struct diag_log log;

	if (!busy) {
		busy = true;
		diag_init(&log);
		faults_begin(256);
		if (__real_meta_read(&m, path, data, size, &log, &mine) == SPUR_FAIL)
			require(!m && mine.code && mine.message[0]);
		faults_end();
		meta_free(m);
		diag_free(&log);
		busy = false;
	}
	return __real_meta_read(out, path, data, size, diag, err);
}

WRAPPED(enum spur_status, xray_maps_open, struct xray_maps **out, const char *trace_path,
	const struct spur_options *options, struct diag_log *diag, struct spur_error *err)
{
	struct spur_error mine = { 0 };
	struct xray_maps *m = NULL;
	struct diag_log log;

	if (!busy) {
		busy = true;
		diag_init(&log);
		faults_begin(128);
		if (__real_xray_maps_open(&m, trace_path, options, &log, &mine) == SPUR_FAIL)
			require(mine.code && mine.message[0]);
		else
			xray_maps_close(m);
		faults_end();
		diag_free(&log);
		busy = false;
	}
	return __real_xray_maps_open(out, trace_path, options, diag, err);
}

/* The output of an analysis that fails in the middle is worth nothing; it must end, that is all. */
WRAPPED(enum spur_status, pass_run, const struct spur_pass *pass, struct pass_env *env)
{
	enum spur_status st;

	busy = true;
	faults_begin(512);
	st = __real_pass_run(pass, env);
	faults_end();
	busy = false;
	return st;
}

/* Only one of the fuzzers is linked with the viewer. */
void __real_view_answer(struct view *v, const struct view_request *r, struct view_answer *a)
	__attribute__((weak));
void __wrap_view_answer(struct view *v, const struct view_request *r, struct view_answer *a);

/* A request is answered in full, or refused. */
void __wrap_view_answer(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct view_answer faulty = { 0 };

	busy = true;
	out_to_memory(&faulty.out);
	faults_begin(48);
	__real_view_answer(v, r, &faulty);
	faults_end();
	__real_view_answer(v, r, a);
	busy = false;
	require(faulty.status >= 200 && faulty.type);
	if (faulty.status == 200 && !faulty.out.error && a->status == 200)
		require(faulty.out.len == a->out.len);
	out_free(&faulty.out);
}
