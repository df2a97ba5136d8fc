/* Parts of the front end for the RFC v1.1: what the text says, before it means anything. */
#ifndef SPUR_FORMAT_CTF_META_V11_H
#define SPUR_FORMAT_CTF_META_V11_H

#include "format/ctf/meta/meta.h"

enum v11_kind {
	V11_NUMBER,
	V11_TEXT, /* "string" */
	V11_WORDS, /* identifiers, with one blank between */
	V11_BODY, /* of a type or block: assignments and inner blocks */
	V11_LIST, /* { a, b, ... } */
};

struct v11_node {
	enum v11_kind kind;
	uint64_t at; /* offset in the text */
	const char *text; /* TEXT, WORDS */
	int64_t number; /* NUMBER; the bits of those above 2^63-1 */
	/* BODY: an assignment or inner block each; LIST: items. In the order of the text. */
	struct v11_node *first, *last, *next;
	/* Of a node inside a BODY: */
	const char *key; /* what is assigned, or the inner block's keyword */
	const char *name; /* of a block `type NAME {`, `abstract_type NAME {` */
};

enum { V11_NODES = 1 << 24 };

/*
 * The whole text as one BODY. SPUR_FAIL with err set: "metadata:LINE:COLUMN: expected X, found Y".
 */
enum spur_status v11_read(struct ctf_meta *m, struct text text, struct v11_node **out,
			  struct spur_error *err);
/* An error at a place of the text; always SPUR_FAIL. */
enum spur_status v11_fail(struct ctf_meta *m, uint64_t at, struct spur_error *err, const char *fmt,
			  ...) __attribute__((format(printf, 4, 5)));
/* The last assignment of that key in a body, or NULL. */
const struct v11_node *v11_get(const struct v11_node *body, const char *key);

#endif
