/*
 * Common Trace Format: RFC v1.1, 1.8 and 2.
 *
 * Reads directories (with sub-directories, rotated sessions, several traces), a `metadata` file
 * with what lies beside it, one stream file, a tar archive of these, what a crash leaves in shared
 * memory, or a session of LTTng's relay daemon. Parts: wire.h draws what is stored; tree.c and
 * archive.c find files; meta/ reads metadata; plan/ compiles and runs decode programs; packet.c and
 * crash.c list packets, order.c puts those of overlapping files in order; class.c and symbols.c say
 * what events mean and functions are called, rows.c makes rows, args.c gives fields; lookup.c,
 * place.c, schema.c and origin.c say what writers need; live/ has streams that are still written.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/os.h"
#include "format/ctf/archive.h"
#include "format/ctf/copy.h"
#include "format/ctf/crash.h"
#include "format/ctf/live/grow.h"
#include "format/ctf/live/live.h"
#include "format/ctf/origin.h"
#include "format/ctf/place.h"
#include "format/ctf/symbols.h"
#include "format/ctf/wire.h"
#include "format/format.h"

enum { SCORE_SURE = 100, SCORE_STREAM = 70, SCORE_DIR = 90, SCORE_ARCHIVE = 50, TAR_BLOCK = 512 };

/* --- feeds --- */

struct ctf_feed *ctf_feed_new(struct ctf *c, const struct ctf_file *file)
{
	struct ctf_feed *f = mem_alloc(sizeof(*f));

	if (!f)
		return NULL;
	f->ctf = c;
	f->trace = &c->traces[file->trace];
	f->class = &f->trace->classes[file->class];
	return f;
}

bool ctf_feed_add_file(struct ctf_feed *f, uint32_t file)
{
	if (!mem_grow((void **)&f->files, &f->files_cap, f->nfiles + 1, sizeof(*f->files),
		      CTF_MAX_FILES))
		return false;
	f->files[f->nfiles++] = file;
	return true;
}

static struct ctf_feed *feed_new(struct ctf *c, const struct ctf_file *file)
{
	struct ctf_feed *f;

	if (!mem_grow((void **)&c->feeds, &c->feeds_cap, c->nfeeds + 1, sizeof(struct ctf_feed *),
		      CTF_MAX_FILES) ||
	    !(f = ctf_feed_new(c, file)))
		return NULL;
	f->number = (uint32_t)c->nfeeds;
	c->feeds[c->nfeeds++] = f;
	return f;
}

/* Files of one stream of one trace go to one feed. */
struct file_key {
	const uint8_t *uuid; /* of the trace, NULL if it has none that orders it */
	uint32_t trace, class, file;
	bool has_instance;
	uint64_t instance, begin;
};

/*
 * SPEC ctf/equal-times: events of one time stand in the order of their traces, then of their
 * streams. Traces of CTF 1.8 are ordered by UUID, as babeltrace2 orders them; those without one
 * come after them, by path.
 */
static int by_trace(const struct file_key *x, const struct file_key *y)
{
	const int order =
		x->uuid && y->uuid ? memcmp(x->uuid, y->uuid, CTF_WIRE_UUID) : !x->uuid - !y->uuid;

	return order ? order : x->trace < y->trace ? -1 : 1;
}

static int by_stream(const void *a, const void *b)
{
	const struct file_key *x = a, *y = b;

	if (x->trace != y->trace)
		return by_trace(x, y);
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->has_instance != y->has_instance)
		return x->has_instance ? -1 : 1;
	if (x->instance != y->instance)
		return x->instance < y->instance ? -1 : 1;
	/* SPEC ctf/equal-times: a file that is a stream by itself has its place by its path */
	if (x->has_instance && x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static bool same_stream(const struct file_key *a, const struct file_key *b)
{
	return a->trace == b->trace && a->class == b->class && a->has_instance && b->has_instance &&
	       a->instance == b->instance;
}

bool ctf_feed_track(struct ctf *c, struct ctf_feed *f, const struct ctf_file *file)
{
	const uint16_t cpu = file->packets[0].cpu;
	char name[32];

	snprintf(name, sizeof(name), "cpu %u", cpu);
	f->own_track = trace_add_track(
		c->t, (struct spur_track){
			      .parent = f->trace->track,
			      .name = trace_intern(c->t, cpu == SPUR_NO_CPU ? file->name : name),
			      .kind = cpu == SPUR_NO_CPU ? SPUR_TRACK_OTHER : SPUR_TRACK_CPU,
			      .pid = f->trace->pid,
			      .tid = -1,
			      .cpu = cpu == SPUR_NO_CPU ? -1 : cpu,
		      });
	return f->own_track != SPUR_NONE;
}

static bool feed_add(struct ctf *c, struct ctf_feed *f, const struct ctf_file *first)
{
	struct feed *feed = NULL;

	if (ctf_feed_track(c, f, first))
		feed = trace_add_feed(c->t, f->own_track, f);
	if (!feed)
		return false;
	mem_trim((void **)&f->files, &f->files_cap, f->nfiles, sizeof(*f->files));
	feed->stream =
		f->nfiles == 1 && !first->sibling && !first->is_sibling ? first->stream : SPUR_NONE;
	for (size_t i = 0; i < f->nfiles; i++)
		feed->size += c->files[f->files[i]].source->size;
	return true;
}

static const uint8_t *order_uuid(const struct ctf_meta *m)
{
	return m->generation == CTF_1 && m->has_uuid ? m->uuid : NULL;
}

static bool make_feeds(struct ctf *c)
{
	struct file_key *keys = mem_array(c->nfiles + 1, sizeof(*keys));
	struct ctf_feed *f = NULL;
	size_t n = 0;
	bool good = keys != NULL;

	for (uint32_t i = 0; good && i < c->nfiles; i++) {
		const struct ctf_file *x = &c->files[i];

		if (x->npackets)
			keys[n++] = (struct file_key){
				.uuid = order_uuid(c->traces[x->trace].meta),
				.trace = x->trace,
				.class = x->class,
				.file = i,
				.has_instance = x->has_instance,
				.instance = x->instance,
				.begin = x->packets[0].begin,
			};
	}
	if (n)
		qsort(keys, n, sizeof(*keys), by_stream);
	for (size_t i = 0; good && i < n; i++) {
		if (!i || !same_stream(&keys[i - 1], &keys[i]))
			f = feed_new(c, &c->files[keys[i].file]);
		good = f && ctf_feed_add_file(f, keys[i].file);
		if (!good || (i + 1 < n && same_stream(&keys[i], &keys[i + 1])))
			continue;
		good = feed_add(c, f, &c->files[f->files[0]]) &&
		       (c->stored || ctf_feed_order(f, &c->t->diag));
		if (good)
			ctf_feed_losses(f);
	}
	mem_free(keys);
	return good;
}

/* --- what is said of the trace --- */

static uint32_t plain_class(struct ctf *c, const char *name)
{
	const uint32_t s = trace_intern(c->t, name);

	return trace_add_class(
		c->t,
		&(struct event_class){ .name = s, .simple = s, .raw = s, .flags = CLASS_EVENT });
}

static bool add_names(struct ctf *c)
{
	struct spur_trace *t = c->t;

	c->packet_cls = plain_class(c, "packet");
	c->lost_cls = plain_class(c, "discarded events");
	c->lost_packets_cls = plain_class(c, "lost packets");
	c->s_count = trace_intern(t, "count");
	c->s_packets = trace_intern(t, "packets");
	c->s_debug = trace_intern(t, "debug_info");
	c->s_binary = trace_intern(t, "bin");
	c->s_function = trace_intern(t, "func");
	c->s_source = trace_intern(t, "src");
	c->s_at = trace_intern(t, "at");
	c->s_bits = trace_intern(t, "bits");
	c->s_value = trace_intern(t, "value");
	c->s_number = trace_intern(t, "number");
	return c->packet_cls && c->lost_cls && c->lost_packets_cls;
}

static const char *env_text(const struct ctf_meta *m, const char *key)
{
	for (size_t i = 0; i < m->nenv; i++)
		if (m->env[i].is_text && strcmp(m->env[i].key, key) == 0)
			return m->env[i].text;
	return NULL;
}

bool ctf_trace_track(struct ctf *c, struct ctf_trace *tr)
{
	const char *name = env_text(tr->meta, "trace_name"), *host = env_text(tr->meta, "hostname");
	const char *program = env_text(tr->meta, "procname");
	const int64_t pid = ctf_trace_pid(tr->meta);
	struct map64_slot *slot;

	name = pid >= 0 && program ? program
	       : tr->dir[0]	   ? tr->dir
	       : name		   ? name
	       : host		   ? host
				   : "trace";
	tr->track = trace_add_track(
		c->t, (struct spur_track){ .parent = SPUR_NONE,
					   .name = trace_intern(c->t, name),
					   .kind = pid < 0 ? SPUR_TRACK_OTHER : SPUR_TRACK_PROCESS,
					   .pid = pid,
					   .tid = -1,
					   .cpu = -1 });
	if (tr->track == SPUR_NONE || pid < 0)
		return tr->track != SPUR_NONE;
	/* Its threads are below it, and do not name it. */
	slot = map64_put(&tr->processes, (uint64_t)pid);
	if (slot)
		slot->value = (uint64_t)tr->track + 1;
	return slot &&
	       ctf_track_name(c, tr->track, trace_intern(c->t, name),
			      (struct ctf_naming){ .ts = INT64_MAX, .any = true, .main = true });
}

static bool add_tracks(struct ctf *c)
{
	for (size_t i = 0; i < c->ntraces; i++)
		if (!ctf_trace_track(c, &c->traces[i]))
			return false;
	return true;
}

/* Returns the first trace whose metadata is in use, or NULL. */
static const struct ctf_trace *first_trace(const struct ctf *c)
{
	for (size_t i = 0; i < c->ntraces; i++)
		if (!c->traces[i].old)
			return &c->traces[i];
	return NULL;
}

static bool add_info(struct ctf *c, const struct ctf_meta *m)
{
	bool good = true;

	for (size_t i = 0; good && i < m->nenv; i++)
		good = m->env[i].is_text ? trace_add_info(c->t, m->env[i].key, "%s", m->env[i].text)
					 : trace_add_info(c->t, m->env[i].key, "%lld",
							  (long long)m->env[i].number);
	if (good && m->has_uuid)
		good = trace_add_info(
			c->t, "uuid",
			"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			m->uuid[0], m->uuid[1], m->uuid[2], m->uuid[3], m->uuid[4], m->uuid[5],
			m->uuid[6], m->uuid[7], m->uuid[8], m->uuid[9], m->uuid[10], m->uuid[11],
			m->uuid[12], m->uuid[13], m->uuid[14], m->uuid[15]);
	return good && (c->ntraces < 2 || trace_add_info(c->t, "traces", "%zu", c->ntraces));
}

/* Returns the UUID or unique id that the metadata gives a clock; NULL: none, or out of memory. */
static const char *clock_identity(struct ctf *c, const struct ctf_clock *clock)
{
	const uint8_t *u = clock->uuid;

	if (!clock->has_uuid)
		return clock->uid && clock->uid[0] ? clock->uid : NULL;
	return arena_printf(&c->t->arena,
			    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			    u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10],
			    u[11], u[12], u[13], u[14], u[15]);
}

static void set_clock(struct ctf *c)
{
	struct clock_info *k = &c->t->clock;
	const struct ctf_clock *clock = NULL;

	for (size_t i = 0; i < c->ntraces && !clock; i++)
		for (size_t s = 0; s < c->traces[i].meta->nstreams && !clock; s++)
			clock = c->traces[i].meta->streams[s]->clock;
	k->hz = clock ? clock->hz : 1000000000;
	k->name = clock && clock->name && clock->name[0] ? clock->name
		  : clock && clock->id && clock->id[0]	 ? clock->id
							 : "unknown";
	k->derived = clock ? "the metadata"
			   : "no stream has a clock: events are in the order of their streams";
	k->epoch_known = clock && clock->unix_epoch && clock == c->first_clock;
	k->epoch_ns = c->epoch_base;
	k->identity = clock ? clock_identity(c, clock) : NULL;
	k->ticks = c->t->options.raw_time;
}

static void set_version(struct ctf *c, const struct ctf_meta *m)
{
	c->t->version = m->generation == CTF_V11 ? "RFC v1.1"
			: m->generation == CTF_2
				? "2"
				: arena_printf(&c->t->arena, "%u.%u", m->major, m->minor);
	c->t->byte_order = ctf_byte_order(m);
}

/* --- the format --- */

static void report_empty(struct ctf *c)
{
	diag_add(&c->t->diag, DIAG_WARN, "ctf/no-packets", "metadata", DIAG_NO_OFF, 0,
		 "expected a stream file with packets, found none: nothing was recorded, or the "
		 "files are lost");
}

static enum spur_status open_files(struct ctf *c, struct source *archive, struct spur_error *err)
{
	struct spur_trace *t = c->t;

	c->bookkeeping = t->options.bookkeeping;
	if ((archive ? ctf_find_archive(c, archive, err) : ctf_find(c, t->path, err)) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!add_tracks(c))
		return err_nomem(err);
	for (size_t i = 0; i < c->ntraces; i++)
		if (ctf_trace_open(c, &c->traces[i], err) == SPUR_FAIL)
			return SPUR_FAIL;
	for (size_t i = 0; i < c->nfiles; i++)
		if (!ctf_index(c, &c->files[i], &t->diag))
			return err_nomem(err);
	for (size_t i = 0; i < c->nfiles; i++)
		if (!c->files[i].is_sibling)
			ctf_stream_origin(c, &c->files[i]);
	if (!make_feeds(c))
		return err_nomem(err);
	for (size_t i = 0; i < c->nfeeds; i++)
		t->tracks_shared |= c->nfeeds > 1 &&
				    (c->feeds[i]->class->tid_slot != CTF_NO_SLOT ||
				     c->feeds[i]->class->by_switch || c->feeds[i]->trace->kernel);
	/*
	 * SPEC ctf/open-calls: what is open when a trace ends ends with it, though another trace
	 * may go on
	 */
	t->tops_apart = c->ntraces > 1;
	if (!c->nfeeds)
		report_empty(c);
	if (!ctf_symbols_open(c))
		return err_nomem(err);
	if (!ctf_scan_tracks(c, t->options.all_tracks))
		return err_nomem(err);
	return SPUR_OK;
}

/* Streams that are still being written are one feed. */
static enum spur_status open_growing(struct ctf *c, bool is_url, struct spur_error *err)
{
	struct spur_trace *t = c->t;
	const struct ctf_trace *tr;

	/* A row of a packet would come late: the streams beside it may have gone on meanwhile. */
	assert(!c->bookkeeping);
	if ((is_url ? live_open(c, t->path, err) : follow_open(c, t->path, err)) == SPUR_FAIL)
		return SPUR_FAIL;
	tr = first_trace(c);
	t->tops_apart = true;
	c->grow->feed = tr ? trace_add_feed(t, tr->track, c->grow) : NULL;
	if (tr && !c->grow->feed)
		return err_nomem(err);
	if (!tr && !t->options.sessions)
		report_empty(c);
	return SPUR_OK;
}

/* `archive`: the input, where it is one. */
static enum spur_status open_all(struct ctf *c, bool is_url, struct source *archive,
				 struct spur_error *err)
{
	struct spur_trace *t = c->t;
	const struct ctf_trace *tr;
	enum spur_status st;

	if (ctf_key_read(t->options.key_file, c->key, &c->key_len, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!add_names(c))
		return err_nomem(err);
	st = is_url || t->options.follow ? open_growing(c, is_url, err)
					 : open_files(c, archive, err);
	if (st == SPUR_FAIL)
		return SPUR_FAIL;
	tr = first_trace(c);
	if (!tr)
		return SPUR_OK;
	if (!add_info(c, tr->meta))
		return err_nomem(err);
	set_clock(c);
	c->t->has_samples = ctf_has_samples(c);
	set_version(c, tr->meta);
	return t->version ? SPUR_OK : err_nomem(err);
}

static enum spur_status open_trace(struct spur_trace *t, struct source *src, struct spur_error *err)
{
	static _Atomic uint64_t serials;
	struct ctf *c = mem_alloc(sizeof(*c));
	bool is_archive;

	if (!c)
		return err_nomem(err);
	t->state = c;
	c->t = t;
	c->spans = !t->options.no_spans;
	c->stored = t->options.as_stored && !t->options.follow;
	pthread_rwlock_init(&c->lock, NULL);
	c->serial = ++serials;
	is_archive = src && source_need(src, TAR_BLOCK) && archive_is(src->data, (size_t)src->size);
	if (is_archive && t->options.follow)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a directory to follow, found an archive", t->path);
	if (src && !is_archive && strcmp(t->path, "-") == 0)
		return err_set(err, SPUR_ERR_USAGE,
			       "-: expected a trace directory, found a pipe: a stream cannot be "
			       "read without its metadata");
	return open_all(c, format_of_url(t->path) != NULL, is_archive ? src : NULL, err);
}

static void print_metadata(struct spur_trace *t, bool compiled, struct out *o)
{
	const struct ctf *c = t->state;
	bool any = false;

	for (size_t i = 0; i < c->ntraces; i++) {
		const struct ctf_trace *tr = &c->traces[i];

		if (tr->old)
			continue;
		if (c->ntraces > 1)
			out_printf(o, "%s# %s/metadata\n", any ? "\n" : "", tr->dir);
		any = true;
		if (compiled)
			meta_print(tr->meta, o);
		else
			out_bytes(o, tr->meta->text.p, tr->meta->text.len);
	}
}

void ctf_feed_end(struct ctf_feed *f)
{
	mem_free(f->leads);
	mem_free(f->held);
	mem_free(f->cursor.slots);
	mem_free(f->cursor.have);
	map64_free(&f->rest);
	map64_free(&f->tracks);
	map64_free(&f->functions);
	f->leads = NULL;
	f->held = NULL;
	f->cursor.slots = NULL;
	f->cursor.have = NULL;
	f->ended = true;
}

void ctf_feed_free(struct ctf_feed *f)
{
	ctf_feed_end(f);
	mem_free(f->files);
	mem_free(f->cuts);
	scratch_free(f->order, f->order_size);
	mem_free(f);
}

static void free_file(struct ctf_file *f)
{
	for (size_t i = 0; i < f->npackets && f->unpacked; i++)
		if (f->packets[i].flags & PACKET_OWN)
			scratch_free((void *)(uintptr_t)f->packets[i].data, f->packets[i].own);
	scratch_free(f->packets, f->packets_cap * sizeof(*f->packets));
}

static void close_trace(struct spur_trace *t)
{
	struct ctf *c = t->state;

	grow_free(c->grow);
	for (size_t i = 0; i < c->nfeeds; i++)
		ctf_feed_free(c->feeds[i]);
	for (size_t i = 0; i < c->nfiles; i++)
		free_file(&c->files[i]);
	for (size_t i = 0; i < c->ntraces; i++) {
		struct ctf_trace *tr = &c->traces[i];

		for (size_t k = 0; tr->classes && k < tr->meta->nstreams; k++) {
			map64_free(&tr->classes[k].events);
			map64_free(&tr->classes[k].names);
			map64_free(&tr->classes[k].spans);
		}
		map64_free(&tr->processes);
		map64_free(&tr->spaces);
		map64_free(&tr->pids);
		key_index_free(&tr->threads);
		map64_free(&tr->long_threads);
		map64_free(&tr->ids);
		map64_free(&tr->kept);
		meta_free(tr->meta);
	}
	for (size_t i = 0; i < c->nsources; i++)
		source_close(c->sources[i]);
	archive_close(c->archive);
	map64_free(&c->functions);
	map64_free(&c->schema_fields);
	mem_free(c->origin_clocks);
	mem_free(c->namings);
	ctf_symbols_free(c->symbols);
	mem_free(c->feeds);
	mem_free(c->files);
	mem_free(c->traces);
	mem_free(c->sources);
	pthread_rwlock_destroy(&c->lock);
	mem_free(c);
}

static int probe_dir(const char *path)
{
	static const char *const names[] = { "metadata", "metadata.gz", "metadata.zst" };
	char full[4400];

	for (size_t i = 0; i < 3; i++) {
		snprintf(full, sizeof(full), "%s/%s", path, names[i]);
		if (os_access(full, R_OK) == 0)
			return SCORE_DIR;
	}
	return ctf_below(path) ? SCORE_DIR - 10 : 0;
}

static bool is_stream(const uint8_t *p, size_t len)
{
	return len >= 4 &&
	       (load32(p, false) == CTF_WIRE_MAGIC || load32(p, true) == CTF_WIRE_MAGIC);
}

/*
 * A member of an archive that shows that there is a trace in it; of one with neither the archive
 * must begin.
 */
static bool is_trace_file(const char *name, const uint8_t *p, size_t len)
{
	const char *slash = strrchr(name, '/');

	return ctf_is_metadata(slash ? slash + 1 : name) || is_stream(p, len);
}

static int probe(const struct probe *p)
{
	const struct text t = text_make(p->head, p->len);

	if (p->is_dir)
		return probe_dir(p->path);
	if (p->len < 4)
		return 0;
	if (load32(p->head, false) == CTF_WIRE_METADATA_MAGIC ||
	    load32(p->head, true) == CTF_WIRE_METADATA_MAGIC || text_starts(t, "/* CTF") ||
	    (p->head[0] == 0x1E && text_search(t, "\"preamble\"") > 0))
		return SCORE_SURE;
	if (archive_is(p->head, p->len))
		return archive_has(p->head, p->len, is_trace_file) ? SCORE_ARCHIVE : 0;
	return is_stream(p->head, p->len) ? SCORE_STREAM : 0;
}

const struct spur_format spur_format_ctf = {
	.name = "ctf",
	.title = "Common Trace Format (LTTng, barectf, Zephyr, perf, babeltrace)",
	.reads = "RFC v1.1, 1.8 and 2; directories with sub-directories and rotated sessions, also "
		 "in tar archives, both "
		 "byte orders, packed packets; live sessions of a relay daemon",
	.counts_discarded = true,
	.probe = probe,
	.urls = live_urls,
	.follows_dirs = true,
	.open = open_trace,
	.next = ctf_next,
	.counts_rows = true,
	.divide = ctf_divide,
	.part_open = ctf_part_open,
	.part_follows = ctf_part_follows,
	.part_close = ctf_part_close,
	.args = ctf_args,
	.args_proven = ctf_args_proven,
	.bytes = &ctf_bytes,
	.samples = ctf_samples,
	.fields = ctf_fields,
	.place = ctf_record_place,
	.ticks = ctf_ticks,
	.schema = ctf_schema,
	.metadata = print_metadata,
	.last = ctf_last,
	.copy = ctf_copy,
	.joins = ctf_joins,
	.copies_to_dir = ctf_copies_to_dir,
	.recover = ctf_recover,
	.recovers = RECOVERS_COPY,
	.close = close_trace,
};
