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

#include "base/err.h"
#include "base/hash.h"
#include "base/map64.h"
#include "base/os.h"
#include "base/out.h"
#include "flow/args.h"

enum {
	KEY_BYTES = 32,
	HASH_BYTES = 32,
	BLOCK = 16, /* of AES */
	ROUNDS = 4, /* of the permutation of ids */
	TOKEN_LETTERS = 12, /* 5 bits each: 60 bits of the hash */
	TOKEN_MAX = 64,
	NESTING = 64,
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
	struct spur_track **tracks; /* masked tracks, by track; NULL: not met yet */
	size_t ntracks;
	struct arena arena; /* of them */
	struct map64 ids; /* process or thread id -> number */
	struct mask_kept kept;
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
	if (id == SPUR_NONE || !mem_grow((void **)&m->strings, &m->nstrings, (size_t)string + 1,
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

/* Called with m->lock held. Returns the number of a process or thread id; 0 if out of memory. */
static int64_t id_make(struct mask *m, int64_t id)
{
	struct map64_slot *slot;

	if (id == 0 || id == -1)
		return id;
	slot = map64_put(&m->ids, (uint64_t)id);
	if (!slot)
		return 0;
	if (!slot->value)
		slot->value = MASK_FIRST_ID + m->ids.count - 1;
	return (int64_t)slot->value;
}

/* The number of bits of the ids among which an id is permuted. */
static unsigned id_bits(uint64_t id)
{
	return id >> 48 ? 64 : id >> 32 ? 48 : 32;
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
 * until the result has the same width, so that it can be undone. Called with m->lock held.
 */
static uint64_t id_permute(const struct mask *m, uint64_t id, bool back)
{
	const unsigned bits = id_bits(id);
	const uint64_t low = ((uint64_t)1 << bits / 2) - 1;
	uint64_t a, b;

	if (id < MASK_SMALL_ID)
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
	} while (id < MASK_SMALL_ID || id_bits(id) != bits);
	return id;
}

/* --- rows --- */

/* Called with m->lock held. Returns the masked class; 0 if out of memory. */
static uint32_t class_make(struct mask *m, uint32_t cls)
{
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
	c.library = string_make(m, c.library);
	if (c.name == SPUR_NONE || c.simple == SPUR_NONE || c.raw == SPUR_NONE ||
	    c.cat == SPUR_NONE || c.module == SPUR_NONE || c.library == SPUR_NONE)
		return 0;
	c.file = c.line = 0;
	c.row = NULL;
	c.addr = id_permute(m, c.addr, false);
	c.entry = c.exit = NULL;
	c.schema = NULL;
	c.extra = NULL;
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

bool mask_rows(struct mask *m, struct spur_event *rows, size_t n)
{
	bool good = true;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; good && i < n; i++) {
		struct spur_event *row = &rows[i];

		m->kept.small_ids += row->id && row->id < MASK_SMALL_ID;
		row->name = string_make(m, row->name);
		row->cat = string_make(m, row->cat);
		row->cls = class_make(m, row->cls);
		if (row->kind != SPUR_LOST)
			row->id = id_permute(m, row->id, false);
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

/* Returns false if out of memory. */
static bool value_mask(struct mask *m, struct spur_args *args, struct spur_value *v, unsigned depth)
{
	struct spur_value *items;
	size_t len = v->count;

	if (v->name)
		v->name = string_of(m, v->name);
	if (v->name == SPUR_NONE)
		return false;
	if (v->label) {
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
		v->u = id_permute(m, v->u, false);
		pthread_mutex_unlock(&m->lock);
		return true;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		items = depth < NESTING ? args_alloc(args, (len + 1) * sizeof(*items)) : NULL;
		if (!items)
			return false;
		memcpy(items, v->items, len * sizeof(*items));
		v->items = items;
		for (size_t i = 0; i < len; i++)
			if (!value_mask(m, args, &items[i], depth + 1))
				return false;
		return true;
	default:
		__atomic_fetch_add(&m->kept.numbers, v->type != SPUR_NULL, __ATOMIC_RELAXED);
		return true;
	}
}

enum spur_status mask_args(struct mask *m, const struct spur_event *row, struct spur_args *args)
{
	struct spur_event own = *row;
	enum spur_status st;

	pthread_mutex_lock(&m->lock);
	assert(row->cls < m->noriginals && m->originals[row->cls]);
	own.cls = m->originals[row->cls];
	if (row->kind != SPUR_LOST)
		own.id = id_permute(m, row->id, true);
	pthread_mutex_unlock(&m->lock);
	own.name = trace_class(m->trace, own.cls)->name;
	st = trace_args(m->trace, &own, args);
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
	struct spur_track *k;

	if (!own || (id < m->ntracks && m->tracks[id]))
		return own ? m->tracks[id] : NULL;
	if (!mem_grow((void **)&m->tracks, &m->ntracks, (size_t)id + 1, sizeof(*m->tracks),
		      SPUR_NONE - 1))
		return NULL;
	k = arena_alloc(&m->arena, sizeof(*k));
	if (!k)
		return NULL;
	*k = *own;
	k->name = string_make(m, k->name);
	k->pid = id_make(m, k->pid);
	k->tid = id_make(m, k->tid);
	if (k->name == SPUR_NONE || (own->pid && !k->pid) || (own->tid && !k->tid))
		return NULL;
	m->tracks[id] = k;
	return k;
}

const struct spur_track *mask_track(struct mask *m, uint32_t id)
{
	static const struct spur_track unknown = {
		.parent = SPUR_NONE, .kind = SPUR_TRACK_OTHER, .pid = -1, .tid = -1, .cpu = -1
	};
	const struct spur_track *k;

	pthread_mutex_lock(&m->lock);
	k = track_make(m, id);
	pthread_mutex_unlock(&m->lock);
	return k || !trace_track(m->trace, id) ? k : &unknown;
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
	return true;
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
	arena_init(&m->arena);
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
	mem_free(m->strings);
	mem_free(m->classes);
	mem_free(m->originals);
	map64_free(&m->ids);
	mem_free(m->tracks);
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
