/* llvm-xray's YAML of a log, which `llvm-xray convert` and its other commands read. */
#include <errno.h>

#include "base/search.h"
#include "format/xray/write.h"

/* A thread being written. */
struct yaml_out {
	struct xray_write *x;
	const struct xray_out_thread *th;
	struct xray_body_record call; /* the latest one, whose arguments may follow */
	bool has_call;
	struct out args; /* of it */
	struct out name; /* of its function */
	uint32_t named; /* the function that it is of */
};

static const char *const calls[CALL_KINDS] = { "function-enter", "function-exit",
					       "function-tail-exit", "function-enter-arg" };

static void put_name(struct yaml_out *y, uint32_t id)
{
	const struct xray_write *x = y->x;
	size_t i, len;
	const char *name;

	if (y->named != id) {
		out_clear(&y->name);
		bisect(i, 0, x->nfunctions, x->functions[i].id < id);
		name = xray_name_of(x, x->functions[i].cls, &len);
		if (name)
			xray_yaml_text(&y->name, name, strlen(name));
		else
			out_printf(&y->name, "'%u'", id);
		y->named = id;
	}
	out_bytes(x->write->out, y->name.buf, y->name.len);
}

/* A record; `data` is that of an event. */
static void put_record(struct yaml_out *y, const struct xray_body_record *r, const char *kind)
{
	struct out *o = y->x->write->out;

	out_printf(o, "  - { type: 0, func-id: %u, function: ", y->call.id);
	if (y->call.id)
		put_name(y, y->call.id);
	else
		out_str(o, "''");
	if (r == &y->call && y->args.len) {
		out_str(o, ", args: [ ");
		out_bytes(o, y->args.buf, y->args.len);
		out_str(o, " ]");
	}
	out_printf(o, ", cpu: %u, thread: %d, process: %d, kind: %s, tsc: %llu, data: ",
		   r->cpu == SPUR_NO_CPU ? 0 : r->cpu, y->th->tid, y->th->pid < 0 ? 0 : y->th->pid,
		   kind, (unsigned long long)r->ticks);
	if (r->kind < 0)
		out_str(o, "''");
	else
		xray_yaml_text(o, r->data, r->len);
	out_str(o, " }\n");
}

static void flush_call(struct yaml_out *y)
{
	if (y->has_call)
		put_record(y, &y->call, calls[y->call.call]);
	y->has_call = false;
	out_clear(&y->args);
}

static bool yaml_each(void *self, const struct xray_body_record *r)
{
	struct yaml_out *y = self;

	if (r->kind == META_ARGUMENT) {
		out_printf(&y->args, y->args.len ? ", %llu" : "%llu", (unsigned long long)r->value);
		return true;
	}
	flush_call(y);
	if (r->kind < 0) {
		y->call = *r;
		y->has_call = true;
	} else {
		put_record(y, r, r->kind == META_TYPED ? "typed-event" : "custom-event");
	}
	return y->x->write->out->error != ENOMEM;
}

bool xray_write_yaml(struct xray_write *x)
{
	struct out *o = x->write->out;
	bool good = true;

	out_printf(
		o,
		"---\nheader:\n  version:         1\n  type:            1\n  constant-tsc:    true"
		"\n  nonstop-tsc:     true\n  cycle-frequency: %llu\nrecords:\n",
		(unsigned long long)x->hz);
	for (size_t i = 0; good && i < x->nthreads; i++) {
		struct yaml_out y = { .x = x, .th = x->order[i] };

		out_to_memory(&y.args);
		out_to_memory(&y.name);
		good = xray_body_each(x, x->order[i], yaml_each, &y);
		flush_call(&y);
		good = good && !y.args.error && !y.name.error;
		out_free(&y.args);
		out_free(&y.name);
	}
	out_str(o, "...\n");
	return good;
}
