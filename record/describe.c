/* Descriptors: what points, threads, modules and functions are called; and categories. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum {
	CATEGORIES = 256,
	CATEGORY_LEN = 64,
	/* Pages are used as descriptors come. Less where address space is limited. */
	CATALOG = 16 << 20,
	CATALOG_LEAST = 64 << 10,
	IDS = 1 << 24,
	DESCRIPTOR_MOST = SPB_PAGE - SPB_CHUNK_HEAD,
	TEXT_MOST = 400, /* of names in descriptors */
};

struct category {
	char name[CATEGORY_LEN];
	bool wanted;
	uint32_t on; /* wanted, and a recording is under way */
};

const uint32_t spur_trace_new = 1;

static struct category categories[CATEGORIES];
static unsigned ncategories;
static bool all_wanted = true;

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

static void put_text(struct descriptor *d, const char *s)
{
	size_t len = strnlen(s, TEXT_MOST);

	/* Whole characters only. */
	if (len == TEXT_MOST)
		while (len && (s[len] & 0xC0) == 0x80)
			len--;
	put_bytes(d, s, len);
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
	catalog_len += d->len;
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

/* --- categories and points --- */

/* The category of that name; the last one stands for all that have no place. */
static struct category *category_get(const char *name)
{
	struct category *c;
	unsigned i;

	for (i = 0; i < ncategories; i++)
		if (strncmp(categories[i].name, name, CATEGORY_LEN - 1) == 0)
			return &categories[i];
	c = &categories[i < CATEGORIES ? i : CATEGORIES - 1];
	if (i == CATEGORIES)
		return c;
	ncategories++;
	strncpy(c->name, name, CATEGORY_LEN - 1);
	c->wanted = all_wanted;
	c->on = c->wanted && core_on;
	return c;
}

void core_categories_switch(void)
{
	for (unsigned i = 0; i < ncategories; i++) {
		struct category *const c = &categories[i];

		if (c->on != (c->wanted && core_on))
			seam_store32(&c->on, c->wanted && core_on);
	}
}

void core_categories_read(const char *list)
{
	char name[CATEGORY_LEN];

	all_wanted = !list;
	while (list && *list) {
		const size_t len = strcspn(list, ",");

		if (len && len < sizeof(name)) {
			memcpy(name, list, len);
			name[len] = '\0';
			category_get(name)->wanted = true;
		}
		list += len + (list[len] == ',');
	}
}

int spur_trace_enable(const char *category, bool on)
{
	struct category *c;

	if (strlen(category) >= CATEGORY_LEN)
		return ENAMETOOLONG;
	if (!core_enter())
		return EBUSY;
	c = category_get(category);
	c->wanted = on;
	seam_store32(&c->on, on && core_on);
	core_leave();
	return 0;
}

static void put_args(struct descriptor *d, const uint8_t *types, const char *const *names,
		     unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		put_number(d, types[i], 1);
		put_text(d, names[i]);
	}
}

uint32_t spur_trace_register(struct spur_trace_site *site)
{
	const uint64_t events = site->kind == SPB_SITE_SPAN ? 2 : 1; /* a span has an end too */
	uint32_t number = 0;
	struct descriptor d;
	struct category *c;

	if (!core_enter()) {
		core_lost(events);
		return 0;
	}
	c = category_get(site->category);
	if (!site->number && nsites + 1 < IDS) {
		descriptor_begin(&d, SPB_SITE);
		put_number(&d, nsites + 1, 4);
		put_number(&d, site->kind, 1);
		put_number(&d, site->nargs, 3);
		put_number(&d, site->line, 4);
		put_text(&d, site->category);
		put_text(&d, site->name);
		put_text(&d, site->file);
		put_args(&d, site->arg_types, site->arg_names, site->nargs);
		if (catalog_put(&d))
			seam_store32(&site->number, ++nsites);
	}
	if (site->number)
		seam_store_pointer(&site->on, &c->on);
	if (c->on)
		number = site->number;
	if (c->on && !number)
		core_file_lost(events);
	core_leave();
	return number;
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
