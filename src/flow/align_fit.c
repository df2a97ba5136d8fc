/*
 * Matching two sequences of events, and fitting a line to what matches. See align_fit.h.
 *
 * An event of `a` and one of `b` of the same name vote for the distance between them. Short slices
 * of `a` are compared with all of `b`: within a slice drift changes the distance little, so the
 * true distance gets many votes within a narrow window, whatever is missing. The best windows, of
 * several widths, are candidates. Each is refined near its slice and rated by how close the events
 * of `a` come to events of `b`, compared with how close random events would come. The best ones
 * then grow, doubling the range each time, until they cover both traces. The line must be far
 * better than for random events, and than any other line.
 *
 * Everything is computed in integers, so that the same events give the same line everywhere.
 */
#include "flow/align_fit.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"

typedef __int128 i128;

enum {
	VOTES = 1 << 19, /* of a slice */
	SLICES = 8, /* of each size */
	NARROWEST = 64, /* ns: width of a window; each next one is eight times as wide */
	WIDTHS = 7,
	WINDOWS = 3, /* candidates of one width */
	ANCHOR_SLICE = 128, /* events of a slice whose first event is anchored */
	ANCHOR_LOOK = 12, /* of these decide whether the others are looked at */
	ANCHORED = 6, /* candidates of such a slice */
	TOP = 8, /* candidates that grow */
	BITS_MOST = 20, /* evidence of one pair */
	ROUNDS = 4, /* of matching and fitting on one range */
	BESIDE_EVENTS = 64, /* that are compared with others of their names, */
	BESIDE_LOOK = 1024, /* at most this many on each side */
	NOISE = 32, /* ns; pairs this far apart may always belong together */
	STAMP_NOISE = 1000, /* ns by which times of events that the user names may be wrong */
};

/* Rates may differ by 1 %. */
static const int64_t drift_most = CLOCK_DRIFT_ONE / 100;

/* ns (18 minutes) that a pair may be apart; sums of products of 2^18 pairs then fit 128 bits. */
#define ROOM_MOST ((int64_t)1 << 40)

/* ns (36 years) between two pairs that the user names. */
#define SPAN_MOST ((int64_t)1 << 60)

/* A line, and how far from it a pair may lie. */
struct line {
	struct clock_map map;
	int64_t tolerance; /* ns, at the pivot */
	int64_t slack; /* more per ns of distance from the pivot, in 2^-60 */
	int64_t score; /* bits */
	size_t counted; /* events that the score is a sum of */
};

struct pair {
	uint32_t a, b; /* indexes in `a` and in `times` */
	int64_t apart; /* ns by which `a` is later than the line says */
};

struct fitter {
	const struct align_input *in;
	int64_t *times; /* of `b`: by name, then by time */
	uint32_t *starts; /* of each name in `times`; one more at the end */
	uint32_t *owners; /* by index in `times`: 1 + the pair that has it; 0: none */
	struct pair *pairs;
	size_t npairs;
	uint64_t *votes, *spare; /* VOTES each; offsets by 2^63, so that they sort as numbers */
	struct line tops[TOP]; /* best first */
	size_t ntops;
};

static uint64_t size_of(int64_t n)
{
	return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

/* Sorts by bytes, lowest first; those that are equal everywhere cost no pass. */
static void sort_words(uint64_t *v, uint64_t *spare, size_t n)
{
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t counts[257] = { 0 };

		for (size_t i = 0; i < n; i++)
			counts[(v[i] >> shift & 255) + 1]++;
		if (n && counts[(v[0] >> shift & 255) + 1] == n)
			continue;
		for (size_t i = 0; i < 256; i++)
			counts[i + 1] += counts[i];
		for (size_t i = 0; i < n; i++)
			spare[counts[v[i] >> shift & 255]++] = v[i];
		memcpy(v, spare, n * sizeof(*v));
	}
}

/* --- matching --- */

/* Returns the index of the time in `times` of that name that is nearest, or UINT32_MAX. */
static uint32_t nearest(const struct fitter *f, uint32_t name, int64_t ts)
{
	const uint32_t from = f->starts[name], to = f->starts[name + 1];
	uint32_t i;

	if (from == to)
		return UINT32_MAX;
	bisect(i, from, to, f->times[i] < ts);
	if (i == to || (i > from && (i128)ts - f->times[i - 1] < (i128)f->times[i] - ts))
		i--;
	return i;
}

/* Returns the gap between the i-th time and the next one on that side; 0 if it is the last. */
static uint64_t gap_beside(const struct fitter *f, uint32_t name, uint32_t i, bool later)
{
	if (later)
		return i + 1 < f->starts[name + 1] ? (uint64_t)(f->times[i + 1] - f->times[i]) + 1
						   : 0;
	return i > f->starts[name] ? (uint64_t)(f->times[i] - f->times[i - 1]) + 1 : 0;
}

/*
 * The evidence of a pair: for random events, the distance is uniform within half of the gap between
 * the times of `b` around it, so that half of all pairs have 0 bits, a quarter has 1, and so on.
 * The mean of 1 is subtracted.
 */
static int evidence(const struct fitter *f, uint32_t name, uint32_t i, int64_t apart)
{
	uint64_t gap = gap_beside(f, name, i, apart > 0), size = 2 * size_of(apart) + 1;
	int bits = 0;

	/* Beyond the first and last time the gap is unknown: as on the other side. */
	if (!gap)
		gap = gap_beside(f, name, i, apart <= 0);
	if (!gap)
		gap = (uint64_t)(f->in->b[f->in->nb - 1].ts - f->in->b[0].ts);
	while (bits < BITS_MOST && size <= gap / 2) {
		size *= 2;
		bits++;
	}
	return bits - 1;
}

/* Keeps the pair, unless an earlier event of `a` is nearer to the same time. */
static bool pair_add(struct fitter *f, struct pair p)
{
	uint32_t *owner = &f->owners[p.b];

	if (!*owner) {
		f->pairs[f->npairs++] = p;
		*owner = (uint32_t)f->npairs;
		return true;
	}
	if (size_of(p.apart) < size_of(f->pairs[*owner - 1].apart))
		f->pairs[*owner - 1] = p;
	return false;
}

static int64_t line_room(const struct line *l, int64_t ts)
{
	const i128 room =
		l->tolerance + (((i128)size_of(ts - l->map.pivot) * l->slack) >> CLOCK_DRIFT_BITS);

	return room > ROOM_MOST ? ROOM_MOST : (int64_t)room;
}

/*
 * Matches the events [from, to) of `a` with those of `b` by the line: sets the pairs, and the
 * line's score.
 */
static void line_match(struct fitter *f, struct line *l, size_t from, size_t to)
{
	const struct align_input *in = f->in;
	const int64_t begin = in->b[0].ts, end = in->b[in->nb - 1].ts;

	for (size_t i = 0; i < f->npairs; i++)
		f->owners[f->pairs[i].b] = 0;
	f->npairs = 0;
	l->score = 0;
	l->counted = 0;
	for (size_t i = from; i < to; i++) {
		const int64_t own = clock_map_back(&l->map, in->a[i].ts);
		const int64_t room = line_room(l, own);
		const uint32_t b = nearest(f, in->a[i].name, own);
		struct pair p = { .a = (uint32_t)i, .b = b };
		bool fresh = true;

		/* `b` had not begun, or was over. */
		if (b == UINT32_MAX || own < begin - room || own > end + room)
			continue;
		p.apart = in->a[i].ts - clock_map_ts(&l->map, f->times[b]);
		if (size_of(p.apart) <= (uint64_t)room)
			fresh = pair_add(f, p);
		l->score += fresh ? evidence(f, in->a[i].name, b, p.apart) : -1;
		l->counted++;
	}
}

/* --- fitting --- */

/* Returns the distance that a share of the pairs (in 256ths) does not exceed. Requires pairs. */
static int64_t pairs_quantile(struct fitter *f, size_t share)
{
	for (size_t i = 0; i < f->npairs; i++)
		f->votes[i] = size_of(f->pairs[i].apart);
	sort_words(f->votes, f->spare, f->npairs);
	return (int64_t)f->votes[(f->npairs - 1) * share / 256];
}

/* Leaves out the pairs that are further apart. */
static void pairs_trim(struct fitter *f, int64_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < f->npairs; i++)
		if (size_of(f->pairs[i].apart) <= (uint64_t)most)
			f->pairs[n++] = f->pairs[i];
		else
			f->owners[f->pairs[i].b] = 0;
	f->npairs = n;
	for (size_t i = 0; i < n; i++)
		f->owners[f->pairs[i].b] = (uint32_t)i + 1;
}

/* Sums for least squares: x is a time of `b`, y how far its pair is from the line. */
struct sums {
	size_t n;
	int64_t mean; /* of x */
	unsigned shift; /* x was divided by 2^shift, so that squares fit */
	i128 xx, xy, yy, y;
};

static struct sums pairs_sums(const struct fitter *f)
{
	struct sums s = { .n = f->npairs };
	uint64_t far = 0;
	i128 sum = 0;

	assert(s.n);
	for (size_t i = 0; i < s.n; i++)
		sum += f->times[f->pairs[i].b];
	s.mean = (int64_t)(sum / (i128)s.n);
	for (size_t i = 0; i < s.n; i++)
		far |= size_of(f->times[f->pairs[i].b] - s.mean);
	while (far >> s.shift >= (uint64_t)1 << 50)
		s.shift++;
	for (size_t i = 0; i < s.n; i++) {
		const int64_t y = f->pairs[i].apart;
		const int64_t x = (f->times[f->pairs[i].b] - s.mean) >> s.shift;

		s.y += y;
		s.xx += (i128)x * x;
		s.xy += (i128)x * y;
		s.yy += (i128)y * y;
	}
	return s;
}

/* Returns n / d in units of 2^-60, rounded, clamped to +-2^60. Requires d > 0. */
static int64_t ratio(i128 n, i128 d)
{
	const bool below = n < 0;
	int64_t out = 0;

	n = below ? -n : n;
	if (n >= d)
		return below ? -CLOCK_DRIFT_ONE : CLOCK_DRIFT_ONE;
	while (d >> 125) {
		n >>= 1;
		d >>= 1;
	}
	for (int bit = CLOCK_DRIFT_BITS - 1; bit >= 0; bit--) {
		n *= 2;
		if (n >= d) {
			n -= d;
			out |= (int64_t)1 << bit;
		}
	}
	out += 2 * n >= d;
	return below ? -out : out;
}

static uint64_t root(i128 n)
{
	i128 r = 0;

	for (i128 bit = (i128)1 << 62; bit; bit >>= 1)
		if ((r + bit) * (r + bit) <= n)
			r += bit;
	return (uint64_t)r;
}

/*
 * Moves the line to where the pairs' squares are least. Its slack becomes the uncertainty of the
 * drift: four standard errors. Returns false if it left the allowed range.
 */
static bool line_fit(const struct fitter *f, struct line *l, bool slope)
{
	const struct sums s = pairs_sums(f);
	const i128 n = (i128)s.n, half = s.y < 0 ? -n / 2 : n / 2;
	const int64_t at_mean = clock_map_ts(&l->map, s.mean) - s.mean;
	i128 error;
	int64_t more = 0;

	l->map.shift = at_mean + (int64_t)((s.y + half) / n);
	l->map.pivot = s.mean;
	if (slope && s.xx > 0) {
		more = ratio(s.xy, s.xx) >> s.shift;
		l->map.drift += more;
	}
	/* Rounding makes an error of its own. */
	error = root(s.yy / n + 1);
	l->slack =
		s.xx > 0 ? ratio(4 * error, (i128)root(s.xx) << s.shift) : CLOCK_DRIFT_ONE / 1000;
	return l->map.drift <= drift_most && l->map.drift >= -drift_most;
}

/*
 * Matches and fits in turns on the events [from, to) of `a`. Returns false if too few match, or if
 * the line left the allowed range.
 */
static bool line_refine(struct fitter *f, struct line *l, size_t from, size_t to, bool slope)
{
	for (int round = 0; round < ROUNDS; round++) {
		int64_t median, most;

		line_match(f, l, from, to);
		if (f->npairs < 3)
			return false;
		median = pairs_quantile(f, 128);
		most = 6 * median + 2;
		if (round)
			pairs_trim(f, most);
		if (!line_fit(f, l, slope && f->npairs >= ALIGN_DRIFT_PAIRS))
			return false;
		l->tolerance = 16 * median + NOISE;
	}
	line_match(f, l, from, to);
	return f->npairs >= 3;
}

/* --- candidates --- */

/*
 * The score of n random events has the mean 0 and the deviation sqrt(2 n); lines were chosen out of
 * some millions, and fitted to their own events.
 */
static bool line_is_certain(const struct line *l)
{
	return l->score > 64 + 8 * (int64_t)root((i128)l->counted);
}

/* Keeps a line that is among the best; of two about the same line the better one. */
static void top_add(struct fitter *f, const struct line *l)
{
	size_t i, last = f->ntops < TOP ? f->ntops : TOP - 1;

	for (i = 0; i < f->ntops; i++) {
		const struct line *t = &f->tops[i];
		const int64_t apart =
			clock_map_ts(&t->map, l->map.pivot) - clock_map_ts(&l->map, l->map.pivot);

		if (size_of(apart) > (uint64_t)(t->tolerance + l->tolerance))
			continue;
		if (t->score >= l->score)
			return;
		last = i;
		break;
	}
	if (last == f->ntops)
		f->ntops++;
	else if (last == TOP - 1 && i == f->ntops && f->tops[last].score >= l->score)
		return;
	for (i = last; i && f->tops[i - 1].score < l->score; i--)
		f->tops[i] = f->tops[i - 1];
	f->tops[i] = *l;
}

/* A slice of `a`: the events [from, to), and what is near. */
struct slice {
	size_t from, to;
	size_t nvotes;
};

static void try_offset(struct fitter *f, const struct slice *s, int64_t offset, int64_t width)
{
	const size_t size = s->to - s->from;
	const size_t from = s->from > 2 * size ? s->from - 2 * size : 0;
	const size_t to = f->in->na - s->to > 2 * size ? s->to + 2 * size : f->in->na;
	const int64_t middle = f->in->a[s->from + size / 2].ts;
	struct line l = { .map = { .shift = offset, .pivot = middle - offset },
			  .tolerance = width + NOISE };

	if (line_refine(f, &l, s->from, s->to, false) && line_refine(f, &l, from, to, true))
		top_add(f, &l);
}

static int64_t vote_offset(uint64_t vote)
{
	return (int64_t)(vote ^ (uint64_t)1 << 63);
}

/*
 * Returns the index of the vote in the middle of the window of that width with the most votes, of
 * those that are not near one of the `n` offsets; SIZE_MAX if none has two.
 */
static size_t best_window(const struct fitter *f, size_t nvotes, uint64_t width,
			  const int64_t *offsets, size_t n)
{
	size_t most = 1, at = SIZE_MAX;

	for (size_t i = 0, j = 0; i < nvotes; i++) {
		bool taken = false;

		while (j < nvotes && f->votes[j] - f->votes[i] <= width)
			j++;
		if (j - i <= most)
			continue;
		for (size_t t = 0; t < n; t++)
			taken |= size_of(vote_offset(f->votes[i]) - offsets[t]) <= 2 * width;
		if (!taken) {
			most = j - i;
			at = i + (j - i) / 2;
		}
	}
	return at;
}

/* Tries the windows with the most votes. All are found before the votes are overwritten. */
static void try_windows(struct fitter *f, const struct slice *s)
{
	int64_t offsets[WIDTHS][WINDOWS];
	size_t counts[WIDTHS] = { 0 };

	for (int w = 0; w < WIDTHS; w++) {
		const uint64_t width = (uint64_t)NARROWEST << (3 * w);

		for (size_t at; counts[w] < WINDOWS; counts[w]++) {
			at = best_window(f, s->nvotes, width, offsets[w], counts[w]);
			if (at == SIZE_MAX)
				break;
			offsets[w][counts[w]] = vote_offset(f->votes[at]);
		}
	}
	for (int w = 0; w < WIDTHS; w++)
		for (size_t i = 0; i < counts[w]; i++)
			try_offset(f, s, offsets[w][i], (int64_t)NARROWEST << (3 * w));
}

/* Collects the votes of a slice: of rare names first, as those say most. */
static void slice_vote(struct fitter *f, struct slice *s)
{
	size_t limit = 1;

	s->nvotes = 0;
	/* Names whose number of times in `b` is in (limit / 2, limit]. */
	for (; limit / 2 < f->in->nb; limit *= 2)
		for (size_t i = s->from; i < s->to; i++) {
			const struct align_event *e = &f->in->a[i];
			const uint32_t from = f->starts[e->name], n = f->starts[e->name + 1] - from;

			if (n > limit || n <= limit / 2 || n > VOTES - s->nvotes)
				continue;
			for (uint32_t k = 0; k < n; k++)
				f->votes[s->nvotes++] =
					(uint64_t)(e->ts - f->times[from + k]) ^ (uint64_t)1 << 63;
		}
	sort_words(f->votes, f->spare, s->nvotes);
}

/* Longer slices are needed only if shorter ones do not tell. Returns true if one is certain. */
static bool try_slices(struct fitter *f)
{
	static const size_t sizes[] = { 16, 64, 256 };
	const size_t na = f->in->na;

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		const size_t size = sizes[k] < na ? sizes[k] : na;
		const size_t count = na / size < SLICES ? na / size : SLICES;

		for (size_t i = 0; i < count; i++) {
			struct slice s = { .from = count > 1 ? (na - size) * i / (count - 1) : 0 };

			s.to = s.from + size;
			slice_vote(f, &s);
			try_windows(f, &s);
		}
		if (f->ntops && line_is_certain(&f->tops[0]))
			return true;
	}
	return false;
}

/*
 * Returns the evidence that the events of a slice give for an offset; 0 as soon as it is clear that
 * they give little.
 */
static int offset_evidence(const struct fitter *f, const struct slice *s, int64_t offset)
{
	const int64_t begin = f->in->b[0].ts, end = f->in->b[f->in->nb - 1].ts;
	int sum = 0;

	for (size_t i = s->from; i < s->to; i++) {
		const struct align_event *e = &f->in->a[i];
		const int64_t own = e->ts - offset;
		const uint32_t b = own < begin || own > end ? UINT32_MAX : nearest(f, e->name, own);

		if (b != UINT32_MAX)
			sum += evidence(f, e->name, b, own - f->times[b]);
		if (i - s->from >= ANCHOR_LOOK && sum < (int)(i - s->from) / 4)
			return 0;
	}
	return sum;
}

/*
 * Compares a slice with `b` as if its first event were any one of that name, and tries the best.
 * Unlike votes this does not depend on how often names occur.
 */
static void try_anchor(struct fitter *f, const struct slice *s)
{
	const struct align_event *anchor = &f->in->a[s->from];
	int64_t offsets[ANCHORED];
	int sums[ANCHORED];
	size_t n = 0;

	for (uint32_t b = f->starts[anchor->name]; b < f->starts[anchor->name + 1]; b++) {
		const int64_t offset = anchor->ts - f->times[b];
		const int sum = offset_evidence(f, s, offset);
		size_t at = n < ANCHORED ? n++ : ANCHORED;

		for (; at && sum > sums[at - 1]; at--)
			if (at < ANCHORED) {
				sums[at] = sums[at - 1];
				offsets[at] = offsets[at - 1];
			}
		if (at < ANCHORED) {
			sums[at] = sum;
			offsets[at] = offset;
		}
	}
	for (size_t i = 0; i < n && sums[i] > 0; i++)
		for (int w = 0; w < WIDTHS; w += 2)
			try_offset(f, s, offsets[i], (int64_t)NARROWEST << (3 * w));
}

static void find_candidates(struct fitter *f)
{
	const size_t na = f->in->na, size = na < ANCHOR_SLICE ? na : ANCHOR_SLICE;

	if (try_slices(f))
		return;
	for (size_t i = 0; i < SLICES; i++) {
		struct slice s = { .from = (na - size) * i / (SLICES - 1) };

		s.to = s.from + size;
		try_anchor(f, &s);
	}
}

/* --- the whole --- */

/* Fits the line to more and more of `a`, until that is all of it. */
static bool line_grow(struct fitter *f, struct line *l)
{
	const int64_t at = clock_map_ts(&l->map, l->map.pivot);
	const size_t na = f->in->na;
	size_t middle, half = 64;

	bisect(middle, (size_t)0, na, f->in->a[middle].ts < at);
	for (bool all = false; !all; half *= 2) {
		const size_t from = middle > half ? middle - half : 0;
		const size_t to = na - middle > half ? middle + half : na;

		all = !from && to == na;
		if (!line_refine(f, l, from, to, true))
			return false;
	}
	return true;
}

/*
 * Takes the drift away if it is not certain that there is one: no line is bent for noise. The
 * tolerance of the line is that of the pairs.
 */
static void line_settle(struct fitter *f, struct line *l)
{
	struct line flat = *l;

	if (size_of(l->map.drift) > size_of(l->slack) && f->npairs >= ALIGN_DRIFT_PAIRS)
		return;
	flat.map.drift = 0;
	if (line_refine(f, &flat, 0, f->in->na, false))
		*l = flat;
}

/* Sets *fit from the pairs that agree with the line. */
static void line_tell(struct fitter *f, struct line *l, struct align_fit *fit)
{
	size_t all;

	line_match(f, l, 0, f->in->na);
	all = f->npairs;
	pairs_trim(f, 6 * pairs_quantile(f, 128) + 2);
	*fit = (struct align_fit){ .map = l->map,
				   .events = f->npairs,
				   .rejected = all - f->npairs,
				   .residual = pairs_quantile(f, 128),
				   .error = pairs_quantile(f, 256),
				   .score = l->score };
}

/* --- rivals: lines on which a rhythm fits as well, further along --- */

/* The evidence of one event of `a`, and in *b its partner, or UINT32_MAX if it says nothing. */
static int event_evidence(const struct fitter *f, const struct line *l, size_t i, uint32_t *b)
{
	const struct align_event *e = &f->in->a[i];
	const int64_t begin = f->in->b[0].ts, end = f->in->b[f->in->nb - 1].ts;
	const int64_t own = clock_map_back(&l->map, e->ts), room = line_room(l, own);

	*b = UINT32_MAX;
	if (own < begin - room || own > end + room)
		return 0;
	*b = nearest(f, e->name, own);
	return *b == UINT32_MAX
		       ? 0
		       : evidence(f, e->name, *b, e->ts - clock_map_ts(&l->map, f->times[*b]));
}

/*
 * Returns true if the line is far better than the rival: by as much as a line must be better than
 * for random events, on the events that tell them apart. All others of a long rhythm fit both.
 */
static bool line_beats(const struct fitter *f, const struct line *l, const struct line *rival)
{
	int64_t more = 0, differ = 0;

	for (size_t i = 0; i < f->in->na; i++) {
		uint32_t b, other;
		const int gain = event_evidence(f, l, i, &b) - event_evidence(f, rival, i, &other);

		more += gain;
		differ += gain != 0;
	}
	return more > 64 + 8 * (int64_t)root(differ);
}

static_assert(2 * BESIDE_EVENTS * BESIDE_LOOK <= VOTES, "room for all votes");

/*
 * Collects how much later than the line says other events of `b` are that have the names of events
 * in the middle of the pairs. Returns the number of votes; *from becomes that of events.
 */
static size_t vote_beside(struct fitter *f, const struct line *l, size_t *from)
{
	const size_t most = f->npairs < BESIDE_EVENTS ? f->npairs : BESIDE_EVENTS;
	const size_t first = (f->npairs - most) / 2;
	size_t n = 0;

	for (size_t i = first; i < first + most; i++) {
		const struct pair *p = &f->pairs[i];
		const uint32_t name = f->in->a[p->a].name;
		const int64_t own = clock_map_back(&l->map, f->in->a[p->a].ts);
		const uint32_t begin = f->starts[name], end = f->starts[name + 1];
		const uint32_t low = p->b - begin > BESIDE_LOOK ? p->b - BESIDE_LOOK : begin;
		const uint32_t high = end - p->b > BESIDE_LOOK ? p->b + BESIDE_LOOK : end;

		for (uint32_t b = low; b < high; b++)
			f->votes[n++] = (uint64_t)(f->times[b] - own) ^ (uint64_t)1 << 63;
	}
	sort_words(f->votes, f->spare, n);
	*from = most;
	return n;
}

/*
 * Finds the nearest distance above 2 * width, or below that negated, by which most of the events in
 * the middle meet others of their names. Returns false if no distance does.
 */
static bool nearest_rival(const struct fitter *f, size_t nvotes, size_t most, int64_t width,
			  bool later, int64_t *distance)
{
	bool found = false;

	for (size_t i = 0, j = 0; i < nvotes; i++) {
		int64_t middle;

		while (j < nvotes && f->votes[j] - f->votes[i] <= (uint64_t)width)
			j++;
		middle = vote_offset(f->votes[i + (j - i) / 2]);
		if (j - i < most / 4 * 3 || (later ? middle <= 2 * width : middle >= -2 * width) ||
		    (found && size_of(middle) >= size_of(*distance)))
			continue;
		*distance = middle;
		found = true;
	}
	return found;
}

/*
 * Returns true if the line, moved by as much as the events in its middle repeat after, is about as
 * good. Such a line need not be among the candidates: in a long rhythm there are too many.
 */
static bool line_has_rival(struct fitter *f, const struct line *l, int64_t residual)
{
	const int64_t width = 4 * residual + 2;

	for (int later = 0; later < 2; later++) {
		struct line rival = *l;
		size_t events, nvotes;
		int64_t by = 0;

		line_match(f, &rival, 0, f->in->na);
		nvotes = vote_beside(f, &rival, &events);
		if (!nearest_rival(f, nvotes, events, width, later, &by))
			continue;
		rival.map.shift -= by;
		rival.map.pivot += by;
		rival.tolerance = width;
		if (!line_refine(f, &rival, 0, f->in->na, f->npairs >= ALIGN_DRIFT_PAIRS))
			continue;
		if (size_of(clock_map_ts(&rival.map, l->map.pivot) -
			    clock_map_ts(&l->map, l->map.pivot)) > (uint64_t)width &&
		    !line_beats(f, l, &rival))
			return true;
	}
	return false;
}

static enum align_verdict choose_line(struct fitter *f, struct align_fit *fit)
{
	struct line grown[TOP];
	size_t n = 0, best = 0;

	for (size_t i = 0; i < f->ntops; i++) {
		grown[n] = f->tops[i];
		if (line_grow(f, &grown[n])) {
			line_settle(f, &grown[n]);
			best = grown[n].score > grown[best].score ? n : best;
			n++;
		}
	}
	if (!n || !line_is_certain(&grown[best]))
		return ALIGN_UNCERTAIN;
	line_tell(f, &grown[best], fit);
	for (size_t i = 0; i < n; i++) {
		const int64_t pivot = grown[best].map.pivot;
		const int64_t apart =
			clock_map_ts(&grown[i].map, pivot) - clock_map_ts(&grown[best].map, pivot);

		if (size_of(apart) > (uint64_t)(grown[best].tolerance) &&
		    grown[i].score > grown[best].score / 4 * 3)
			return ALIGN_AMBIGUOUS;
	}
	return line_has_rival(f, &grown[best], fit->residual) ? ALIGN_AMBIGUOUS : ALIGN_CERTAIN;
}

/* Sorts the times of `b` by name. */
static void group_times(struct fitter *f)
{
	const struct align_input *in = f->in;

	for (size_t i = 0; i < in->nb; i++)
		f->starts[in->b[i].name + 1]++;
	for (uint32_t i = 0; i < in->names; i++)
		f->starts[i + 1] += f->starts[i];
	for (size_t i = 0; i < in->nb; i++)
		f->times[f->starts[in->b[i].name]++] = in->b[i].ts;
	/* Each start is now that of the next name. */
	memmove(f->starts + 1, f->starts, in->names * sizeof(*f->starts));
	f->starts[0] = 0;
}

static bool fitter_init(struct fitter *f, const struct align_input *in)
{
	*f = (struct fitter){ .in = in };
	f->times = mem_array(in->nb, sizeof(*f->times));
	f->starts = mem_array((size_t)in->names + 1, sizeof(*f->starts));
	f->owners = mem_array(in->nb, sizeof(*f->owners));
	f->pairs = mem_array(in->na, sizeof(*f->pairs));
	f->votes = mem_array(VOTES, sizeof(*f->votes));
	f->spare = mem_array(VOTES, sizeof(*f->spare));
	return f->times && f->starts && f->owners && f->pairs && f->votes && f->spare;
}

static void fitter_free(struct fitter *f)
{
	mem_free(f->times);
	mem_free(f->starts);
	mem_free(f->owners);
	mem_free(f->pairs);
	mem_free(f->votes);
	mem_free(f->spare);
}

enum align_verdict align_find(const struct align_input *in, struct align_fit *fit)
{
	enum align_verdict verdict = ALIGN_NO_MEMORY;
	struct fitter f;

	assert(in->na <= ALIGN_EVENTS && in->nb <= ALIGN_EVENTS);
	*fit = (struct align_fit){ 0 };
	if (!in->na || !in->nb)
		return ALIGN_UNCERTAIN;
	if (fitter_init(&f, in)) {
		group_times(&f);
		find_candidates(&f);
		verdict = choose_line(&f, fit);
	}
	fitter_free(&f);
	return verdict;
}

/*
 * Puts the distances of the pairs from the line into them. Returns false if one, or the time
 * between two pairs, is too large.
 */
static bool pairs_measure(struct fitter *f, const struct line *l, const int64_t *a)
{
	for (size_t i = 0; i < f->npairs; i++) {
		int64_t *apart = &f->pairs[i].apart, span;

		if (__builtin_sub_overflow(f->times[i], f->times[0], &span) ||
		    size_of(span) > (uint64_t)SPAN_MOST)
			return false;
		if (__builtin_sub_overflow(a[i], clock_map_ts(&l->map, f->times[i]), apart) ||
		    size_of(*apart) > (uint64_t)ROOM_MOST)
			return false;
		f->pairs[i].b = (uint32_t)i;
	}
	return true;
}

/*
 * Fits a line to the pairs; with a drift only if they show one beyond the noise of their times: two
 * events that follow each other closely tell nothing about rates.
 */
static bool pairs_fit(struct fitter *f, struct line *l, const int64_t *a)
{
	const struct line flat = *l;
	struct sums s;

	bool allowed;

	if (!pairs_measure(f, l, a))
		return false;
	allowed = line_fit(f, l, true);
	s = pairs_sums(f);
	if (s.xx && size_of(l->map.drift) >
			    (uint64_t)ratio((i128)4 * STAMP_NOISE, (i128)root(s.xx) << s.shift))
		return allowed && pairs_measure(f, l, a);
	*l = flat;
	return pairs_measure(f, l, a) && line_fit(f, l, false) && pairs_measure(f, l, a);
}

enum align_verdict align_pairs(const int64_t *a, const int64_t *b, size_t n, struct align_fit *fit)
{
	struct line l = { .map = { .pivot = b[0] } };
	struct fitter f = { .npairs = n };
	enum align_verdict verdict = ALIGN_NO_MEMORY;

	assert(n && n <= ALIGN_EVENTS);
	*fit = (struct align_fit){ .events = n };
	f.times = (int64_t *)(uintptr_t)b;
	f.pairs = mem_array(n, sizeof(*f.pairs));
	f.votes = mem_array(n, sizeof(*f.votes));
	f.spare = mem_array(n, sizeof(*f.spare));
	if (f.pairs && f.votes && f.spare) {
		verdict = ALIGN_UNCERTAIN;
		if (!__builtin_sub_overflow(a[0], b[0], &l.map.shift) && pairs_fit(&f, &l, a)) {
			verdict = ALIGN_CERTAIN;
			fit->map = l.map;
			fit->residual = pairs_quantile(&f, 128);
			fit->error = pairs_quantile(&f, 256);
		}
	}
	f.times = NULL;
	fitter_free(&f);
	return verdict;
}
