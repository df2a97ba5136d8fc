/* See copies.h. Files of a copy: metadata, streams, index files. */
#include "format/ctf/copies.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "format/ctf/copy.h"
#include "format/ctf/crash.h"
#include "format/ctf/rows.h"
#include "format/ctf/wire.h"

enum {
	NAME_ROOM = CTF_PATH_ROOM,
	PIECE = 256 << 10, /* bytes of a file that are written at once */
};

/* --- names --- */

static bool ends_with(const char *s, size_t len, const char *end)
{
	const size_t n = strlen(end);

	return len > n && memcmp(s + len - n, end, n) == 0;
}

/*
 * Length of a file's name without the ending of a packed file, whose copy is unpacked.
 */
static size_t plain_length(const struct source *s, const char *name)
{
	static const char *const endings[] = { ".gz", ".zst", ".xz", ".bz2" };
	static const uint8_t gzip[] = { 0x1F, 0x8B }, zstd[] = { 0x28, 0xB5, 0x2F, 0xFD };
	const size_t len = strlen(name);

	if (s->size >= 4 && (memcmp(s->data, gzip, 2) == 0 || memcmp(s->data, zstd, 4) == 0))
		return len;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_with(name, len, endings[i]))
			return len - strlen(endings[i]);
	return len;
}

/* The name of a file below the trace. */
static const char *name_below(const struct copies *s, const char *path)
{
	const size_t n = strlen(s->root);

	if (n && strncmp(path, s->root, n) == 0)
		path += n;
	while (*path == '/')
		path++;
	return path;
}

static bool file_open(struct copies *s, const char *name, size_t len, struct out *o, char *path)
{
	snprintf(path, NAME_ROOM, "%s%.*s", s->prefix, (int)len, name);
	s->failed = outdir_create(s->copy->dir, path, o, s->copy->err) == SPUR_FAIL;
	return !s->failed;
}

static bool file_close(struct copies *s, const char *path, struct out *o)
{
	s->failed |= outdir_finish(s->copy->dir, path, o, s->copy->err) == SPUR_FAIL;
	return !s->failed;
}

/* Writes the bytes of a file as they are. */
static bool bytes_copy(struct copies *s, const struct source *src, const char *name)
{
	char path[NAME_ROOM];
	struct out o;

	if (!file_open(s, name, plain_length(src, name), &o, path))
		return false;
	for (uint64_t at = 0, n; at < src->size; at += n) {
		n = src->size - at < PIECE ? src->size - at : PIECE;
		out_bytes(&o, src->data + at, (size_t)n);
		source_passed(src, at, at + n);
	}
	return file_close(s, path, &o);
}

/* --- index files --- */

static void be_out(struct out *o, uint64_t v, unsigned bytes)
{
	while (bytes--)
		out_char(o, (char)(v >> 8 * bytes));
}

static void entry_out(const struct copies_entry *e, uint32_t size, struct out *o)
{
	be_out(o, e->off, 8);
	be_out(o, e->total, 8);
	be_out(o, e->content, 8);
	be_out(o, e->begin, 8);
	be_out(o, e->end, 8);
	be_out(o, e->discarded, 8);
	be_out(o, e->class, 8);
	if (size == CTF_WIRE_INDEX_ENTRY_1) {
		be_out(o, e->instance, 8);
		be_out(o, e->sequence, 8);
	}
}

/* SPEC ctf/copy-index: an index file has an entry for each packet of the copy */
static bool index_make(struct copies *s, const struct ctf_file *f, const char *name, size_t len)
{
	const bool old = f->hints.count && !f->hints.has_instance;
	const uint32_t size = old ? CTF_WIRE_INDEX_ENTRY_0 : CTF_WIRE_INDEX_ENTRY_1;
	const char *slash = memrchr(name, '/', len);
	const int dir = slash ? (int)(slash + 1 - name) : 0;
	char path[NAME_ROOM], idx[NAME_ROOM];
	const struct spool_block *b;
	struct copies_entry e;
	size_t have = 0;
	struct out o;

	snprintf(idx, sizeof(idx), "%.*sindex/%.*s.idx", dir, name, (int)len - dir, name + dir);
	if (!file_open(s, idx, strlen(idx), &o, path))
		return false;
	be_out(&o, CTF_WIRE_INDEX_MAGIC, 4);
	be_out(&o, 1, 4);
	be_out(&o, !old, 4);
	be_out(&o, size, 4);
	/* Entries may lie across blocks. */
	for (b = s->entries.first; b; b = b->next)
		for (uint32_t at = 0; at < b->len;) {
			size_t n = sizeof(e) - have;

			n = n < b->len - at ? n : b->len - at;
			memcpy((char *)&e + have, (const char *)(b + 1) + at, n);
			at += (uint32_t)n;
			have += n;
			if (have < sizeof(e))
				continue;
			have = 0;
			entry_out(&e, size, &o);
		}
	return file_close(s, path, &o);
}

/* --- streams --- */

static const struct ctf_class *class_of(const struct copies *s, const struct ctf_file *f)
{
	return &s->c->traces[f->trace].classes[f->class];
}

/* The packets of one file, which may be of several classes, in their order. */
struct packets {
	struct copies *s;
	uint32_t file[CTF_COPY_CLASSES];
	size_t at[CTF_COPY_CLASSES];
	unsigned n;
};

static void packets_begin(struct packets *p, struct copies *s, uint32_t file)
{
	p->s = s;
	p->n = 0;
	do {
		p->at[p->n] = 0;
		p->file[p->n++] = file;
		file = s->c->files[file].sibling;
	} while (file && p->n < CTF_COPY_CLASSES);
}

/* Returns the next packet and sets its file, or NULL. */
static const struct ctf_packet *packets_next(struct packets *p, struct ctf_file **f)
{
	const struct ctf_packet *best = NULL;
	unsigned which = 0;

	for (unsigned i = 0; i < p->n; i++) {
		const struct ctf_file *x = &p->s->c->files[p->file[i]];

		if (p->at[i] == x->npackets ||
		    (best && x->packets[p->at[i]].file_off > best->file_off))
			continue;
		best = &x->packets[p->at[i]];
		which = i;
	}
	if (best) {
		p->at[which]++;
		*f = &p->s->c->files[p->file[which]];
	}
	return best;
}

/*
 * Returns true if the packets tile the file and their headers say what they are, so that its bytes
 * can stay.
 */
static bool file_is_whole(struct copies *s, uint32_t file)
{
	const struct ctf_packet *p;
	struct ctf_file *f;
	struct packets it;
	uint64_t off = 0, before = 0;

	if (crash_is(s->c->files[file].source->data, s->c->files[file].source->size))
		return false;
	packets_begin(&it, s, file);
	while ((p = packets_next(&it, &f))) {
		if (p->file_off != off || (p->flags & (PACKET_CUT | PACKET_GUESSED)) ||
		    s->streams[s->feed_of[f - s->c->files]].kept ||
		    s->streams[s->feed_of[f - s->c->files]].real ||
		    (s->copy->sorted && p->begin < before))
			return false;
		before = p->begin;
		off += p->file_size;
	}
	return off == s->c->files[file].source->size;
}

/* The packet before and after one in its stream; NULL: none. */
static const struct ctf_packet *neighbour(const struct copies *s, struct ctf_file **f,
					  const struct ctf_packet *p, int step)
{
	const struct ctf_feed *feed = s->streams[s->feed_of[*f - s->c->files]].feed;
	const size_t at = (size_t)(p - (*f)->packets);

	if (step < 0 ? at > 0 : at + 1 < (*f)->npackets)
		return p + step;
	for (size_t i = 0; i < feed->nfiles; i++) {
		if (&s->c->files[feed->files[i]] != *f)
			continue;
		if (step < 0 ? i == 0 : i + 1 == feed->nfiles)
			return NULL;
		*f = &s->c->files[feed->files[step < 0 ? i - 1 : i + 1]];
		return step < 0 ? &(*f)->packets[(*f)->npackets - 1] : (*f)->packets;
	}
	return NULL;
}

static bool packet_copy(struct copies *s, struct ctf_file *f, const struct ctf_packet *p)
{
	struct ctf_file *other = f;
	const struct ctf_packet *before = neighbour(s, &other, p, -1), *next;
	bool losses;

	other = f;
	next = neighbour(s, &other, p, 1);
	losses = next && s->part->kept && copies_losses(s, other, next);
	return copies_packet(s, f, p, before, losses);
}

/* Counts what of a file is not in its packets. */
static void rest_count(struct copies *s, uint32_t file, uint64_t in_packets)
{
	const uint64_t size = s->c->files[file].source->size;

	if (size > in_packets)
		s->left_out += size - in_packets;
}

static bool stop_set(const struct copies *s)
{
	return s->copy->stop && *s->copy->stop;
}

/* The stream packet by packet. A file of which nothing is kept is left out. */
static bool packets_copy(struct copies *s, uint32_t file, const char *name, size_t len)
{
	const struct ctf_packet *p;
	struct ctf_file *f;
	struct packets it;
	char path[NAME_ROOM];
	uint64_t in_packets = 0;
	bool good = true;
	struct out o;

	if (!file_open(s, name, len, &o, path))
		return false;
	s->out = &o;
	s->written = s->nentries = 0;
	s->entries = (struct spool_seq){ 0 };
	packets_begin(&it, s, file);
	while (good && !stop_set(s) && (p = packets_next(&it, &f))) {
		in_packets += p->file_size;
		good = packet_copy(s, f, p);
	}
	if (!crash_is(s->c->files[file].source->data, s->c->files[file].source->size))
		rest_count(s, file, in_packets);
	if (!good) {
		/* The directory goes. */
		out_free(&o);
		return false;
	}
	if (!file_close(s, path, &o))
		return false;
	return !(s->c->files[file].hints.count || s->copy->repair) ||
	       index_make(s, &s->c->files[file], name, len);
}

/* Returns true if a log has an entry of such a level and code, of that file; NULL: any. */
static bool diag_has(const struct diag_log *log, const char *file, enum diag_level level,
		     const char *code)
{
	for (uint32_t i = 0; i < diag_groups(log); i++) {
		const struct diag_group *g = diag_at(log, i);

		if ((!file || (g->file && strcmp(g->file, file) == 0)) && g->level == level &&
		    (!code || strcmp(g->code, code) == 0))
			return true;
	}
	return false;
}

/* The index file of a stream as it is; NULL: none, or not a valid one. */
static const struct source *index_of(const struct copies *s, const struct ctf_file *f)
{
	for (size_t i = 0; f->hints.count && i < s->c->nsources; i++) {
		const struct source *src = s->c->sources[i];

		if (f->hints.entries >= src->data && f->hints.entries < src->data + src->size)
			return src;
	}
	return NULL;
}

/* All bytes of a stream and of its index file. */
static bool whole_copy(struct copies *s, struct ctf_file *f, const char *name, size_t len)
{
	const struct diag_log *log = &s->c->t->diag;
	const struct source *idx = index_of(s, f);
	const bool stale = diag_has(log, f->name, DIAG_WARN, "ctf/stale-index") ||
			   diag_has(log, f->name, DIAG_WARN, "ctf/bad-index");
	struct packets it;
	const struct ctf_packet *p;
	struct ctf_file *of = f;

	if (!bytes_copy(s, f->source, name))
		return false;
	if (idx && !stale)
		return bytes_copy(s, idx, name_below(s, idx->path));
	if (!stale && !(s->copy->repair && !idx))
		return true;
	s->indexes++;
	s->written = s->nentries = 0;
	s->entries = (struct spool_seq){ 0 };
	packets_begin(&it, s, (uint32_t)(f - s->c->files));
	while ((p = packets_next(&it, &of))) {
		struct copies_entry e = { .off = p->file_off,
					  .total = 8 * p->file_size,
					  .content = p->content,
					  .begin = p->begin,
					  .end = p->end,
					  .discarded = p->discarded,
					  .class = class_of(s, of)->class->id,
					  .instance = of->instance,
					  .sequence = p->sequence };

		if (!spool_bytes(&s->spool, &s->entries, &e, sizeof(e)))
			return false;
	}
	return index_make(s, f, name, len);
}

static bool stream_copy(struct copies *s, uint32_t file)
{
	struct ctf_file *f = &s->c->files[file];
	const char *name = s->c->t->streams[f->stream].path;
	const size_t len = plain_length(f->source, name);
	const struct kept *kept = s->part->kept;

	s->mend = diag_has(&s->c->t->diag, f->name, DIAG_DAMAGE, NULL) ||
		  (s->copy->repair && diag_has(&s->c->t->diag, f->name, DIAG_WARN, "ctf/uuid")) ||
		  crash_is(f->source->data, f->source->size);
	if (kept && kept_next(kept, f->stream, 0) == UINT64_MAX)
		return true;
	return !s->mend && file_is_whole(s, file) ? whole_copy(s, f, name, len)
						  : packets_copy(s, file, name, len);
}

/* --- what can be read --- */

static void losses_add(struct copies *s, const struct diag_log *log, bool tell)
{
	for (uint32_t i = 0; i < diag_groups(log); i++) {
		const struct diag_group *g = diag_at(log, i);

		if (g->level != DIAG_DAMAGE)
			continue;
		s->copy->bytes_lost += g->bytes_lost;
		if (tell && s->copy->notes)
			out_printf(s->copy->notes, "%s: %llu of %s: %llu bytes are left out\n",
				   g->file ? g->file : "trace", (unsigned long long)g->count,
				   g->code, (unsigned long long)g->bytes_lost);
	}
}

static bool rows_keep(void *self, const struct spur_event *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!kept_add(self, rows[i].stream, rows[i].off))
			return false;
	return true;
}

/* Returns true if the extent of some packet of a stream is not known. */
static bool has_guesses(const struct copies *s, const struct ctf_feed *feed)
{
	for (size_t i = 0; i < feed->nfiles; i++) {
		const struct ctf_file *f = &s->c->files[feed->files[i]];

		for (size_t k = 0; k < f->npackets; k++)
			if (f->packets[k].flags & (PACKET_GUESSED | PACKET_CUT))
				return true;
	}
	return false;
}

/*
 * SPEC ctf/copy-damage: reads a stream. If all of it can be read, nothing is noted; else its
 * events, for only they are copied. Returns false if out of memory.
 */
static bool stream_check(struct copies *s, struct copies_stream *st)
{
	uint64_t events = 0;
	struct diag_log log;
	bool good;

	diag_init(&log);
	good = ctf_feed_check(st->feed, &log, &events);
	if (!s->part->kept) {
		s->copy->records += events;
		losses_add(s, &log, true);
	}
	if (good && (diag_count(&log, DIAG_DAMAGE) || has_guesses(s, st->feed) ||
		     (s->copy->repair && diag_has(&log, NULL, DIAG_WARN, "ctf/late-event")))) {
		st->real = kept_new();
		good = st->real && ctf_feed_scan(st->feed, rows_keep, st->real);
	}
	diag_free(&log);
	return good;
}

/* Returns true if a stream was damaged where it was read before. */
static bool was_damaged(const struct copies *s, const struct copies_stream *st)
{
	const struct spur_trace *t = s->c->t;

	for (size_t i = 0; i < t->nfeeds; i++)
		if (t->feeds[i]->state == st->feed && diag_count(&t->feeds[i]->diag, DIAG_DAMAGE))
			return true;
	return has_guesses(s, st->feed);
}

static bool streams_begin(struct copies *s)
{
	struct ctf *c = s->c;

	s->streams = mem_array(c->nfeeds + 1, sizeof(*s->streams));
	s->feed_of = mem_array(c->nfiles + 1, sizeof(*s->feed_of));
	s->cursor.slots = mem_array(c->nslots + 1, sizeof(*s->cursor.slots));
	if (!s->streams || !s->feed_of || !s->cursor.slots)
		return false;
	for (size_t i = 0; i < c->nfeeds; i++) {
		struct copies_stream *st = &s->streams[i];

		st->feed = c->feeds[i];
		st->kept = s->part->kept;
		for (size_t k = 0; k < c->feeds[i]->nfiles; k++)
			s->feed_of[c->feeds[i]->files[k]] = (uint32_t)i;
		if (!stop_set(s) && (!s->part->kept || was_damaged(s, st)) && !stream_check(s, st))
			return false;
	}
	losses_add(s, &c->t->diag, true);
	for (size_t i = 0; s->part->kept && i < c->t->nfeeds; i++)
		losses_add(s, &c->t->feeds[i]->diag, false);
	return true;
}

static void copies_end(struct copies *s)
{
	for (size_t i = 0; s->streams && i < s->c->nfeeds; i++)
		kept_free(s->streams[i].real);
	mem_free(s->streams);
	mem_free(s->feed_of);
	mem_free(s->cursor.slots);
	scratch_free(s->packet, s->packet_size);
	spur_args_free(&s->scratch);
	spool_free(&s->spool);
}

static void note(struct copies *s, uint64_t n, const char *what)
{
	if (n && s->copy->notes)
		out_printf(s->copy->notes, "%s: %llu\n", what, (unsigned long long)n);
}

/* --- the whole --- */

/* The metadata in a file, if it is not copied as it is; else NULL. */
static const struct ctf_meta *metadata_changed(const struct copies *s, const struct source *src)
{
	const char *name = name_below(s, src->path);

	for (size_t i = 0; i < s->c->ntraces; i++) {
		const struct ctf_meta *m = s->c->traces[i].meta;

		if ((m->salvaged.len || s->shift) && strcmp(m->path, name) == 0)
			return m;
	}
	return NULL;
}

static bool metadata_write(struct copies *s, const struct source *src, const struct ctf_meta *m)
{
	const char *name = name_below(s, src->path);
	char path[NAME_ROOM];
	bool good = true;
	struct out o;

	if (!file_open(s, name, plain_length(src, name), &o, path))
		return false;
	if (s->shift)
		good = copies_shift_out(m, s->shift, &o);
	else
		out_bytes(&o, m->salvaged.p, m->salvaged.len);
	if (good)
		return file_close(s, path, &o);
	out_free(&o);
	s->failed = true;
	err_set(s->copy->err, SPUR_ERR_USAGE,
		"%s: expected clocks whose offsets can be changed, found others", m->path);
	return false;
}

/*
 * The metadata of all directories. SPEC ctf/copy-metadata: pieces that are damaged are left out of
 * a trace that is repaired
 */
static bool metadata_copy(struct copies *s)
{
	for (size_t i = 0; i < s->c->nsources; i++) {
		const struct source *src = s->c->sources[i];
		const char *slash = strrchr(src->path, '/');
		const struct ctf_meta *changed = metadata_changed(s, src);

		if (ctf_is_metadata(slash ? slash + 1 : src->path) &&
		    !(changed ? metadata_write(s, src, changed)
			      : bytes_copy(s, src, name_below(s, src->path))))
			return false;
	}
	return true;
}

/* The first of the files that share the bytes of this one. */
static uint32_t first_file(const struct ctf *c, uint32_t file)
{
	for (uint32_t i = 0; c->files[file].is_sibling && i < c->nfiles; i++)
		if (!c->files[i].is_sibling && c->files[i].stream == c->files[file].stream)
			return i;
	return file;
}

/* Streams in the order of their feeds, so that counters go on from file to file. */
static bool streams_copy(struct copies *s)
{
	struct ctf *c = s->c;
	bool *done = mem_array(c->nfiles + 1, sizeof(*done));
	bool good = done != NULL;

	for (size_t i = 0; good && i < c->nfeeds; i++)
		for (size_t k = 0; good && !stop_set(s) && k < c->feeds[i]->nfiles; k++) {
			const uint32_t file = first_file(c, c->feeds[i]->files[k]);

			if (done[file])
				continue;
			done[file] = true;
			good = stream_copy(s, file);
		}
	/* Files without a packet: what is in them was told. */
	for (uint32_t i = 0; good && i < c->nfiles; i++)
		if (!done[i] && !c->files[i].is_sibling)
			s->stray++;
	mem_free(done);
	return good;
}

static void tell(struct copies *s)
{
	note(s, s->made, "packets made anew of what can be read of them");
	note(s, s->sorted, "of these, packets whose events were put in order of time");
	note(s, s->left_out, "bytes left out between and behind packets");
	note(s, s->indexes, "index files made anew");
	note(s, s->stray, "files left out as they have no packets");
}

static enum spur_status part_copy(struct copy *copy, const struct copy_part *part,
				  const char *prefix)
{
	char root[CTF_PATH_ROOM];
	struct copies s = {
		.copy = copy, .part = part, .c = part->trace->state, .root = root, .prefix = prefix
	};
	bool good;

	if (s.c->grow)
		return err_set(copy->err, SPUR_ERR_USAGE,
			       "%s: traces that are still being written cannot be copied",
			       part->trace->path);
	if (!copies_shift_fits(copy, (size_t)(part - copy->parts)))
		return err_set(copy->err, SPUR_ERR_USAGE,
			       "%s: expected a clock whose offset can be changed, found none: "
			       "times of packets cannot be moved",
			       part->trace->path);
	s.shift = copies_shift(copy, (size_t)(part - copy->parts));
	root[0] = '\0';
	if (!s.c->archive)
		ctf_split_path(part->trace->path, root, sizeof(root));
	spool_init(&s.spool);
	good = streams_begin(&s) && metadata_copy(&s) && streams_copy(&s);
	if (good)
		tell(&s);
	copies_end(&s);
	return good ? SPUR_OK : SPUR_FAIL;
}

/* The directory of a part: the name of its trace, with a number where several have it. */
static void part_name(const struct copy *copy, size_t part, char *name, size_t size)
{
	const char *path = copy->parts[part].trace->path;
	size_t len = strlen(path), same = 0;

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > same && path[len - same - 1] != '/')
		same++;
	snprintf(name, size, "%zu-%.*s/", part + 1, (int)same, path + len - same);
}

enum spur_status ctf_copy(struct copy *copy)
{
	char name[CTF_PATH_ROOM] = "";
	enum spur_status st = SPUR_OK;

	if (!copy->dir)
		return err_set(copy->err, SPUR_ERR_USAGE,
			       "expected a directory to write a CTF trace to, found none");
	/* SPEC ctf/copy-merge: each trace in a directory of its own */
	for (size_t i = 0; st != SPUR_FAIL && i < copy->count; i++) {
		if (copy->count > 1)
			part_name(copy, i, name, sizeof(name));
		st = part_copy(copy, &copy->parts[i], name);
	}
	return st;
}

/* SPEC ctf/copy-shift: the clocks of the other parts are moved, if their offsets can say that */
bool ctf_joins(const struct copy *copy)
{
	bool good = true;

	for (size_t i = 0; i < copy->count; i++)
		good = good && copies_shift_fits(copy, i);
	return good;
}

bool ctf_copies_to_dir(const struct spur_trace *t)
{
	(void)t;
	return true;
}
