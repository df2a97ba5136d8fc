/*
 * Kernel functions and tracepoints: kernel_header tells the layout of the pages and the format of
 * each event, kernel-cpuN.dat holds the pages, kallsyms the names.
 */
#include <stdio.h>

#include "format/uftrace/kernhdr.h"
#include "format/uftrace/reader.h"
#include "model/args.h"

/* What of a format is asked at every record. */
struct kernel_event {
	struct funcgraph graph;
	bool is_graph;
	struct field_ref next_pid, other_pid;
};

struct uftrace_kernel {
	struct kernhdr hdr;
	struct kernel_event *events; /* by place of the format */
};

const struct ring_layout *uftrace_kernel_layout(const struct uftrace *u)
{
	return &u->kernel->hdr.layout;
}

static bool compile_formats(struct uftrace *u)
{
	struct uftrace_kernel *k = u->kernel;

	k->events = mem_array(k->hdr.nformats, sizeof(*k->events));
	if (!k->events)
		return false;
	for (size_t i = 0; i < k->hdr.nformats; i++) {
		struct tracefmt *f = k->hdr.formats[i];

		for (uint32_t n = 0; n < f->nfields; n++)
			f->fields[n].id = trace_intern(u->t, f->fields[n].name);
		k->events[i].is_graph = funcgraph_compile(&k->events[i].graph, f);
		k->events[i].next_pid = tracefmt_ref(f, "next_pid");
		k->events[i].other_pid = tracefmt_ref(f, "pid");
	}
	return true;
}

/* --- records --- */

/* The place of a record's format; nformats where it is unknown. */
static size_t format_of(const struct uftrace_kernel *k, const uint8_t *data, uint32_t size)
{
	const struct map64_slot *slot =
		field_there(k->hdr.type, size)
			? map64_find(&k->hdr.by_id, field_u64(k->hdr.type, data, size))
			: NULL;

	return slot ? (size_t)slot->value : k->hdr.nformats;
}

static bool task_known(const struct uftrace *u, int64_t tid)
{
	return uftrace_task(&u->d, tid) != NULL;
}

/* SPEC uftrace/kernel-task: common_pid; where that is no traced task, next_pid, then pid */
static int64_t record_tid(const struct uftrace *u, const uint8_t *data, uint32_t size)
{
	const struct uftrace_kernel *k = u->kernel;
	size_t place = format_of(k, data, size);
	int64_t tid = field_i64(k->hdr.pid, data, size);
	struct field_ref refs[2];

	if (place == k->hdr.nformats || task_known(u, tid))
		return tid;
	refs[0] = k->events[place].next_pid;
	refs[1] = k->events[place].other_pid;
	for (int i = 0; i < 2; i++)
		if (field_there(refs[i], size) && task_known(u, field_i64(refs[i], data, size)))
			return field_i64(refs[i], data, size);
	return tid;
}

static bool read_cpu(struct uftrace *u, uint16_t index)
{
	struct uftrace_file *file = &u->files[index];
	struct ring_record rec;
	struct ring ring;

	ring_init(&ring, &u->kernel->hdr.layout, file->source, uftrace_file_name(u, file).p,
		  &u->t->diag);
	while (ring_next(&ring, &rec)) {
		struct uftrace_side s = {
			.time = rec.time, .off = rec.off, .len = rec.len, .file = index
		};

		s.tid = record_tid(u, rec.data, rec.size);
		if (rec.missed) {
			struct uftrace_side lost = s;

			lost.what = SIDE_KERNEL_LOST;
			lost.len = rec.missed > 0 && rec.missed < UINT32_MAX ? (uint32_t)rec.missed
									     : 0;
			if (!uftrace_add_side(u, &lost))
				return false;
		}
		s.what = SIDE_KERNEL;
		if (!uftrace_add_side(u, &s))
			return false;
	}
	if (ring.missed)
		diag_add(&u->t->diag, DIAG_WARN, "uftrace/kernel-lost", ring.file,
			 file->source->size, 0, "the kernel overwrote records behind the last one");
	return true;
}

bool uftrace_read_kernel(struct uftrace *u)
{
	struct text file;
	bool ok;

	if (!uftrace_has_cpus(u, "kernel-cpu"))
		return true;
	u->kernel = mem_alloc(sizeof(*u->kernel));
	u->kernel_syms = uftrace_module(u, text_of("[kernel]"), text_of(""));
	ok = u->kernel && u->kernel_syms;
	if (ok && !uftrace_slurp(u, "kernel_header", &file)) {
		uftrace_say(u, DIAG_WARN, "uftrace/no-kernel-header", "kernel_header", DIAG_NO_OFF,
			    "missing: kernel records have no names and fields");
		file = text_make(NULL, 0);
	}
	ok = ok &&
	     kernhdr_parse(&u->kernel->hdr, &u->t->arena, file, "kernel_header", &u->t->diag) &&
	     compile_formats(u);
	return ok && uftrace_each_cpu(u, "kernel-cpu", read_cpu);
}

void uftrace_free_kernel(struct uftrace *u)
{
	if (!u->kernel)
		return;
	kernhdr_free(&u->kernel->hdr);
	mem_free(u->kernel->events);
	mem_free(u->kernel);
}

/* A record opened again from its bytes. */
struct kernel_record {
	const uint8_t *data;
	uint32_t size;
	const struct tracefmt *fmt; /* NULL: unknown */
	const struct kernel_event *event;
};

static struct kernel_record open_record(const struct uftrace *u, const struct spur_event *ev)
{
	const uint8_t *p = uftrace_raw(u, ev);
	struct kernel_record r = { 0 };
	size_t place;

	if (!u->kernel || !p || !ring_data(&u->kernel->hdr.layout, p, ev->len, &r.data, &r.size))
		return (struct kernel_record){ 0 };
	place = format_of(u->kernel, r.data, r.size);
	if (place < u->kernel->hdr.nformats) {
		r.fmt = u->kernel->hdr.formats[place];
		r.event = &u->kernel->events[place];
	}
	return r;
}

bool uftrace_kernel_event(const struct uftrace *u, uint64_t id, struct event_class *c)
{
	const struct tracefmt *f = u->kernel ? kernhdr_format(&u->kernel->hdr, id) : NULL;
	char name[200];

	if (!f)
		return false;
	snprintf(name, sizeof(name), "%s:%s", f->system, f->name);
	c->name = trace_intern(u->t, name);
	c->cat = trace_intern(u->t, f->system);
	c->flags |= CLASS_KERNEL;
	return true;
}

bool uftrace_kernel_schema(struct uftrace *u, uint64_t id, const struct spur_field **fields,
			   uint32_t *count, bool *known)
{
	const struct tracefmt *f = u->kernel ? kernhdr_format(&u->kernel->hdr, id) : NULL;

	*known = f != NULL;
	return !f || tracefmt_schema(f, &u->t->arena, fields, count);
}

static bool set_class(struct uftrace *u, struct spur_event *row, uint32_t cls)
{
	const struct event_class *c = cls ? trace_class(u->t, cls) : NULL;

	if (!c)
		return false;
	row->cls = cls;
	row->name = c->name;
	row->cat = c->cat;
	return true;
}

enum spur_status uftrace_kernel_row(struct uftrace *u, struct feed *f, const struct uftrace_side *s,
				    struct spur_event *row)
{
	struct funcgraph_record rec;
	struct kernel_record r;

	if (s->what == SIDE_KERNEL_LOST) {
		row->kind = SPUR_LOST;
		row->id = s->len;
		row->len = 0;
		read_count(&u->t->read.discarded, s->len);
		diag_add(&f->diag, DIAG_WARN, "uftrace/kernel-lost",
			 u->t->streams[row->stream].path, s->off, 0,
			 s->len ? "the kernel overwrote %u records before this one"
				: "the kernel overwrote records before this one; it does not say "
				  "how many",
			 s->len);
		return set_class(u, row, uftrace_lost_class(u)) ? SPUR_OK : SPUR_FAIL;
	}
	r = open_record(u, row);
	if (!r.fmt) {
		row->kind = SPUR_NATIVE;
		row->id = field_u64(u->kernel->hdr.type, r.data, r.size);
		return set_class(u, row, uftrace_event_class(u, row->id)) ? SPUR_OK : SPUR_FAIL;
	}
	row->id = r.fmt->id;
	if (r.event->is_graph && funcgraph_read(&r.event->graph, r.data, r.size, &rec)) {
		row->kind = r.event->graph.is_exit ? SPUR_END_SPAN : SPUR_BEGIN;
		row->id = rec.func;
		row->depth = (uint16_t)(rec.depth < UINT16_MAX ? rec.depth : UINT16_MAX);
		row->nargs = (uint8_t)(rec.nargs < 255 ? rec.nargs : 255);
		return set_class(u, row, uftrace_class(u, NULL, s->time, rec.func)) ? SPUR_OK
										    : SPUR_FAIL;
	}
	row->kind = SPUR_INSTANT;
	for (uint32_t i = 0; i < r.fmt->nfields && row->nargs < 255; i++)
		row->nargs = (uint8_t)(row->nargs + !(r.fmt->fields[i].flags & FIELD_COMMON));
	return set_class(u, row, uftrace_event_class(u, row->id)) ? SPUR_OK : SPUR_FAIL;
}

enum spur_status uftrace_kernel_args(struct uftrace *u, const struct spur_event *ev,
				     struct spur_args *args)
{
	struct kernel_record r = open_record(u, ev);
	struct funcgraph_record rec;
	char name[24];

	if (!r.fmt)
		return SPUR_OK;
	if (!r.event->is_graph)
		return tracefmt_args(r.fmt, r.data, r.size, false, args);
	if (!funcgraph_read(&r.event->graph, r.data, r.size, &rec))
		return SPUR_WARN;
	for (uint32_t i = 0; i < rec.nargs; i++) {
		snprintf(name, sizeof(name), "arg%u", i + 1);
		args_u64(args, trace_intern(u->t, name), funcgraph_arg(&r.event->graph, &rec, i),
			 SPUR_SHOW_AUTO);
	}
	return SPUR_OK;
}

enum spur_status uftrace_kernel_fields(struct uftrace *u, const struct spur_event *ev,
				       struct spur_args *args)
{
	struct kernel_record r = open_record(u, ev);

	if (r.fmt)
		return tracefmt_args(r.fmt, r.data, r.size, true, args);
	if (field_there(u->kernel->hdr.type, r.size))
		args_u64(args, u->names.common_type, field_u64(u->kernel->hdr.type, r.data, r.size),
			 SPUR_SHOW_PLAIN);
	return SPUR_WARN;
}

static bool find_name(void *ctx, uint64_t addr, const char **name, uint64_t *delta)
{
	const struct uftrace *u = ctx;
	const struct symbol *s = u->kernel_syms ? symtab_find(&u->kernel_syms->syms, addr) : NULL;

	if (!s)
		return false;
	*name = s->name;
	*delta = addr - s->addr;
	return true;
}

bool uftrace_text(struct spur_trace *t, const struct spur_event *ev, struct out *o)
{
	struct uftrace *u = t->state;
	struct trace_names names = { .find = find_name, .ctx = u };
	struct kernel_record r;

	if (ev->kind != SPUR_INSTANT || !uftrace_is_side(u, ev->stream))
		return false;
	r = open_record(u, ev);
	if (!r.fmt)
		return false;
	pthread_mutex_lock(&t->lock);
	uftrace_load_module(u, u->kernel_syms);
	pthread_mutex_unlock(&t->lock);
	tracefmt_text(r.fmt, r.data, r.size, &names, o);
	return true;
}
