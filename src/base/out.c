/* Text out. See out.h. */
#include "base/out.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/digits.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"

enum {
	FD_BUFFER = 256 << 10, /* stays in the second-level cache */
	MEMORY_MIN = 256,
	ESCAPE_PIECE = 16 << 10, /* input bytes for which room is made at once */
};

static const char two_digits[] = "00010203040506070809101112131415161718192021222324"
				 "25262728293031323334353637383940414243444546474849"
				 "50515253545556575859606162636465666768697071727374"
				 "75767778798081828384858687888990919293949596979899";
static const char hex_digits[] = "0123456789abcdef";

void out_to_fd(struct out *o, int fd)
{
	*o = (struct out){ .fd = fd };
}

void out_to_fd_lent(struct out *o, int fd, char *buf)
{
	*o = (struct out){ .fd = fd, .buf = buf, .cap = OUT_LENT, .lent = true };
}

void out_to_memory(struct out *o)
{
	out_to_fd(o, -1);
}

/* From now on there is no room, so that out_room() fails at once. */
static bool out_fail(struct out *o, int error)
{
	o->error = error;
	o->len = 0;
	o->cap = 0;
	return false;
}

static bool out_write(struct out *o, const char *p, size_t len)
{
	while (len) {
		const ssize_t n = os_write(o->fd, p, len);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
			o->flushed += (uint64_t)n;
		} else if (n == 0) {
			return out_fail(o, EIO);
		} else if (errno == EAGAIN) {
			os_poll(&(struct pollfd){ .fd = o->fd, .events = POLLOUT }, 1, -1);
		} else if (errno != EINTR) {
			return out_fail(o, errno);
		}
	}
	return true;
}

bool out_flush(struct out *o)
{
	/* Fails if more was written after out_room() than was asked for. */
	assert(o->len <= o->cap);
	if (!o->error && o->fd >= 0 && o->len && out_write(o, o->buf, o->len))
		o->len = 0;
	return !o->error;
}

void out_free(struct out *o)
{
	if (!o->lent)
		mem_free(o->buf);
	*o = (struct out){ .fd = o->fd };
}

bool out_grow(struct out *o, size_t more)
{
	const size_t least = o->fd >= 0 ? FD_BUFFER : MEMORY_MIN;
	size_t need;

	if (!out_flush(o))
		return false;
	if (o->lent)
		return o->cap - o->len >= more || out_fail(o, ENOMEM);
	if (__builtin_add_overflow(o->len, more, &need))
		return out_fail(o, ENOMEM);
	if (need < least)
		need = least;
	if (!mem_grow((void **)&o->buf, &o->cap, need, 1, PTRDIFF_MAX))
		return out_fail(o, ENOMEM);
	return true;
}

void out_clear(struct out *o)
{
	if (o->error)
		out_free(o);
	o->len = 0;
}

void out_bytes(struct out *o, const void *p, size_t len)
{
	char *w;

	if (o->fd >= 0 && len >= (o->lent ? OUT_LENT : FD_BUFFER)) {
		if (out_flush(o))
			out_write(o, p, len);
		return;
	}
	w = len ? out_room(o, len) : NULL;
	if (w) {
		memcpy(w, p, len);
		o->len += len;
	}
}

void out_str(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

void out_pad(struct out *o, char c, size_t count)
{
	while (count) {
		const size_t n = count < OUT_LENT ? count : OUT_LENT;
		char *w = out_room(o, n);

		if (!w)
			return;
		memset(w, c, n);
		o->len += n;
		count -= n;
	}
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char *w = out_room(o, MEMORY_MIN);
	va_list ap;
	size_t len;
	int n;

	if (!w)
		return;
	va_start(ap, fmt);
	n = vsnprintf(w, o->cap - o->len, fmt, ap);
	va_end(ap);
	len = n < 0 ? 0 : (size_t)n;
	if (len >= o->cap - o->len) {
		w = out_room(o, len + 1);
		if (!w)
			return;
		va_start(ap, fmt);
		vsnprintf(w, len + 1, fmt, ap);
		va_end(ap);
	}
	o->len += len;
}

/* Of ten; the first is 0 for the sake of digits_of(). */
static const uint64_t powers[] = {
	0,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
	10000000000000000000u,
};

static unsigned digits_of(uint64_t v)
{
	/* log10 from log2: 1233 / 4096 is close to log10(2). */
	const unsigned guess = (unsigned)(64 - __builtin_clzll(v | 1)) * 1233 >> 12;

	return guess + (v >= powers[guess]);
}

/* Writes the digits of `v` backwards, ending before `end`. */
static void digits_put(char *end, uint64_t v)
{
	uint32_t low;

	while (v > UINT32_MAX) {
		end -= 2;
		memcpy(end, two_digits + v % 100 * 2, 2);
		v /= 100;
	}
	for (low = (uint32_t)v; low >= 100; low /= 100) {
		end -= 2;
		memcpy(end, two_digits + low % 100 * 2, 2);
	}
	if (low >= 10)
		memcpy(end - 2, two_digits + low * 2, 2);
	else
		end[-1] = (char)('0' + low);
}

char *put_u64(char *p, uint64_t v)
{
	const unsigned n = digits_of(v);

	digits_put(p + n, v);
	return p + n;
}

char *put_i64(char *p, int64_t v)
{
	if (v >= 0)
		return put_u64(p, (uint64_t)v);
	*p++ = '-';
	return put_u64(p, 0 - (uint64_t)v);
}

char *put_hex(char *p, uint64_t v)
{
	const unsigned n = (unsigned)(67 - __builtin_clzll(v | 1)) / 4;

	for (unsigned i = n; i-- > 0; v >>= 4)
		p[i] = hex_digits[v & 15];
	return p + n;
}

char *put_u64_w(char *p, uint64_t v, unsigned width)
{
	const unsigned n = digits_of(v);

	if (n < width) {
		memset(p, ' ', width - n);
		p += width - n;
	}
	digits_put(p + n, v);
	return p + n;
}

char *put_u64_0(char *p, uint64_t v, unsigned width)
{
	unsigned i = width;

	for (; i >= 2; v /= 100) {
		i -= 2;
		memcpy(p + i, two_digits + v % 100 * 2, 2);
	}
	if (i)
		*p = (char)('0' + v % 10);
	return p + width;
}

void out_u64(struct out *o, uint64_t v)
{
	char *w = out_room(o, 20);

	if (w)
		o->len += (size_t)(put_u64(w, v) - w);
}

void out_i64(struct out *o, int64_t v)
{
	char *w = out_room(o, 21);

	if (w)
		o->len += (size_t)(put_i64(w, v) - w);
}

void out_hex(struct out *o, uint64_t v)
{
	char *w = out_room(o, 16);

	if (w)
		o->len += (size_t)(put_hex(w, v) - w);
}

void out_seconds(struct out *o, int64_t ns)
{
	const uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char *const w = out_room(o, 32);
	char *p = w;

	if (!w)
		return;
	if (ns < 0)
		*p++ = '-';
	p = put_u64(p, n / 1000000000u);
	*p++ = '.';
	p = put_u64_0(p, n % 1000000000u, 9);
	o->len += (size_t)(p - w);
}

static uint64_t power_of_ten(unsigned exponent)
{
	return exponent ? powers[exponent] : 1;
}

enum { G_DIGITS = 15 }; /* at most that many significant ones can be had below */

/*
 * A positive v as n / 10^*scale with that many significant digits, rounded exactly, half to even.
 * 0: %g would write an exponent, or nearly so.
 */
static uint64_t decimal_of(double v, unsigned digits, unsigned *scale)
{
	const uint64_t one = (uint64_t)1 << 52;
	unsigned __int128 product, rest;
	int exponent, d;
	unsigned shift;
	uint64_t n;

	memcpy(&n, &v, sizeof(n));
	exponent = (int)(n >> 52) - 1023;
	/*
	 * From 0.00012 on. The last digit's place by the exponent: log10 from log2, which is one
	 * too far at most.
	 */
	d = (int)digits - 1 - (exponent * 1233 >> 12);
	if (exponent < -13 || d < 0)
		return 0;
	/* v has at most 50 bits before the point, and with 10^18 it has 113 in all. */
	shift = (unsigned)(52 - exponent);
	product = (unsigned __int128)((n & (one - 1)) | one);
	for (;; d--) {
		const unsigned __int128 scaled = product * power_of_ten((unsigned)d);
		const unsigned __int128 half = (unsigned __int128)1 << (shift - 1);

		n = (uint64_t)(scaled >> shift);
		rest = scaled & (2 * half - 1);
		n += rest > half || (rest == half && (n & 1));
		if (n < powers[digits])
			break;
		if (!d)
			return 0;
	}
	*scale = (unsigned)d;
	return n;
}

static char *decimal_put(char *p, uint64_t n, unsigned scale)
{
	enum { DIGITS = 8 };
	uint64_t whole, digits;

	if (scale > DIGITS && n % 10000 == 0) {
		scale -= 4;
		n /= 10000;
	}
	for (; scale > DIGITS && n % 10 == 0; n /= 10)
		scale--;
	whole = n / power_of_ten(scale);
	n -= whole * power_of_ten(scale);
	p = put_decimal(p, whole);
	*p = '.';
	if (scale > DIGITS)
		return put_u64_0(p + 1, n, scale);
	digits = digits_eight((uint32_t)(n * power_of_ten(DIGITS - scale)));
	p = put_digits_eight(p + 1, digits);
	/* No point behind a whole number, and no zeros at the end of another. */
	return n ? p - digits_zeros(digits) : p - DIGITS - 1;
}

char *put_g(char *p, double v)
{
	unsigned scale = 0;
	const uint64_t n = v != 0 && isfinite(v) ? decimal_of(fabs(v), 6, &scale) : 0;

	if (!n)
		return p + snprintf(p, PUT_G, "%g", v);
	if (v < 0)
		*p++ = '-';
	return decimal_put(p, n, scale);
}

/* By 15 digits, which most numbers that people write have. NULL: it takes more. */
static char *double_put(char *p, double v)
{
	unsigned scale = 0;
	const uint64_t n = isfinite(v) ? decimal_of(fabs(v), G_DIGITS, &scale) : 0;

	/* Both are exact, so their quotient is what reading the digits gives. */
	if (!n || (double)n / (double)power_of_ten(scale) != fabs(v))
		return NULL;
	if (v < 0)
		*p++ = '-';
	return decimal_put(p, n, scale);
}

/* As double_put(), of six digits at least. */
static char *float_put(char *p, float v)
{
	const double whole = fabs((double)v);
	unsigned scale = 0;

	for (unsigned digits = 6; digits <= 9 && isfinite(v); digits++) {
		const uint64_t n = decimal_of(whole, digits, &scale);
		const double q = (double)n / (double)power_of_ten(scale);
		uint64_t bits;

		memcpy(&bits, &q, sizeof(bits));
		/* Half way between two floats the quotient's own rounding could decide. */
		if (!n || (bits & 0x1FFFFFFF) == 0x10000000)
			return NULL;
		if ((double)(float)q != whole)
			continue;
		if (v < 0)
			*p++ = '-';
		return decimal_put(p, n, scale);
	}
	return NULL;
}

char *put_f32(char *p, float v)
{
	char *end = float_put(p, v);
	int digits = 6, len;

	if (end || !isfinite(v))
		return end ? end : put_double(p, (double)v);
	do
		len = snprintf(p, PUT_DOUBLE, "%.*g", digits, (double)v);
	while (digits++ < 9 && strtof(p, NULL) != v);
	return p + len;
}

char *put_double(char *p, double v)
{
	char *end = double_put(p, v);
	/* Any 15 digits survive a double; a subnormal has fewer and wants a look at each length. */
	int digits = fabs(v) < 0x1p-1022 ? 1 : 15, len;

	if (end)
		return end;
	if (!isfinite(v))
		return p + snprintf(p, PUT_DOUBLE, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
	do
		len = snprintf(p, PUT_DOUBLE, "%.*g", digits, v);
	while (digits++ < 17 && strtod(p, NULL) != v);
	return p + len;
}

void out_f32(struct out *o, float v)
{
	char *w = out_room(o, PUT_DOUBLE);

	if (w)
		out_to(o, put_f32(w, v));
}

void out_double(struct out *o, double v)
{
	char *w = out_room(o, PUT_DOUBLE);

	if (w)
		out_to(o, put_double(w, v));
}

char *put_long_double(char *p, long double v)
{
	int low = 1, high = LDBL_DECIMAL_DIG;

	/* INVARIANT: fewer than `low` digits are too few, `high` suffice. */
	while (low < high) {
		const int mid = low + (high - low) / 2;

		snprintf(p, PUT_LONG_DOUBLE, "%.*Lg", mid, v);
		if (strtold(p, NULL) == v)
			high = mid;
		else
			low = mid + 1;
	}
	return p + snprintf(p, PUT_LONG_DOUBLE, "%.*Lg", high, v);
}

char *put_json_double(char *p, double v, bool single)
{
	const bool number = isfinite(v);
	char *end;

	if (!number)
		*p++ = '"';
	end = single ? put_f32(p, (float)v) : put_double(p, v);
	if (!number)
		*end++ = '"';
	else if (!memchr(p, '.', (size_t)(end - p)) && !memchr(p, 'e', (size_t)(end - p)))
		end = stpcpy(end, ".0");
	return end;
}

void out_json_double(struct out *o, double v, bool single)
{
	char *w = out_room(o, PUT_DOUBLE);

	if (w)
		out_to(o, put_json_double(w, v, single));
}

/* Eight bytes of plain ASCII: no control byte, no DEL, no quote, no backslash. */
static inline bool plain_word(const char *p)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	const uint64_t w = load64((const uint8_t *)p, false);
	const uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\', del = w ^ ones * 0x7F;
	/* A borrow may mark the byte above a marked one; it never marks alone. */
	const uint64_t odd = w | (w - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones);

	return !(odd & tops);
}

static inline bool plain_byte(unsigned char c)
{
	return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* Length of the run of plain ASCII at `p`. */
static size_t plain_run(const char *p, size_t len)
{
	size_t i = 0;

	while (len - i >= 8 && plain_word(p + i))
		i += 8;
	while (i < len && plain_byte((unsigned char)p[i]))
		i++;
	return i;
}

static inline bool all_plain(const char *p, size_t len)
{
	if (len < 8)
		return plain_run(p, len) == len;
	for (size_t i = 0; i + 8 < len; i += 8)
		if (!plain_word(p + i))
			return false;
	return plain_word(p + len - 8);
}

static char *json_control(char *w, unsigned char c)
{
	static const char names[32] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'
	};

	*w++ = '\\';
	if (c == '"' || c == '\\' || (c < 0x20 && names[c])) {
		*w++ = c < 0x20 ? names[c] : (char)c;
		return w;
	}
	memcpy(w, c < 0x20 ? "u00" : "udc", 3);
	w[3] = hex_digits[c >> 4];
	w[4] = hex_digits[c & 15];
	return w + 5;
}

/* One byte or character that plain_run() stopped at. */
static char *json_escape(char *w, const char **p, size_t left)
{
	const size_t n = utf8_valid(*p, left);
	const unsigned char c = (unsigned char)**p;

	if (n > 1 || c == 0x7F) {
		memcpy(w, *p, n);
		*p += n;
		return w + n;
	}
	++*p;
	return json_control(w, c);
}

static char *safe_escape(char *w, const char **p, size_t left)
{
	const size_t n = utf8_valid(*p, left);

	if (n && !utf8_is_control(*p, n)) {
		memcpy(w, *p, n);
		*p += n;
		return w + n;
	}
	for (size_t i = 0; i < (n ? n : 1); i++) {
		const unsigned char b = (unsigned char)*(*p)++;

		*w++ = '\\';
		if (b == '\n' || b == '\t') {
			*w++ = b == '\n' ? 'n' : 't';
			continue;
		}
		*w++ = 'x';
		*w++ = hex_digits[b >> 4];
		*w++ = hex_digits[b & 15];
	}
	return w;
}

/*
 * Plain runs as they are, the rest by `escape`, which writes at most 6 bytes for one, 8 for two, 12
 * for three.
 */
static void out_escaped(struct out *o, const char *s, size_t len,
			char *(*escape)(char *w, const char **p, size_t left))
{
	const char *const end = len ? s + len : s;

	while (s < end) {
		const size_t left = (size_t)(end - s);
		const char *const stop = s + (left < ESCAPE_PIECE ? left : ESCAPE_PIECE);
		char *const room = out_room(o, 6 * (size_t)(stop - s) + 24), *w = room;

		if (!w)
			return;
		while (s < stop) {
			const size_t run = plain_run(s, (size_t)(stop - s));

			memcpy(w, s, run);
			w += run;
			s += run;
			if (s < stop)
				w = escape(w, &s, (size_t)(end - s));
		}
		o->len += (size_t)(w - room);
	}
}

bool out_json_plain(struct out *o, const char *s, size_t len)
{
	char *const w = len <= ESCAPE_PIECE ? out_room(o, len + 2) : NULL;

	if (!w || !all_plain(s, len))
		return false;
	w[0] = '"';
	if (len)
		memcpy(w + 1, s, len);
	w[len + 1] = '"';
	o->len += len + 2;
	return true;
}

void out_json(struct out *o, const char *s, size_t len)
{
	/* Nearly always. */
	if (out_json_plain(o, s, len))
		return;
	out_char(o, '"');
	out_escaped(o, s, len, json_escape);
	out_char(o, '"');
}

void out_json_head(struct out *o, const char *name)
{
	out_printf(o, "{\"schema\":%d,\"spur\":\"%s\"", JSON_SCHEMA, name);
}

void out_safe(struct out *o, const char *s, size_t len)
{
	out_escaped(o, s, len, safe_escape);
}

static char *csv_escape(char *w, const char **p, size_t left)
{
	const size_t n = utf8_valid(*p, left);
	const unsigned char c = (unsigned char)**p;

	if (n && (c >= 0x20 || c == '\n' || c == '\r' || c == '\t')) {
		if (c == '"')
			*w++ = '"';
		memcpy(w, *p, n);
		*p += n;
		return w + n;
	}
	++*p;
	return json_control(w, c);
}

void out_csv(struct out *o, const char *s, size_t len)
{
	bool quote = false;

	for (size_t i = 0; i < len && !quote; i++)
		quote = s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
	if (quote)
		out_char(o, '"');
	out_escaped(o, s, len, csv_escape);
	if (quote)
		out_char(o, '"');
}
