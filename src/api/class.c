/* Classes of events and their schemas. */
#include "api/api.h"
#include "format/format.h"

enum { PUBLIC_FLAGS = SPUR_CLASS_FUNCTION | SPUR_CLASS_KERNEL | SPUR_CLASS_LIBRARY |
		      SPUR_CLASS_EVENT | SPUR_CLASS_UNKNOWN | SPUR_CLASS_SCHED };

static_assert((int)CLASS_FUNCTION == SPUR_CLASS_FUNCTION &&
		      (int)CLASS_KERNEL == SPUR_CLASS_KERNEL &&
		      (int)CLASS_LIBRARY == SPUR_CLASS_LIBRARY &&
		      (int)CLASS_EVENT == SPUR_CLASS_EVENT &&
		      (int)CLASS_UNKNOWN == SPUR_CLASS_UNKNOWN &&
		      (int)CLASS_SCHED == SPUR_CLASS_SCHED,
	      "public flags have the numbers of the model's");

size_t spur_class_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_class_count", t, "a trace") ? trace_class_count(t) : 0;
}

bool spur_class(const struct spur_trace *t, uint32_t id, struct spur_class *out)
{
	const struct event_class *c;

	if (!api_given(NULL, "spur_class", t, "a trace") ||
	    !api_given(t, "spur_class", out, "a place for the class"))
		return false;
	*out = (struct spur_class){ 0 };
	if (!id || id >= trace_class_count(t))
		return false;
	c = trace_class(t, id);
	*out = (struct spur_class){ .name = c->name,
				    .raw_name = c->raw,
				    .cat = c->cat,
				    .module = c->module,
				    .library = class_library(c),
				    .file = c->file,
				    .line = c->line,
				    .flags = c->flags & PUBLIC_FLAGS,
				    .head = c->head,
				    .addr = c->addr,
				    .size = c->size };
	return true;
}

const struct spur_schema *spur_schema(struct spur_trace *t, uint32_t id)
{
	const struct spur_schema *schema;
	uint64_t *charged;

	if (!api_given(NULL, "spur_schema", t, "a trace") || !id || id >= trace_class_count(t))
		return NULL;
	charged = mem_charge(&t->mem_failures);
	schema = format_schema(t, id);
	mem_charge(charged);
	if (!schema)
		api_no_memory(t, NULL);
	return schema;
}
