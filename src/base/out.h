/*
 * Text output: a buffer that grows, or is flushed to a descriptor. Appending never fails at the
 * call; `error` keeps the first error (I/O or memory, an errno value), and later bytes are
 * dropped. Hot loops reserve once and write through the raw pointer.
 */
#ifndef SPUR_BASE_OUT_H
#define SPUR_BASE_OUT_H

#include <spur.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct out {
	char *buf;
	size_t len, cap;
	int fd; /* flushed to when full; -1: memory, the buffer grows */
	int error; /* errno of the first failure; EPIPE when the reader went away */
	bool lent; /* buf is the caller's: it does not grow */
	uint64_t flushed; /* bytes written to fd so far */
};

void out_to_fd(struct out *o, int fd);
/*
 * As out_to_fd() with the caller's buffer of OUT_LENT bytes, so that writing allocates no memory.
 */
enum { OUT_LENT = 128 << 10 };
void out_to_fd_lent(struct out *o, int fd, char *buf);
void out_to_memory(struct out *o);
/* Writes what is buffered; returns false if an error was met so far. */
bool out_flush(struct out *o);
void out_free(struct out *o); /* flushes nothing */
bool out_grow(struct out *o, size_t more); /* slow path of out_room() */
/* Empties a memory buffer, keeping its capacity. */
void out_clear(struct out *o);
/*
 * Takes back what was appended from `len` on, nothing of which was flushed. After an error there is
 * nothing to take back, and no room.
 */
static inline void out_cut(struct out *o, size_t len)
{
	if (!o->error)
		o->len = len;
}

/*
 * Returns room for `n` more bytes (n <= 1 MiB), or NULL after an error. The caller then adds the
 * number of bytes written to o->len.
 */
static inline char *out_room(struct out *o, size_t n)
{
	if (o->cap - o->len < n && !out_grow(o, n))
		return NULL;
	return o->buf + o->len;
}

/* Ends the text that was written to out_room() at `end`. */
static inline void out_to(struct out *o, const char *end)
{
	o->len = (size_t)(end - o->buf);
}

void out_bytes(struct out *o, const void *p, size_t len);
void out_str(struct out *o, const char *s);
/* Appends the bytes of `from` in [begin, end); `from` may have no buffer yet if that is empty. */
static inline void out_part(struct out *o, const struct out *from, size_t begin, size_t end)
{
	if (begin < end)
		out_bytes(o, from->buf + begin, end - begin);
}
static inline void out_char(struct out *o, char c)
{
	char *w = out_room(o, 1);

	if (w) {
		*w = c;
		o->len++;
	}
}
void out_pad(struct out *o, char c, size_t count);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Raw writers: put digits at `p`, return the end. They need at most 20 (u64, i64: 21, hex: 16)
 * bytes of room.
 */
char *put_u64(char *p, uint64_t v);
char *put_i64(char *p, int64_t v);
char *put_hex(char *p, uint64_t v); /* no prefix, lower case, no leading zeros */
/* Right-aligned in `width` (blanks in front), never cut. Room: max(width, 20). */
char *put_u64_w(char *p, uint64_t v, unsigned width);
/* Exactly `width` digits with leading zeros (the low digits if more). */
char *put_u64_0(char *p, uint64_t v, unsigned width);
/* As printf's %g. Room: PUT_G. */
enum { PUT_G = 32 };
char *put_g(char *p, double v);
/* As out_double(), out_f32() and out_json_double() below. Room: PUT_DOUBLE. */
enum { PUT_DOUBLE = 48 };
char *put_double(char *p, double v);
char *put_f32(char *p, float v);
char *put_json_double(char *p, double v, bool single);

/*
 * Shortest decimal that reads back as the same finite long double. Room: PUT_LONG_DOUBLE;
 * NUL-ended, and the end is returned.
 */
enum { PUT_LONG_DOUBLE = 64 };
char *put_long_double(char *p, long double v);

void out_u64(struct out *o, uint64_t v);
void out_i64(struct out *o, int64_t v);
void out_hex(struct out *o, uint64_t v);
/* Seconds with nine decimals from ns, e.g. 828.215538322; negative too. */
void out_seconds(struct out *o, int64_t ns);
/* Shortest decimal that reads back as the same double; nan, inf, -inf as such. */
void out_double(struct out *o, double v);
/* The same for a float, with at least six digits if it has them. */
void out_f32(struct out *o, float v);

/*
 * A floating point number as JSON, never mistaken for an integer: 1.0, -0.0, 1e+20; values without
 * a JSON number are strings: "nan", "inf", "-inf". `single`: it was recorded as a float.
 */
void out_json_double(struct out *o, double v, bool single);

/*
 * Writes `s` in quotes if it needs no escapes (short, printable ASCII). Returns false, with nothing
 * written, if not.
 */
bool out_json_plain(struct out *o, const char *s, size_t len);
/*
 * `s` as a JSON string with quotes. A byte 0xXX that is no UTF-8 becomes the escape \udcXX, a lone
 * low surrogate, so that every line parses and the byte can be had back (docs/jsonl.md). Control
 * bytes: \n \t \r \b \f, else \u00XX.
 */
void out_json(struct out *o, const char *s, size_t len);
/* Version of the JSON that commands write (docs/jsonl.md). */
enum { JSON_SCHEMA = 1 };
/*
 * The head that every JSON document of a command begins with, {"schema":1,"spur":"report": the
 * caller appends a comma and further members. `name` needs no escapes.
 */
void out_json_head(struct out *o, const char *name);
/*
 * Text that is safe on a terminal and in a line: control characters, those that change the
 * direction of writing, and invalid UTF-8 as \xNN, \n, \t; a backslash as it is.
 */
void out_safe(struct out *o, const char *s, size_t len);
/*
 * A CSV field (RFC 4180): quoted where needed. Bytes that are not UTF-8 and control bytes other
 * than \n, \r and \t become the escapes of out_json().
 */
void out_csv(struct out *o, const char *s, size_t len);

#endif
