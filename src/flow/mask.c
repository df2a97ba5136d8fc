/*
 * See mask.h. A string of the trace gets its token when it is first met, as another string of the
 * same table, and a class its masked class; tables in both directions lead from one to the other,
 * because arguments are decoded by the original row.
 */
#include "flow/mask.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/map64.h"
#include "base/os.h"
#include "base/out.h"
#include "flow/args.h"
#include "flow/join_clock.h"
#include "format/format.h"

enum {
	KEY_BYTES = 32,
	HASH_BYTES = 32,
	BLOCK = 16, /* of AES */
	ROUNDS = 4, /* of the permutation of ids */
	TOKEN_LETTERS = 12, /* 5 bits each: 60 bits of the hash */
	TOKEN_MAX = 64,
	NESTING = 64,
};

struct masked_track {
	struct spur_track own; /* as it was when it was masked */
	struct spur_track masked;
};

struct mask {
	struct spur_trace *trace;
	bool words;
	uint8_t key[KEY_BYTES];
	pthread_mutex_t lock; /* of all below */
	EVP_CIPHER_CTX *cipher; /* permutes ids */
	uint32_t *strings; /* string id -> id of its token + 1; 0: not met yet */
	size_t nstrings;
	uint32_t *classes; /* class -> masked class; 0: not met yet */
	size_t nclasses;
	uint32_t *originals; /* masked class -> class */
	size_t noriginals;
	struct masked_track **tracks; /* by track; NULL: not met yet */
	size_t ntracks;
	struct arena arena; /* of them */
	struct mask_kept kept;
	struct map64 numeric; /* names of arguments whose numbers stay */
};

/* --- tokens --- */

static const char *const adjectives[] = {
	"amber", "blue",  "bold", "brisk", "calm",  "clear", "cold", "coral",
	"crisp", "dark",  "deep", "dry",   "early", "faint", "fast", "fine",
	"flat",	 "fresh", "gold", "green", "grey",  "hard",  "high", "keen",
	"kind",	 "large", "late", "light", "lime",  "long",  "loud", "low",
};
static const char *const nouns[] = {
	"anchor", "apple", "arrow",  "badge",  "barn",	"basin", "beach",  "bell",
	"birch",  "boat",  "branch", "bridge", "brook", "cabin", "cedar",  "chain",
	"cliff",  "cloud", "comet",  "crane",  "delta", "dune",	 "eagle",  "field",
	"finch",  "flint", "forest", "fox",    "gate",	"glade", "harbor", "hill",
};

static uint64_t hash_text(const struct mask *m, const char *s, size_t len)
{
	uint8_t hash[HASH_BYTES] = { 0 };
	unsigned size = sizeof(hash);
	uint64_t h = 0;

	HMAC(EVP_sha256(), m->key, sizeof(m->key), (const uint8_t *)s, len, hash, &size);
	for (int i = 0; i < 8; i++)
		h = h << 8 | hash[i];
	return h;
}

/* Writes the token of a text. Returns its length. */
static size_t token_put(const struct mask *m, const char *s, size_t len, char token[TOKEN_MAX])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint64_t h = hash_text(m, s, len);

	if (m->words)
		return (size_t)snprintf(token, TOKEN_MAX, "%s-%s-%llx", adjectives[h % 32],
					nouns[h / 32 % 32],
					(unsigned long long)(h >> 10 & UINT32_MAX));
	/* A letter first: a name stays a name. */
	token[0] = letters[h % 26];
	h /= 26;
	for (int i = 1; i < TOKEN_LETTERS; i++, h /= 32)
		token[i] = letters[h % 32];
	return TOKEN_LETTERS;
}

/* Writes a text whose parts between slashes are replaced one by one, so that a path stays one. */
static void text_mask(const struct mask *m, const char *s, size_t len, struct out *o)
{
	char token[TOKEN_MAX];

	for (size_t at = 0; at < len;) {
		const char *slash = memchr(s + at, '/', len - at);
		const size_t n = slash ? (size_t)(slash - s) - at : len - at;

		if (n)
			out_bytes(o, token, token_put(m, s + at, n, token));
		at += n;
		if (at < len) {
			out_char(o, '/');
			at++;
		}
	}
}

/* Called with m->lock held. Returns the token's string id; SPUR_NONE if out of memory. */
static uint32_t string_make(struct mask *m, uint32_t string)
{
	struct out text;
	const char *s;
	size_t len;
	uint32_t id;

	if (string < m->nstrings && m->strings[string])
		return m->strings[string] - 1;
	s = trace_string(m->trace, string, &len);
	out_to_memory(&text);
	text_mask(m, s, len, &text);
	id = text.error ? SPUR_NONE : len ? trace_intern_n(m->trace, text.buf, text.len) : string;
	out_free(&text);
	if (id == SPUR_NONE ||
	    !mem_table_grow((void **)&m->strings, &m->nstrings, (size_t)string + 1,
			    sizeof(*m->strings), SPUR_NONE - 1))
		return SPUR_NONE;
	m->strings[string] = id + 1;
	return id;
}

static uint32_t string_of(struct mask *m, uint32_t string)
{
	uint32_t id;

	pthread_mutex_lock(&m->lock);
	id = string_make(m, string);
	pthread_mutex_unlock(&m->lock);
	return id;
}

/* --- ids --- */

/* Widths of ids; an id keeps its width, so that what can hold it can hold what takes its place. */
enum width { WIDTH_16, WIDTH_31, WIDTH_32, WIDTH_48, WIDTH_64 };

static enum width id_width(uint64_t id)
{
	return id >> 48	  ? WIDTH_64
	       : id >> 32 ? WIDTH_48
	       : id >> 31 ? WIDTH_32
	       : id >> 16 ? WIDTH_31
			  : WIDTH_16;
}

/* A keyed number from half of an id. Called with m->lock held. */
static uint64_t id_round(const struct mask *m, uint64_t half, unsigned round, unsigned bits)
{
	uint8_t in[BLOCK] = { 0 }, out[2 * BLOCK];
	uint64_t h = 0;
	int size = 0;

	memcpy(in, &half, sizeof(half));
	in[8] = (uint8_t)round;
	in[9] = (uint8_t)bits;
	EVP_EncryptUpdate(m->cipher, out, &size, in, sizeof(in));
	assert(size == BLOCK);
	memcpy(&h, out, sizeof(h));
	return h & (((uint64_t)1 << bits / 2) - 1);
}

/*
 * Permutes the ids of one width by a Feistel network, forwards or backwards; the step is repeated
 * until the result has the same width, so that it can be undone. 0 and -1, which are no ids, stay.
 * Called with m->lock held.
 */
static uint64_t id_permute(const struct mask *m, uint64_t id, bool back)
{
	static const uint8_t network[] = { 16, 32, 32, 48, 64 };
	const enum width width = id_width(id);
	const unsigned bits = network[width];
	const uint64_t low = ((uint64_t)1 << bits / 2) - 1;
	uint64_t a, b;

	if (id == 0 || id == UINT64_MAX)
		return id;
	do {
		a = id >> bits / 2;
		b = id & low;
		for (unsigned i = 0; i < ROUNDS; i++) {
			const uint64_t c = back ? b ^ id_round(m, a, ROUNDS - 1 - i, bits)
						: a ^ id_round(m, b, i, bits);

			if (back)
				b = a;
			else
				a = b;
			*(back ? &a : &b) = c;
		}
		id = a << bits / 2 | b;
	} while (id == 0 || id == UINT64_MAX || id_width(id) != width);
	return id;
}

/* Small ids of what is no process, thread or object of a kernel are numbers that programs count. */
static uint64_t number_permute(const struct mask *m, uint64_t id, bool back)
{
	return id < MASK_SMALL_ID ? id : id_permute(m, id, back);
}

/* --- rows --- */

/* Called with m->lock held. Returns the masked class; 0 if out of memory. */
static uint32_t class_make(struct mask *m, uint32_t cls)
{
	struct class_more more = { 0 };
	struct event_class c;
	uint32_t id;

	if (cls < m->nclasses && m->classes[cls])
		return m->classes[cls];
	c = *trace_class(m->trace, cls);
	c.name = string_make(m, c.name);
	c.simple = string_make(m, c.simple);
	c.raw = string_make(m, c.raw);
	c.cat = string_make(m, c.cat);
	c.module = string_make(m, c.module);
	more.library = string_make(m, class_library(&c));
	if (c.name == SPUR_NONE || c.simple == SPUR_NONE || c.raw == SPUR_NONE ||
	    c.cat == SPUR_NONE || c.module == SPUR_NONE || more.library == SPUR_NONE)
		return 0;
	c.file = c.line = 0;
	c.addr = number_permute(m, c.addr, false);
	c.schema = NULL;
	c.more = more.library ? &more : NULL;
	id = trace_add_class(m->trace, &c);
	if (!id ||
	    !mem_grow((void **)&m->classes, &m->nclasses, (size_t)cls + 1, sizeof(*m->classes),
		      SPUR_NONE - 1) ||
	    !mem_grow((void **)&m->originals, &m->noriginals, (size_t)id + 1, sizeof(*m->originals),
		      SPUR_NONE - 1))
		return 0;
	m->classes[cls] = id;
	m->originals[id] = cls;
	return id;
}

/*
 * The id of a row, or what took its place. In some kinds it is no id but a number of events or
 * calls. Called with m->lock held.
 */
static uint64_t row_id(const struct mask *m, const struct spur_event *row, bool back)
{
	if (row->kind == SPUR_LOST || row->kind == SPUR_SAMPLE)
		return row->id;
	return row->kind == SPUR_OBJECT ? id_permute(m, row->id, back)
					: number_permute(m, row->id, back);
}

bool mask_rows(struct mask *m, struct spur_event *rows, size_t n)
{
	bool good = true;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; good && i < n; i++) {
		struct spur_event *row = &rows[i];
		uint64_t id;

		row->name = string_make(m, row->name);
		row->cat = string_make(m, row->cat);
		row->cls = class_make(m, row->cls);
		id = row_id(m, row, false);
		m->kept.small_ids += id && id == row->id;
		row->id = id;
		good = row->name != SPUR_NONE && row->cat != SPUR_NONE && row->cls;
	}
	pthread_mutex_unlock(&m->lock);
	return good;
}

/* --- arguments --- */

/* Returns a masked copy of a text in the arguments' memory, or NULL if out of memory. */
static const char *args_mask(struct mask *m, struct spur_args *args, const char *s, size_t *len)
{
	struct out text;
	const char *copy;

	out_to_memory(&text);
	text_mask(m, s, *len, &text);
	copy = text.error ? NULL : args_text(args, text.buf ? text.buf : "", text.len);
	*len = text.len;
	out_free(&text);
	return copy;
}

/* Replaces bytes by a keyed stream of as many. */
static const char *bytes_mask(struct mask *m, struct spur_args *args, const char *s, uint32_t count)
{
	uint8_t *to = args_alloc(args, (size_t)count + 1);
	uint64_t h = hash_text(m, s, count);

	for (uint32_t i = 0; to && i < count; i++) {
		to[i] = (uint8_t)(h >> 56);
		h = hash64(h + i);
	}
	return (const char *)to;
}

/* Returns true if all items are numbers of a byte, which may be a text or a blob. */
static bool items_are_bytes(const struct spur_value *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (items[i].size != 1 || (items[i].type != SPUR_U64 && items[i].type != SPUR_I64))
			return false;
	return n > 0;
}

/* Replaces items as bytes are replaced. Returns false if out of memory. */
static bool items_mask(struct mask *m, struct spur_args *args, struct spur_value *items, uint32_t n)
{
	char *own = args_alloc(args, (size_t)n + 1);
	const char *masked;

	if (!own)
		return false;
	for (uint32_t i = 0; i < n; i++)
		own[i] = (char)items[i].u;
	masked = bytes_mask(m, args, own, n);
	for (uint32_t i = 0; masked && i < n; i++) {
		if (items[i].type == SPUR_I64)
			items[i].i = (int8_t)masked[i];
		else
			items[i].u = (uint8_t)masked[i];
	}
	return masked;
}

/* Notes that the number of an argument stays. Returns false if out of memory. */
static bool number_keep(struct mask *m, uint32_t name)
{
	struct map64_slot *slot;

	pthread_mutex_lock(&m->lock);
	m->kept.numbers++;
	slot = name ? map64_put(&m->numeric, name) : NULL;
	pthread_mutex_unlock(&m->lock);
	return !name || slot;
}

/* Returns false if out of memory. */
static bool value_mask(struct mask *m, struct spur_args *args, struct spur_value *v, unsigned depth)
{
	const uint32_t name = v->name;
	struct spur_value *items;
	size_t len = v->count;

	if (v->name)
		v->name = string_of(m, v->name);
	if (v->name == SPUR_NONE)
		return false;
	/* A label of an F64 is its digits. */
	if (v->label && v->type != SPUR_F64) {
		size_t n = strlen(v->label);

		v->label = args_mask(m, args, v->label, &n);
		if (!v->label)
			return false;
	}
	switch ((enum spur_type)v->type) {
	case SPUR_STRING:
		v->text = args_mask(m, args, v->text, &len);
		v->count = (uint32_t)len;
		return v->text;
	case SPUR_BYTES:
		v->text = bytes_mask(m, args, v->text, v->count);
		return v->text;
	case SPUR_POINTER:
	case SPUR_KOID:
		pthread_mutex_lock(&m->lock);
		v->u = v->type == SPUR_KOID ? id_permute(m, v->u, false)
					    : number_permute(m, v->u, false);
		pthread_mutex_unlock(&m->lock);
		return true;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		items = depth < NESTING ? args_alloc(args, (len + 1) * sizeof(*items)) : NULL;
		if (!items)
			return false;
		if (len)
			memcpy(items, v->items, len * sizeof(*items));
		v->items = items;
		if (v->type == SPUR_ARRAY && items_are_bytes(items, len))
			return items_mask(m, args, items, (uint32_t)len);
		for (size_t i = 0; i < len; i++)
			if (!value_mask(m, args, &items[i], depth + 1))
				return false;
		return true;
	default:
		return v->type == SPUR_NULL || number_keep(m, name);
	}
}

/* Returns the row as it was before mask_rows(), except for its category. */
static struct spur_event row_original(struct mask *m, const struct spur_event *row)
{
	struct spur_event own = *row;

	pthread_mutex_lock(&m->lock);
	assert(row->cls < m->noriginals && m->originals[row->cls]);
	own.cls = m->originals[row->cls];
	own.id = row_id(m, row, true);
	pthread_mutex_unlock(&m->lock);
	own.name = trace_class(m->trace, own.cls)->name;
	return own;
}

size_t mask_stack(struct mask *m, const struct spur_event *row, uint32_t *cls, size_t cap)
{
	const struct spur_event own = row_original(m, row);
	const size_t n = m->trace->format->stack(m->trace, &own, cls, cap);
	bool good = true;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; good && i < n && i < cap; i++) {
		cls[i] = class_make(m, cls[i]);
		good = cls[i] != 0;
	}
	pthread_mutex_unlock(&m->lock);
	return good ? n : 0;
}

enum spur_status mask_args(struct mask *m, const struct spur_event *row, struct spur_args *args)
{
	const struct spur_event own = row_original(m, row);
	enum spur_status st = trace_args(m->trace, &own, args);

	for (size_t i = 0; st != SPUR_FAIL && i < args->count; i++)
		if (!value_mask(m, args, (struct spur_value *)&args->items[i], 0))
			st = SPUR_FAIL;
	return st;
}

/* --- the trace --- */

/* Called with m->lock held. Returns NULL if out of memory. */
static const struct spur_track *track_make(struct mask *m, uint32_t id)
{
	const struct spur_track *own = trace_track(m->trace, id);
	struct masked_track *k;

	if (!mem_table_grow((void **)&m->tracks, &m->ntracks, (size_t)id + 1, sizeof(*m->tracks),
			    SPUR_NONE - 1))
		return NULL;
	k = arena_alloc(&m->arena, sizeof(*k));
	if (!k)
		return NULL;
	k->own = k->masked = *own;
	k->masked.name = string_make(m, own->name);
	k->masked.pid = (int64_t)id_permute(m, (uint64_t)own->pid, false);
	k->masked.tid = (int64_t)id_permute(m, (uint64_t)own->tid, false);
	if (k->masked.name == SPUR_NONE)
		return NULL;
	m->tracks[id] = k;
	return &k->masked;
}

/* Returns true if the track is masked, and the reader has not changed it since then. */
static bool track_stays(const struct mask *m, uint32_t id)
{
	const struct spur_track *was, *own = trace_track(m->trace, id);

	if (id >= m->ntracks || !m->tracks[id])
		return false;
	was = &m->tracks[id]->own;
	return was->name == own->name && was->pid == own->pid && was->tid == own->tid;
}

const struct spur_track *mask_track(struct mask *m, uint32_t id)
{
	static const struct spur_track unknown = {
		.parent = SPUR_NONE, .kind = SPUR_TRACK_OTHER, .pid = -1, .tid = -1, .cpu = -1
	};
	const struct spur_track *k;

	if (!trace_track(m->trace, id))
		return NULL;
	pthread_mutex_lock(&m->lock);
	k = track_stays(m, id) ? &m->tracks[id]->masked : track_make(m, id);
	pthread_mutex_unlock(&m->lock);
	return k ? k : &unknown;
}

/*
 * The name that a program or its user gave to a clock is replaced; identities (of boots) are left
 * out. Returns false if out of memory.
 */
static bool clock_mask(struct mask *m)
{
	struct clock_info *c = &m->trace->clock;
	char token[TOKEN_MAX];
	uint32_t id;

	c->identity = NULL;
	if (join_is_kernel_clock(c->name) || strcmp(c->name, "unknown") == 0)
		return true;
	id = trace_intern_n(m->trace, token, token_put(m, c->name, strlen(c->name), token));
	if (id != SPUR_NONE)
		c->name = trace_string(m->trace, id, NULL);
	return id != SPUR_NONE;
}

/* Replaces names of origins, and leaves out the trace's facts. Returns false if out of memory. */
static bool trace_mask(struct mask *m)
{
	struct spur_trace *t = m->trace;

	for (size_t i = 0; i < t->norigins; i++) {
		t->origins[i].name = string_make(m, t->origins[i].name);
		if (t->origins[i].name == SPUR_NONE)
			return false;
	}
	t->ninfo = 0;
	return clock_mask(m);
}

static bool key_make(struct mask *m, const char *key)
{
	unsigned size = sizeof(m->key);

	if (!key)
		return os_getrandom(m->key, sizeof(m->key), 0) == sizeof(m->key);
	return EVP_Digest(key, strlen(key), m->key, &size, EVP_sha256(), NULL) == 1;
}

struct mask *mask_new(struct spur_trace *t, const struct mask_options *opt, struct spur_error *err)
{
	struct mask *m = mem_alloc(sizeof(*m));

	if (!m) {
		err_nomem(err);
		return NULL;
	}
	m->trace = t;
	m->words = opt->words;
	arena_init_scratch(&m->arena);
	pthread_mutex_init(&m->lock, NULL);
	m->cipher = EVP_CIPHER_CTX_new();
	if (!key_make(m, opt->key))
		err_set(err, SPUR_ERR_IO, "no random key: the system has no random bytes");
	else if (!m->cipher ||
		 EVP_EncryptInit_ex(m->cipher, EVP_aes_256_ecb(), NULL, m->key, NULL) != 1 ||
		 EVP_CIPHER_CTX_set_padding(m->cipher, 0) != 1 || !trace_mask(m))
		err_nomem(err);
	else
		return m;
	mask_free(m);
	return NULL;
}

void mask_free(struct mask *m)
{
	if (!m)
		return;
	EVP_CIPHER_CTX_free(m->cipher);
	pthread_mutex_destroy(&m->lock);
	mem_table_free(m->strings, m->nstrings, sizeof(*m->strings));
	mem_free(m->classes);
	mem_free(m->originals);
	mem_table_free((void *)m->tracks, m->ntracks, sizeof(*m->tracks));
	map64_free(&m->numeric);
	arena_free(&m->arena);
	mem_free(m);
}

uint32_t mask_original(struct mask *m, uint32_t cls)
{
	uint32_t own;

	pthread_mutex_lock(&m->lock);
	own = cls < m->noriginals && m->originals[cls] ? m->originals[cls] : cls;
	pthread_mutex_unlock(&m->lock);
	return own;
}

struct mask_kept mask_kept(const struct mask *m)
{
	return m->kept;
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void mask_kept_names(const struct mask *m, struct out *o)
{
	const struct map64_slot *slot;
	const char **names = NULL;
	size_t n = 0, cap = 0, at = 0;

	while ((slot = map64_next(&m->numeric, &at))) {
		if (!mem_grow((void **)&names, &cap, n + 1, sizeof(*names), SIZE_MAX / 2))
			break;
		names[n++] = trace_string(m->trace, (uint32_t)slot->key, NULL);
	}
	if (n)
		qsort(names, n, sizeof(*names), text_order);
	for (size_t i = 0; i < n && i < MASK_NAMES; i++) {
		out_str(o, i ? ", " : "");
		out_safe(o, names[i], strlen(names[i]));
	}
	if (n > MASK_NAMES)
		out_printf(o, " and %zu more", n - MASK_NAMES);
	mem_free(names);
}
