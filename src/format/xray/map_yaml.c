/*
 * llvm-xray's map in YAML: a list of flow mappings, one a sled (`llvm-xray extract`, `spur symbols
 * --yaml`). Only the first document. An entry that is no such mapping is skipped and counted;
 * aliases are none.
 */
#include <string.h>
#include <yaml.h>

#include "base/text.h"
#include "format/xray/map_parts.h"

enum {
	MAX_START =
		64
		<< 10, /* in which the list has to begin: directives are compared with each other */
	MAX_DEPTH = 16, /* of nesting: entries are at 2 */
	MAX_SLEDS = 1 << 26,
	UNKNOWN_KIND = UINT8_MAX,
};

enum key { KEY_ID, KEY_ADDRESS, KEY_FUNCTION, KEY_KIND, KEY_ALWAYS, KEY_NAME, KEY_VERSION, KEYS };

static const char *const key_names[KEYS] = { "id",     "address",	    "function",
					     "kind",   "always-instrument", "function-name",
					     "version" };

enum { NEEDED = 1 << KEY_ID | 1 << KEY_ADDRESS | 1 << KEY_FUNCTION };

struct yaml_map {
	struct site_map *m;
	yaml_parser_t parser;
	const uint8_t *data;
	size_t size, given; /* bytes to and at the parser */
	bool started; /* the list has begun */

	unsigned depth; /* of open collections */
	struct map_site sled; /* the entry that is open */
	const char *name;
	unsigned found; /* bits of enum key */
	enum key key; /* KEYS: unknown */
	bool has_key;
	const char *wrong; /* what a value should have been; NULL: all is well */
	size_t bad; /* entries */
	bool no_memory;
};

static int give(void *self, unsigned char *buffer, size_t size, size_t *given)
{
	struct yaml_map *y = self;
	const size_t left = y->size - y->given;

	if (!y->started && y->given > MAX_START)
		return 0;
	*given = size < left ? size : left;
	memcpy(buffer, y->data + y->given, *given);
	y->given += *given;
	return 1;
}

static bool read_number(struct text t, uint64_t most, uint64_t *n)
{
	return text_u64(&t, text_skip(&t, "0x") ? 16 : 10, n) && !t.len && *n <= most;
}

static bool read_word(struct text t, bool *yes)
{
	*yes = text_is(t, "true") || text_is(t, "True") || text_is(t, "TRUE");
	return *yes || text_is(t, "false") || text_is(t, "False") || text_is(t, "FALSE");
}

static uint8_t read_kind(struct text t)
{
	for (uint8_t kind = 0; kind < XRAY_SLED_KINDS; kind++)
		if (text_is(t, xray_sled_kind_name(kind)))
			return kind;
	return UNKNOWN_KIND;
}

/* Names are of functions, which have several sleds in a row. */
static bool read_name(struct yaml_map *y, struct text t)
{
	const char *last = y->m->count ? y->m->names[y->m->count - 1] : NULL;

	/* SPEC xray-names/no-name: "@(address)" stands where llvm-xray has no name */
	y->name = NULL;
	if (!t.len || text_starts(t, "@(") || memchr(t.p, 0, t.len))
		return true;
	y->name = last && text_is(t, last) ? last : arena_strdup(&y->m->arena, t.p, t.len);
	return y->name != NULL;
}

static void read_value(struct yaml_map *y, struct text t)
{
	uint64_t n = 0;
	bool yes = false;

	switch (y->key) {
	case KEY_ID:
		if (!read_number(t, INT32_MAX, &n) || !n)
			y->wrong = "id: expected a number from 1 on";
		y->sled.id = (uint32_t)n;
		break;
	case KEY_ADDRESS:
		if (!read_number(t, UINT64_MAX, &y->sled.address))
			y->wrong = "address: expected a number";
		break;
	case KEY_FUNCTION:
		if (!read_number(t, UINT64_MAX, &y->sled.function))
			y->wrong = "function: expected a number";
		break;
	case KEY_KIND:
		y->sled.kind = read_kind(t);
		break;
	case KEY_ALWAYS:
		if (!read_word(t, &yes))
			y->wrong = "always-instrument: expected true or false";
		y->sled.always = yes;
		break;
	case KEY_NAME:
		y->no_memory |= !read_name(y, t);
		break;
	case KEY_VERSION:
		if (!read_number(t, UINT8_MAX, &n))
			y->wrong = "version: expected a number up to 255";
		y->sled.version = (uint8_t)n;
		break;
	case KEYS:
		break;
	}
	if (y->key < KEYS)
		y->found |= 1u << y->key;
}

/*
 * A node inside an entry: a key, or the value of the one before. `text` is NULL where it is no
 * scalar.
 */
static void read_node(struct yaml_map *y, const struct text *text)
{
	if (!y->has_key) {
		y->key = KEYS;
		for (unsigned k = 0; text && k < KEYS; k++)
			if (text_is(*text, key_names[k]))
				y->key = (enum key)k;
	} else if (text) {
		read_value(y, *text);
	} else if (y->key < KEYS) {
		y->wrong = "a value: expected a scalar";
	}
	y->has_key = !y->has_key;
}

/* SPEC xray-names/yaml-entry: what is no entry is left out, the others are read */
static void bad_entry(struct yaml_map *y, size_t line, const char *wrong)
{
	if (!y->bad++)
		map_say(y->m, "line %zu: %s, found another: entries like that are left out", line,
			wrong);
}

static void end_entry(struct yaml_map *y, const yaml_event_t *e)
{
	struct site_map *m = y->m;

	if (!y->wrong && (y->found & NEEDED) != NEEDED)
		y->wrong = "entry: expected id, address and function";
	if (y->wrong) {
		bad_entry(y, e->start_mark.line + 1, y->wrong);
		return;
	}
	if (!mem_grow((void **)&m->sleds, &m->cap, m->count + 1, sizeof(*m->sleds), MAX_SLEDS) ||
	    !mem_grow((void **)&m->names, &m->names_cap, m->count + 1, sizeof(*m->names),
		      MAX_SLEDS)) {
		y->no_memory = true;
		return;
	}
	m->names[m->count] = y->name;
	m->sleds[m->count++] = y->sled;
}

/* A scalar, an alias, or a collection that begins. */
static void begin_node(struct yaml_map *y, const yaml_event_t *e)
{
	const bool scalar = e->type == YAML_SCALAR_EVENT;
	const struct text text =
		scalar ? text_make(e->data.scalar.value, e->data.scalar.length) : text_of("");

	if (y->depth == 2) {
		read_node(y, scalar ? &text : NULL);
	} else if (y->depth == 1) {
		y->sled = (struct map_site){ 0 };
		y->name = NULL;
		y->found = 0;
		y->has_key = false;
		y->wrong =
			e->type == YAML_SEQUENCE_START_EVENT ? "entry: expected a mapping" : NULL;
		if (scalar || e->type == YAML_ALIAS_EVENT)
			bad_entry(y, e->start_mark.line + 1, "entry: expected a mapping");
	}
}

/* False: what follows is not to be read. */
static bool read_event(struct yaml_map *y, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		begin_node(y, e);
		y->started |= !y->depth && e->type == YAML_SEQUENCE_START_EVENT;
		y->depth++;
		return y->started && y->depth <= MAX_DEPTH;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		if (--y->depth == 1)
			end_entry(y, e);
		return y->depth > 0;
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
		begin_node(y, e);
		return y->started;
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_START_EVENT:
		return true;
	default:
		return false;
	}
}

static void read_events(struct yaml_map *y)
{
	yaml_event_t e;
	bool more = true;

	while (more && !y->no_memory) {
		if (!yaml_parser_parse(&y->parser, &e)) {
			y->no_memory = y->parser.error == YAML_MEMORY_ERROR;
			map_say(y->m,
				"line %zu: expected YAML, found an error (%s): what follows is "
				"not read",
				y->parser.problem_mark.line + 1,
				y->parser.problem ? y->parser.problem : "too much of it");
			return;
		}
		more = read_event(y, &e);
		if (!more && y->depth > MAX_DEPTH)
			map_say(y->m,
				"line %zu: expected a list of mappings, found deep nesting: "
				"what follows is not read",
				e.start_mark.line + 1);
		yaml_event_delete(&e);
	}
}

enum spur_status map_read_yaml(struct site_map *m, const struct source *s, struct spur_error *err)
{
	struct yaml_map y = { .m = m, .data = s->data, .size = (size_t)s->size };

	if (s->size > MAP_INPUT_MAX)
		return err_set(err, SPUR_ERR_LIMIT,
			       "%s: expected an ELF or Mach-O file, or a map in YAML of at most %d "
			       "bytes, found more",
			       m->path, MAP_INPUT_MAX);
	if (!yaml_parser_initialize(&y.parser))
		return err_nomem(err);
	yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input(&y.parser, give, &y);
	read_events(&y);
	yaml_parser_delete(&y.parser);
	if (y.no_memory)
		return err_nomem(err);
	if (m->count)
		return SPUR_OK;
	if (y.started)
		return err_set(
			err, SPUR_ERR_FORMAT,
			"%s: expected sleds in an instrumentation map in YAML, found none%s%s",
			m->path, m->note ? "; " : "", m->note ? m->note : "");
	return err_set(
		err, SPUR_ERR_FORMAT,
		"%s: expected an ELF or Mach-O file, or an instrumentation map in YAML, found "
		"something else",
		m->path);
}
