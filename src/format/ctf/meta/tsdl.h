/*
 * Inside of the front end for CTF 1.8's language, TSDL: tsdl_lex.c (tokens), tsdl_expr.c
 * (constants, names, paths), tsdl_type.c, tsdl_enum.c (type specifiers), tsdl_decl.c (declarators,
 * names of types, scopes), tsdl_block.c (what stands in trace, env, clock, stream, event),
 * tsdl_parse.c (the whole).
 *
 * It goes over the text once and makes field classes as it reads; what depends on later text (byte
 * order, clocks, env, paths to fields) is left in the classes for meta_resolve(). Functions that
 * return bool have said why in p->err.
 */
#ifndef SPUR_FORMAT_CTF_META_TSDL_H
#define SPUR_FORMAT_CTF_META_TSDL_H

#include "base/map64.h"
#include "format/ctf/meta/meta.h"

/* Punctuators of one byte are their own kind. */
enum tsdl_kind {
	TSDL_END = 256, /* of the text */
	TSDL_BAD, /* the error is set */
	TSDL_NAME, /* identifier or keyword */
	TSDL_NUMBER, /* a character constant too */
	TSDL_STRING,
	TSDL_DOTS, /* ... */
	TSDL_ASSIGN, /* := */
};

/* Keywords, in the order of the table in tsdl_lex.c. */
enum tsdl_word {
	WORD_NONE,
	WORD_ALIGN,
	WORD_CALLSITE,
	WORD_CONST,
	WORD_CHAR,
	WORD_CLOCK,
	WORD_DOUBLE,
	WORD_ENUM,
	WORD_ENV,
	WORD_EVENT,
	WORD_FLOATING_POINT,
	WORD_FLOAT,
	WORD_INTEGER,
	WORD_INT,
	WORD_LONG,
	WORD_SHORT,
	WORD_SIGNED,
	WORD_STREAM,
	WORD_STRING,
	WORD_STRUCT,
	WORD_TRACE,
	WORD_TYPEALIAS,
	WORD_TYPEDEF,
	WORD_UNSIGNED,
	WORD_VARIANT,
	WORD_VOID,
	WORD_BOOL,
	WORD_COMPLEX,
	WORD_IMAGINARY,
	WORD_COUNT
};

struct tsdl_token {
	uint16_t kind; /* enum tsdl_kind, or a punctuator */
	uint8_t word; /* enum tsdl_word, of names */
	bool escaped; /* name with \u */
	uint64_t at, len;
	uint64_t number;
};

enum tsdl_value_kind { VALUE_NUMBER, VALUE_STRING, VALUE_NAME };

/* What stands right of `=`, in brackets, ... Valid until the next one is read. */
struct tsdl_value {
	enum tsdl_value_kind kind;
	bool negative;
	uint64_t number; /* its amount */
	const char *text; /* string, or name of one part */
	size_t len;
	const char *const *names; /* parts of a dotted name: p->path */
	uint32_t nnames;
	bool keyword; /* a name of one part that is a keyword */
	uint64_t at, end;
};

/* A structure or variant whose body is being read; its members are p->members from `first` on. */
struct tsdl_frame {
	uint32_t lex;
	bool is_struct;
	size_t first;
	bool indexed; /* its names are in p->index */
};

/* One range of an enumeration that is being read. */
struct tsdl_range {
	uint32_t mapping;
	struct ctf_range range;
};

/* An event block, until the stream classes are known. */
struct tsdl_event {
	struct ctf_event_class *class;
	bool has_stream;
};

enum {
	/* Scopes inside each other: types, and a block and the root around them. */
	TSDL_SCOPES = META_DEPTH + 4,
	TSDL_PATH = 128, /* names of a dotted name */
	TSDL_DIMS = META_DEPTH, /* [..] of one declarator */
	TSDL_SCAN = 16, /* up to this many names are compared one by one */
};

struct tsdl {
	struct ctf_meta *m;
	struct diag_log *diag;
	struct spur_error *err;
	const char *text;
	uint64_t size, pos;
	struct tsdl_token tok, next;
	bool has_next;
	bool failed; /* err is set */
	bool cut; /* because the text ended */
	bool said_nul;
	unsigned depth; /* types and parentheses that are open */
	struct out buf; /* decoded string or name */
	const char *path[TSDL_PATH];
	struct tsdl_value dims[TSDL_DIMS]; /* of one declarator */

	uint32_t scopes[TSDL_SCOPES];
	unsigned nscopes;
	uint32_t last_scope;
	struct map64 types; /* scope << 32 | name: field class */

	struct tsdl_frame frames[META_DEPTH];
	unsigned nframes;
	uint32_t last_lex;
	struct ctf_member *members;
	size_t nmembers, members_cap;
	struct map64 index; /* lex << 32 | name: 1 + place in its frame or enumeration */

	struct ctf_mapping *mappings; /* of the enumeration being read */
	size_t nmappings, mappings_cap;
	struct tsdl_range *ranges;
	size_t nranges, ranges_cap;

	struct tsdl_event *events;
	size_t nevents, events_cap;
	struct map64 clock_names, env_names;
	bool has_trace, has_env;
};

/*
 * What a type specifier says. `field` is NULL where it is only a name (of a type, or of one after
 * a pointer).
 */
struct tsdl_spec {
	struct ctf_field *field;
	uint32_t name, plain; /* the name's id, with and without `const`; 0: none */
	bool is_typedef;
	bool is_compound; /* struct, variant or enum: may stand alone */
	uint64_t at;
};

/* tsdl_lex.c */
void tsdl_advance(struct tsdl *p);
const struct tsdl_token *tsdl_peek(struct tsdl *p); /* the token after p->tok */
bool tsdl_is(const struct tsdl *p, int kind);
bool tsdl_is_word(const struct tsdl *p, enum tsdl_word word);
/* tsdl_type.c: one of C's words for numbers. */
bool tsdl_is_basic(const struct tsdl_token *t);
bool tsdl_accept(struct tsdl *p, int kind); /* and goes on */
bool tsdl_accept_word(struct tsdl *p, enum tsdl_word word);
bool tsdl_expect(struct tsdl *p, int kind, const char *what);
/* Id of the name under the cursor in m->names; INTERN_NONE: failed. */
uint32_t tsdl_name(struct tsdl *p);
const char *tsdl_text(const struct tsdl *p, uint32_t id);
/* Decodes the string token into p->buf. */
bool tsdl_string(struct tsdl *p, const struct tsdl_token *t);

/* Errors; all return false. Of several the first counts. */
bool tsdl_expected(struct tsdl *p, const char *what); /* found: the token under the cursor */
bool tsdl_error(struct tsdl *p, uint64_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool tsdl_found(struct tsdl *p, const struct tsdl_value *v,
		const char *what); /* found: the value */
bool tsdl_full(struct tsdl *p); /* limit of classes, or memory */
bool tsdl_deeper(struct tsdl *p); /* p->depth + 1; false beyond META_DEPTH */
void tsdl_warn(struct tsdl *p, const char *code, uint64_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* tsdl_expr.c */
bool tsdl_value(struct tsdl *p, struct tsdl_value *v, const char *what);
/* Typed reading; `what` names the attribute. */
bool tsdl_u64(struct tsdl *p, const struct tsdl_value *v, const char *what, uint64_t *out);
bool tsdl_i64(struct tsdl *p, const struct tsdl_value *v, const char *what, int64_t *out);
bool tsdl_u32(struct tsdl *p, const struct tsdl_value *v, const char *what, uint32_t *out);
bool tsdl_bool(struct tsdl *p, const struct tsdl_value *v, const char *what, bool *out);
bool tsdl_align(struct tsdl *p, const struct tsdl_value *v, uint32_t *out);
/* A string, or where `or_name` a name of one part; an arena copy. */
bool tsdl_words(struct tsdl *p, const struct tsdl_value *v, const char *what, bool or_name,
		const char **out);
bool tsdl_uuid(struct tsdl *p, const struct tsdl_value *v, uint8_t uuid[16]);
/* A dotted name as one; lives as long as the meta. NULL: failed. */
const char *tsdl_join(struct tsdl *p, const struct tsdl_value *v);
/* From now on its names live as long as the meta. */
bool tsdl_keep(struct tsdl *p, struct tsdl_value *v);

/* tsdl_decl.c */
bool tsdl_scope_open(struct tsdl *p);
void tsdl_scope_close(struct tsdl *p);
bool tsdl_type_add(struct tsdl *p, uint32_t name, struct ctf_field *f, uint64_t at);
struct ctf_field *tsdl_type_find(const struct tsdl *p, uint32_t name);
/* The id of "struct NAME" and the like; INTERN_NONE: failed. */
uint32_t tsdl_tag(struct tsdl *p, const char *keyword, uint32_t name);
/* The id of two words with a blank between; INTERN_NONE: failed. */
uint32_t tsdl_join_words(struct tsdl *p, uint32_t a, uint32_t b);
/* The class that the specifier means after `pointers` stars; NULL: failed. */
struct ctf_field *tsdl_spec_field(struct tsdl *p, const struct tsdl_spec *s, const char *pointers);
/* A path (kept) that says where a length or selector is, into f->ref. */
bool tsdl_reference(struct tsdl *p, const struct tsdl_value *v, struct ctf_field *f);
/* typedef, typealias, or a type without a name for a field, with its `;`. */
bool tsdl_declaration(struct tsdl *p);
/* The new names after `typedef` and its specifier, with the `;`. */
bool tsdl_typedef(struct tsdl *p, const struct tsdl_spec *s);
/* The declarators of fields after a specifier, with the `;`. */
bool tsdl_fields(struct tsdl *p, const struct tsdl_spec *s);
/* Does a declaration begin here? */
bool tsdl_declares(struct tsdl *p);

/* tsdl_type.c */
bool tsdl_specifier(struct tsdl *p, struct tsdl_spec *s);
/* NAME of `struct NAME` and the like, if there is one, as the id of "struct NAME" in s->name. */
bool tsdl_tag_name(struct tsdl *p, const char *keyword, struct tsdl_spec *s);
/* tsdl_enum.c */
bool tsdl_enum(struct tsdl *p, struct tsdl_spec *s);

/* tsdl_block.c; the cursor is on the keyword. */
bool tsdl_trace(struct tsdl *p);
bool tsdl_env(struct tsdl *p);
bool tsdl_clock(struct tsdl *p);
bool tsdl_stream(struct tsdl *p);
bool tsdl_event(struct tsdl *p);
bool tsdl_callsite(struct tsdl *p);

/* One attribute of a block: `name = value` or `name := type`. */
struct tsdl_attr {
	const char *name; /* NULL ends a table */
	bool (*value)(struct tsdl *p, void *block, const struct tsdl_value *v);
	bool (*type)(struct tsdl *p, void *block, struct ctf_field *f);
};

/* The body `{ ... }` of a block or of integer, floating_point, string. `what` names it. */
bool tsdl_body(struct tsdl *p, const struct tsdl_attr *attrs, void *block, const char *what);

#endif
