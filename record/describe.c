/* Descriptors: what points, threads, modules and functions are called. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum {
	/* Pages are used as descriptors come. Less where address space is limited. */
	CATALOG = 16 << 20,
	CATALOG_LEAST = 64 << 10,
	IDS = 1 << 24,
	DESCRIPTOR_MOST = SPB_PAGE - SPB_CHUNK_HEAD,
	TEXT_MOST = 400, /* of names in descriptors */
	STRING_HEAD = SPB_DESCRIPTOR_HEAD + 8 + 2, /* bytes before a string's text */
	ARGUMENT_HEAD = 1 + 2, /* bytes before an argument's name */
	TRACK_OTHER = 5, /* kind of a track: SPEC spur/track */
	CHARACTER_MOST = 4, /* bytes of a character in UTF-8 */
};

const uint32_t spur_trace_new = 1;

static char *catalog; /* descriptors in the form of the file */
static size_t catalog_len, catalog_size;
static uint32_t nsites, nmodules, nfunctions;

/* One that is being made. */
struct descriptor {
	char bytes[DESCRIPTOR_MOST];
	uint32_t len;
};

static void put(struct descriptor *d, const void *p, size_t len)
{
	if (len > sizeof(d->bytes) - d->len)
		len = sizeof(d->bytes) - d->len;
	memcpy(d->bytes + d->len, p, len);
	d->len += (uint32_t)len;
}

static void put_number(struct descriptor *d, uint64_t v, size_t size)
{
	put(d, &v, size);
}

static void put_bytes(struct descriptor *d, const void *p, size_t len)
{
	put_number(d, len, 2);
	put(d, p, len);
}

size_t core_text_cut(const char *s, size_t len, size_t most)
{
	size_t at = most;

	if (len <= most)
		return len;
	while (at && most - at < CHARACTER_MOST - 1 && (s[at] & 0xC0) == 0x80)
		at--;
	/* Text that is not UTF-8 may have any number of such bytes. */
	return (s[at] & 0xC0) == 0x80 ? most : at;
}

/* NULL: no text. */
static void put_cut(struct descriptor *d, const char *s, size_t most)
{
	if (!s)
		s = "";
	put_bytes(d, s, core_text_cut(s, strlen(s), most));
}

static void put_text(struct descriptor *d, const char *s)
{
	put_cut(d, s, TEXT_MOST);
}

static void descriptor_begin(struct descriptor *d, uint32_t type)
{
	d->len = 4;
	put_number(d, type, 4);
}

static void descriptor_end(struct descriptor *d)
{
	static const char zeros[SPB_WORD];

	put(d, zeros, (SPB_WORD - d->len % SPB_WORD) % SPB_WORD);
	memcpy(d->bytes, &d->len, 4);
}

/* --- the catalog --- */

/*
 * Adds a descriptor to the catalog, and to the file of the recording if there is one. Called with
 * the lock.
 */
static bool catalog_put(struct descriptor *d)
{
	descriptor_end(d);
	for (size_t size = CATALOG; !catalog && size >= CATALOG_LEAST; size /= 4) {
		catalog = seam_reserve(size);
		catalog_size = size;
	}
	if (!catalog || d->len > catalog_size - catalog_len)
		return false;
	if (core_session.number && !core_file_put(d->bytes, d->len))
		return false;
	memcpy(catalog + catalog_len, d->bytes, d->len);
	seam_store(&catalog_len, catalog_len + d->len);
	return true;
}

bool core_catalog_copy(void)
{
	for (size_t at = 0; at < catalog_len;) {
		uint32_t size;

		memcpy(&size, catalog + at, sizeof(size));
		if (!core_file_put(catalog + at, size))
			return false;
		at += size;
	}
	return true;
}

void core_describe_thread(void)
{
	struct descriptor d;

	descriptor_begin(&d, SPB_THREAD_NAME);
	put_number(&d, core_own.number, 8);
	put_text(&d, core_own.name);
	descriptor_end(&d);
	core_file_put(d.bytes, d.len);
}

bool core_describe_track(uint32_t thread, const char *name)
{
	struct descriptor d;

	descriptor_begin(&d, SPB_TRACK);
	put_number(&d, thread, 4);
	put_number(&d, 0, 4); /* its parent is the process */
	put_number(&d, TRACK_OTHER, 4);
	put_number(&d, UINT64_MAX, 4); /* no CPU */
	put_number(&d, seam_pid(), 8);
	put_number(&d, UINT64_MAX, 8); /* no thread */
	put_text(&d, name);
	descriptor_end(&d);
	return core_file_put(d.bytes, d.len);
}

void core_describe_name(uint32_t type, bool has_id, uint64_t id, const char *name)
{
	struct descriptor d;

	if (!core_enter())
		return;
	descriptor_begin(&d, type);
	if (has_id)
		put_number(&d, id, 8);
	put_text(&d, name);
	catalog_put(&d);
	core_leave();
}

/* --- points --- */

/* Long names are cut so that all of them have room. */
static void put_args(struct descriptor *d, const uint8_t *types, const char *const *names,
		     unsigned n)
{
	const size_t room = sizeof(d->bytes) - SPB_WORD - d->len;
	const size_t each = n ? room / n - ARGUMENT_HEAD : 0;

	for (unsigned i = 0; i < n; i++) {
		put_number(d, types[i], 1);
		put_cut(d, names[i], each < TEXT_MOST ? each : TEXT_MOST);
	}
}

/* Describes a point with a name of its own. Returns its number, or 0 if it has no room. */
static uint32_t site_describe(const struct spur_trace_site *site, const char *name, size_t len)
{
	struct descriptor d;

	if (nsites + 1 >= IDS)
		return 0;
	descriptor_begin(&d, SPB_SITE);
	put_number(&d, nsites + 1, 4);
	put_number(&d, site->kind, 1);
	put_number(&d, site->nargs, 3);
	put_number(&d, site->line, 4);
	put_text(&d, site->category);
	put_bytes(&d, name, core_text_cut(name, len, TEXT_MOST));
	put_text(&d, site->file);
	put_args(&d, site->arg_types, site->arg_names, site->nargs);
	return catalog_put(&d) ? ++nsites : 0;
}

uint32_t core_describe_site(const struct spur_trace_site *site)
{
	return site_describe(site, site->name, strlen(site->name));
}

uint32_t spur_trace_register(struct spur_trace_site *site)
{
	const uint64_t events = site->kind == SPB_SITE_SPAN ? 2 : 1; /* a span has an end too */
	uint32_t number = 0;
	uint32_t *on;

	if (!core_enter()) {
		core_lost(events);
		return 0;
	}
	on = core_category_word(site->category);
	if (core_watching)
		core_system_join();
	/* A program that does not record describes nothing while it looks out for a session. */
	if (!site->number && !core_watching) {
		number = core_describe_site(site);
		if (number)
			seam_store32(&site->number, number);
		number = 0;
	}
	if (site->number || core_watching)
		seam_store_pointer(&site->on, on);
	if (!core_watching && *on) {
		number = site->number;
		if (!number)
			core_file_lost(events);
	}
	core_leave();
	return number;
}

/* --- strings --- */

/* An id is the descriptor's place in the catalog, in words, + 1. */
uint32_t core_describe_string(const char *s, size_t len)
{
	const uint32_t id = (uint32_t)(catalog_len / SPB_WORD) + 1;
	struct descriptor d;

	if (catalog && catalog_len > catalog_size / 2)
		return 0;
	descriptor_begin(&d, SPB_STRING);
	put_number(&d, id, 8);
	put_bytes(&d, s, len);
	return catalog_put(&d) ? id : 0;
}

const char *core_described_string(uint64_t id, size_t *len)
{
	const size_t at = (size_t)(id - 1) * SPB_WORD, room = seam_load(&catalog_len);
	uint32_t type;
	uint64_t there;
	uint16_t size;

	if (!id || id > CATALOG / SPB_WORD || at + STRING_HEAD > room)
		return NULL;
	memcpy(&type, catalog + at + 4, sizeof(type));
	memcpy(&there, catalog + at + SPB_DESCRIPTOR_HEAD, sizeof(there));
	memcpy(&size, catalog + at + SPB_DESCRIPTOR_HEAD + 8, sizeof(size));
	if (type != SPB_STRING || there != id || size > room - at - STRING_HEAD)
		return NULL;
	*len = size;
	return catalog + at + STRING_HEAD;
}

uint32_t core_describe_named(const struct spur_trace_site *site, uint64_t name)
{
	size_t len;
	const char *const s = core_described_string(name, &len);

	if (!s || catalog_len > catalog_size / 4 * 3)
		return 0;
	return site_describe(site, s, len);
}

/* --- modules and functions --- */

uint32_t core_module(const struct core_module *m)
{
	uint32_t number = 0;
	struct descriptor d;

	if (!core_enter())
		return 0;
	descriptor_begin(&d, SPB_MODULE);
	put_number(&d, nmodules + 1, 8);
	put_number(&d, m->first, 8);
	put_number(&d, m->end, 8);
	put_number(&d, m->shift, 8);
	put_number(&d, core_clock_ticks(), 8);
	put_bytes(&d, m->build_id, m->build_id_size < TEXT_MOST ? m->build_id_size : TEXT_MOST);
	put_text(&d, m->path);
	if (catalog_put(&d))
		number = ++nmodules;
	core_leave();
	return number;
}

void core_unload(uint32_t module)
{
	struct descriptor d;

	if (!core_enter())
		return;
	descriptor_begin(&d, SPB_UNLOAD);
	put_number(&d, module, 8);
	put_number(&d, core_clock_ticks(), 8);
	catalog_put(&d);
	core_leave();
}

uint32_t core_function_numbers(uint32_t n)
{
	uint32_t first = 0;

	if (!core_enter())
		return 0;
	if (n < IDS - nfunctions) {
		first = nfunctions + 1;
		nfunctions += n;
	}
	core_leave();
	return first;
}

bool core_function(const struct core_function *f)
{
	struct descriptor d;
	bool good;

	if (!core_enter())
		return false;
	descriptor_begin(&d, SPB_FUNCTION);
	put_number(&d, f->number, 4);
	put_number(&d, f->module, 4);
	put_number(&d, f->address, 8);
	put_number(&d, f->nargs, 1);
	put_number(&d, f->nresults, 1);
	put_number(&d, 0, 2);
	put_text(&d, f->name ? f->name : "");
	put_args(&d, f->types, f->names, (unsigned)f->nargs + f->nresults);
	good = catalog_put(&d);
	core_leave();
	return good;
}
