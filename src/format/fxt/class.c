/* Event classes, and the strings that arguments and fields are named by. */
#include "format/fxt/reader.h"

static const char *const words[FXT_WORDS] = {
	[FXT_W_PROVIDER] = "provider",
	[FXT_W_TICKS] = "ticks",
	[FXT_W_THREAD] = "thread",
	[FXT_W_PID] = "pid",
	[FXT_W_TID] = "tid",
	[FXT_W_CATEGORY] = "category",
	[FXT_W_NAME] = "name",
	[FXT_W_ARGS] = "args",
	[FXT_W_ID] = "id",
	[FXT_W_END_TICKS] = "end_ticks",
	[FXT_W_EXTRA_WORDS] = "extra_words",
	[FXT_W_TYPE] = "type",
	[FXT_W_SIZE] = "size",
	[FXT_W_DATA] = "data",
	[FXT_W_POINTER] = "pointer",
	[FXT_W_KOID] = "koid",
	[FXT_W_CPU] = "cpu",
	[FXT_W_STATE] = "state",
	[FXT_W_PRIORITY] = "priority",
	[FXT_W_NEXT] = "next",
	[FXT_W_PREV] = "prev",
	[FXT_W_MESSAGE] = "message",
	[FXT_W_MODULE] = "module",
	[FXT_W_BUILD_ID] = "build_id",
	[FXT_W_START] = "start",
	[FXT_W_RANGE] = "range",
	[FXT_W_VADDR] = "vaddr",
	[FXT_W_FLAGS] = "flags",
	[FXT_W_FRAMES] = "frames",
	[FXT_W_INDEX] = "index",
	[FXT_W_VALUE] = "value",
	[FXT_W_TICKS_PER_SECOND] = "ticks_per_second",
	[FXT_W_BASE_TICKS] = "base_ticks",
	[FXT_W_BASE_TIME_NS] = "base_time_ns",
	[FXT_W_EVENT] = "event",
	[FXT_W_FORMAT] = "format",
	[FXT_W_HEADER] = "header",
	[FXT_W_OUT_PRIORITY] = "out_priority",
	[FXT_W_IN_PRIORITY] = "in_priority",
	[FXT_W_OUT] = "out",
	[FXT_W_IN] = "in",
	[FXT_W_PROCESS] = "process",
	[FXT_W_IDLE] = "idle",
	[FXT_W_INCOMING_WEIGHT] = "incoming_weight",
	[FXT_W_OUTGOING_WEIGHT] = "outgoing_weight",
	[FXT_W_USERSPACE_OBJECT] = "userspace object",
	[FXT_W_MAPPING] = "mapping",
};

enum { FXT_MANY_CLASSES = TRACE_CLASS_PAGE * TRACE_CLASS_PAGES - 1 };

/* Rows that have no name of their own. */
static const struct {
	const char *name, *cat;
	uint32_t flags;
} own[FXT_BUILTIN_CLASSES] = {
	[FXT_CLASS_SWITCH] = { "context switch", "scheduling", CLASS_SCHED },
	[FXT_CLASS_WAKEUP] = { "wakeup", "scheduling", CLASS_EVENT },
	[FXT_CLASS_LOG] = { "log", "", CLASS_EVENT },
	[FXT_CLASS_BACKTRACE] = { "backtrace", "profiler", CLASS_EVENT },
	[FXT_CLASS_LOST] = { "buffer filled", "metadata", CLASS_EVENT },
	[FXT_CLASS_MAGIC] = { "magic", "metadata", CLASS_EVENT },
	[FXT_CLASS_PROVIDER_INFO] = { "provider info", "metadata", CLASS_EVENT },
	[FXT_CLASS_PROVIDER_SECTION] = { "provider section", "metadata", CLASS_EVENT },
	[FXT_CLASS_INIT] = { "initialization", "", CLASS_EVENT },
	[FXT_CLASS_STRING] = { "string", "", CLASS_EVENT },
	[FXT_CLASS_THREAD] = { "thread", "", CLASS_EVENT },
	[FXT_CLASS_PLACEHOLDER] = { "placeholder", "", CLASS_EVENT },
	[FXT_CLASS_METADATA] = { "unknown metadata", "metadata", CLASS_EVENT },
	[FXT_CLASS_PROVIDER_EVENT] = { "provider event", "metadata", CLASS_EVENT },
	[FXT_CLASS_SCHEDULING] = { "unknown scheduling record", "scheduling", CLASS_EVENT },
	[FXT_CLASS_PROFILER] = { "unknown profiler record", "profiler", CLASS_EVENT },
	[FXT_CLASS_LARGE] = { "unknown large record", "", CLASS_EVENT },
	[FXT_CLASS_RECORD] = { "unknown record", "", CLASS_EVENT },
	[FXT_CLASS_OTHERS] = { "other names", "", CLASS_EVENT },
};

bool fxt_classes_init(struct fxt *x)
{
	for (int i = 0; i < FXT_WORDS; i++)
		x->words[i] = trace_intern(x->t, words[i]);
	for (int i = FXT_CLASS_NONE + 1; i < FXT_BUILTIN_CLASSES; i++) {
		const uint32_t name = trace_intern(x->t, own[i].name);
		const struct event_class c = { .name = name,
					       .simple = name,
					       .raw = name,
					       .cat = trace_intern(x->t, own[i].cat),
					       .flags = own[i].flags };

		x->builtin_classes[i] = trace_add_class(x->t, &c);
		if (!x->builtin_classes[i])
			return false;
	}
	return true;
}

void fxt_classes_free(struct fxt *x)
{
	key_index_free(&x->classes[0]);
	key_index_free(&x->classes[1]);
}

static uint64_t class_key(const void *trace, uint32_t id)
{
	const struct event_class *c = trace_class(trace, id);

	return (uint64_t)c->cat << 32 | c->name;
}

/*
 * SPEC fxt/class: what has equal category and name is one class; durations are apart: they are
 * matched by it
 */
uint32_t fxt_class_of(struct fxt *x, uint32_t cat, uint32_t name, bool other)
{
	const uint64_t key = (uint64_t)cat << 32 | name;
	uint32_t cls = key_index_find(&x->classes[other], key, class_key, x->t);
	const struct event_class c = { .name = name,
				       .simple = name,
				       .raw = name,
				       .cat = cat,
				       .flags = (other ? CLASS_EVENT : CLASS_FUNCTION) |
						(cat ? CLASS_CATEGORY : 0u) };

	if (cls != KEY_INDEX_NONE)
		return cls;
	/* There are too many names: the row still has its own. */
	if (trace_class_count(x->t) > FXT_MANY_CLASSES)
		return x->builtin_classes[FXT_CLASS_OTHERS];
	cls = trace_add_class(x->t, &c);
	return cls && key_index_add(&x->classes[other], cls, class_key, x->t) ? cls : 0;
}
