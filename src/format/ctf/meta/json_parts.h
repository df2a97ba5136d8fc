/* Parts of the CTF 2 front end: one fragment of the JSON sequence at a time. */
#ifndef SPUR_FORMAT_CTF_META_JSON_PARTS_H
#define SPUR_FORMAT_CTF_META_JSON_PARTS_H

#include <jansson.h>

#include "base/intern.h"
#include "base/map64.h"
#include "format/ctf/meta/meta.h"

enum {
	JSON_PATH = 200,
	JSON_FRAGMENT = 1 << 23, /* bytes of one fragment */
	JSON_ITEMS = 1 << 20, /* of one array or object */
};

/* A field class alias. */
struct frag_alias {
	struct ctf_field *field;
};

struct frag {
	struct ctf_meta *m;
	struct diag_log *diag;
	struct spur_error *err;
	size_t fragment; /* from 1 */
	uint64_t at; /* of the fragment in the metadata */
	char path[JSON_PATH]; /* where in the fragment: "payload-field-class.member-classes[2]" */
	size_t path_len;
	unsigned depth;
	struct intern *alias_names; /* id - 1 is the index */
	struct frag_alias *aliases;
	size_t naliases, aliases_cap;
	struct map64 streams; /* id: 1 + index of the data stream class */
	struct map64 clocks; /* number of the id in m->names: 1 + index */
	bool have_preamble, have_trace;
};

/* Sets the error: "metadata: fragment N (byte M), PATH: " and what follows. Always SPUR_FAIL. */
enum spur_status frag_fail(struct frag *j, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* What was found, for messages: "a string", "no such property". */
const char *frag_found(const json_t *v);

/* The path grows by ".NAME" or "[N]"; frag_leave() takes it back to what frag_enter() returned. */
size_t frag_enter(struct frag *j, const char *name);
size_t frag_enter_item(struct frag *j, size_t index);
void frag_leave(struct frag *j, size_t before);

/*
 * json_text.c: the text for the parser, which holds integers of 64 bits with a sign only: those of
 * 19 digits and more become strings that begin with U+0001. (A string that begins with U+0001
 * itself is not told apart from them: it has no business in metadata.) Commas before a closing
 * bracket go; *commas counts them. Returns NULL if out of memory.
 */
char *json_mark(const char *p, size_t len, size_t *out_len, size_t *commas);
/* Takes the marks out again, in place; returns the new length. */
size_t json_unmark(char *text, size_t len);
/* The digits of an integer that was marked; NULL: it was not. */
const char *json_marked(const json_t *v);

bool frag_is_int(const json_t *v);
/*
 * An integer of any size as one of 64 bits. Below or above what those hold: -1 or 1, and the
 * nearest in *out; else 0. Of others than integers: 2.
 */
int frag_clamp(const json_t *v, bool is_signed, uint64_t *out);
/* False: not an integer, or outside of the type. */
bool frag_u64(const json_t *v, uint64_t *out);
bool frag_i64(const json_t *v, int64_t *out);

/*
 * Properties of an object. Absent: SPUR_END and *out as it was; where `must`, an error. Of the
 * wrong type or range: an error.
 */
enum spur_status frag_get_u64(struct frag *j, const json_t *o, const char *key, bool must,
			      uint64_t *out);
enum spur_status frag_get_text(struct frag *j, const json_t *o, const char *key, bool must,
			       const char **out);
/* One of `words` (NULL-ended): its index. */
enum spur_status frag_get_word(struct frag *j, const json_t *o, const char *key, bool must,
			       const char *const *words, unsigned *out);
/* An array or an object. */
enum spur_status frag_get_list(struct frag *j, const json_t *o, const char *key, bool must,
			       const json_t **out);
enum spur_status frag_get_object(struct frag *j, const json_t *o, const char *key, bool must,
				 const json_t **out);
/* A copy in the meta's arena; returns NULL if out of memory. */
const char *frag_copy(struct frag *j, const char *s, size_t len);

/*
 * Checks what every object may have: `attributes` and `extensions` are objects, no extension is
 * used (none can be, since declared ones are rejected); warns of properties that are not in `known`
 * (NULL-ended). `attributes` may be NULL.
 */
enum spur_status frag_common(struct frag *j, const json_t *o, const char *const *known,
			     const char **attributes);

/* As property `key` of `o`; absent: *out is NULL. Where `structure`, it must be one. */
enum spur_status frag_get_field(struct frag *j, const json_t *o, const char *key, bool must,
				bool structure, struct ctf_field **out);
/* Adds an alias; SPUR_FAIL: the name is taken. */
enum spur_status frag_alias_add(struct frag *j, const char *name, struct ctf_field *field);

/* One fragment. */
enum spur_status frag_fragment(struct frag *j, const json_t *o);

#endif
