/* kernel_header and kallsyms. See kernhdr.h. */
#include "format/uftrace/kernhdr.h"

#include <string.h>

enum {
	PAGE_DEFAULT = 4096,
	PAGE_LEAST = 256,
	PAGE_MOST = 1 << 24,
	FORMATS_MAX = 1 << 16, /* ids have 16 bits */
	ARENA_MAX = 64 << 20, /* bytes that formats may take: a real kernel's need a few MiB */
};

/* ---- kernel_header */

/* The lines before the first block. What is missing keeps its default. */
static void parse_head(struct kernhdr *h, struct text text, const char *file, struct diag_log *diag)
{
	uint64_t page = PAGE_DEFAULT, size = 8;
	bool big = false, have_page = false, have_size = false, have_order = false;
	struct text rest = text, line;

	while (text_line(&rest, &line)) {
		if (text_skip(&line, "PAGE_SIZE:")) {
			line = text_trim(line);
			have_page = text_u64(&line, 10, &page) && page >= PAGE_LEAST &&
				    page <= PAGE_MOST;
		} else if (text_skip(&line, "LONG_SIZE:")) {
			line = text_trim(line);
			have_size = text_u64(&line, 10, &size) && (size == 4 || size == 8);
		} else if (text_skip(&line, "ENDIAN:")) {
			line = text_trim(line);
			big = text_is(line, "BE");
			have_order = big || text_is(line, "LE");
		}
	}
	if (text.p && (!have_page || !have_size || !have_order))
		diag_add(diag, DIAG_DAMAGE, "uftrace/bad-kernel-header", file, 0, 0,
			 "kernel_header: expected PAGE_SIZE, LONG_SIZE and ENDIAN, found no valid "
			 "%s; taking %d",
			 !have_page   ? "PAGE_SIZE"
			 : !have_size ? "LONG_SIZE"
				      : "ENDIAN (LE or BE)",
			 !have_page   ? PAGE_DEFAULT
			 : !have_size ? 8
				      : 0);
	h->abi = (struct trace_abi){ .long_size = have_size ? (uint8_t)size : 8,
				     .big_endian = big,
				     .swap = order_swaps(big) };
	h->layout = ring_layout_default(have_page ? (uint32_t)page : PAGE_DEFAULT, h->abi.long_size,
					big);
}

/* SPEC uftrace/header-page: where a page has its time, commit word and data */
static bool parse_header_page(struct kernhdr *h, struct arena *a, struct text text,
			      const char *file, uint64_t off, struct diag_log *diag)
{
	static const char head[] = "name: header_page\nID: 0\n";
	char *copy = arena_alloc(a, sizeof(head) + text.len);
	const struct trace_field *time, *commit, *data;
	struct ring_layout l = h->layout;
	struct spur_error err = { 0 };
	struct tracefmt f;

	if (!copy)
		return false;
	memcpy(copy, head, sizeof(head) - 1);
	memcpy(copy + sizeof(head) - 1, text.p, text.len);
	if (tracefmt_parse(&f, a, text_make(copy, sizeof(head) - 1 + text.len), "", h->abi, &err) ==
	    SPUR_FAIL)
		return err.code != SPUR_ERR_MEMORY;
	time = tracefmt_field(&f, "timestamp");
	commit = tracefmt_field(&f, "commit");
	data = tracefmt_field(&f, "data");
	if (time && commit && data) {
		l.time_off = time->off;
		l.commit_off = commit->off;
		l.commit_size = (uint8_t)commit->size;
		l.data_off = data->off;
	}
	if (!time || !commit || !data || time->size != 8 || commit->size > 8 ||
	    !ring_layout_valid(&l)) {
		diag_add(diag, DIAG_DAMAGE, "uftrace/bad-kernel-header", file, off, 0,
			 "header_page: expected timestamp, commit and data inside a page of %u "
			 "bytes, found others",
			 h->layout.page_size);
		return true;
	}
	h->layout = l;
	return true;
}

static bool add_format(struct kernhdr *h, struct arena *a, struct text system, struct text text,
		       const char *file, uint64_t off, struct diag_log *diag)
{
	struct tracefmt *f = arena_alloc(a, sizeof(*f));
	char *name = arena_strdup(a, system.p, system.len);
	struct spur_error err = { 0 };
	struct map64_slot *slot;
	enum spur_status status;

	if (!f || !name)
		return false;
	status = tracefmt_parse(f, a, text, name, h->abi, &err);
	if (status != SPUR_OK && err.code == SPUR_ERR_MEMORY)
		return false;
	if (status != SPUR_OK)
		diag_add(diag, status == SPUR_FAIL ? DIAG_DAMAGE : DIAG_WARN,
			 "uftrace/bad-event-format", file, off, 0, "%s", err.message);
	if (status == SPUR_FAIL)
		return true;
	if (map64_find(&h->by_id, f->id)) {
		diag_add(diag, DIAG_WARN, "uftrace/bad-event-format", file, off, 0,
			 "format: expected an id of its own, found %u again", f->id);
		return true;
	}
	if (!mem_grow((void **)&h->formats, &h->cap, h->nformats + 1, sizeof(*h->formats),
		      FORMATS_MAX))
		return false;
	slot = map64_put(&h->by_id, f->id);
	if (!slot)
		return false;
	slot->value = h->nformats;
	h->formats[h->nformats++] = f;
	return true;
}

/* One block: `NAME` as in `events/SYSTEM/EVENT/format`. */
static bool parse_block(struct kernhdr *h, struct arena *a, struct text name, struct text body,
			const char *file, uint64_t off, struct diag_log *diag)
{
	struct text path = name, system;

	if (text_is(name, "events/header_page"))
		return parse_header_page(h, a, body, file, off, diag);
	if (!text_skip(&path, "events/") || !text_split(&path, '/', &system) ||
	    text_search(path, "/format") < 0)
		return true;
	return add_format(h, a, system, body, file, off, diag);
}

/* `TRACEFS: NAME: LENGTH` */
static bool block_head(struct text line, struct text *name, uint64_t *len)
{
	ptrdiff_t colon;
	struct text n;

	*len = 0;
	if (!text_skip(&line, "TRACEFS: ") || (colon = text_rfind(line, ':')) < 0)
		return false;
	*name = text_make(line.p, (size_t)colon);
	n = text_trim(text_make(line.p + colon + 1, line.len - (size_t)colon - 1));
	return text_u64(&n, 10, len) && !n.len;
}

/* Bytes up to the next block: a wrong length costs no more than its own block. */
static size_t block_size(struct text rest)
{
	ptrdiff_t next = text_search(rest, "\nTRACEFS: ");

	if (text_starts(rest, "TRACEFS: "))
		return 0;
	return next < 0 ? rest.len : (size_t)next + 1;
}

/* The head; then the blocks, each of which says its length. */
bool kernhdr_parse(struct kernhdr *h, struct arena *a, struct text text, const char *file,
		   struct diag_log *diag)
{
	const size_t before = a->used;
	ptrdiff_t first = text_search(text, "TRACEFS: ");
	struct text rest = text, line, name;
	bool ok = true;
	uint64_t len;

	*h = (struct kernhdr){ 0 };
	parse_head(h, text_make(text.p, first < 0 ? text.len : (size_t)first), file, diag);
	if (text.p && first < 0)
		diag_add(diag, DIAG_DAMAGE, "uftrace/bad-kernel-header", file, text.len, 0,
			 "kernel_header: expected formats, found the end");
	if (first > 0)
		rest = text_make(text.p + first, text.len - (size_t)first);
	while (ok && first >= 0 && text_line(&rest, &line)) {
		const uint64_t off = (uint64_t)(line.p - text.p);
		const size_t there = block_size(rest);
		const bool head = block_head(line, &name, &len);
		const bool full = a->used - before > ARENA_MAX;

		if (full)
			diag_add(diag, DIAG_DAMAGE, "uftrace/bad-kernel-header", file, off,
				 line.len + there,
				 "kernel_header: expected less than 64 MiB of formats, found more");
		else if (!head || len != there)
			diag_add(diag, DIAG_DAMAGE, "uftrace/bad-kernel-header", file, off,
				 head ? 0 : line.len + there,
				 "kernel_header: expected `TRACEFS: NAME: LENGTH` and LENGTH "
				 "bytes, found %zu after "
				 "`%.*s`",
				 there, line.len < 80 ? (int)line.len : 80, line.p);
		if (head && !full)
			ok = parse_block(h, a, name, text_make(rest.p, there), file, off, diag);
		rest = text_make(rest.p + there, rest.len - there);
	}
	h->type = (struct field_ref){ .off = 0, .size = 2, .swap = h->abi.swap };
	h->pid = (struct field_ref){ .off = 4, .size = 4, .is_signed = true, .swap = h->abi.swap };
	for (size_t i = 0; i < h->nformats; i++) {
		struct field_ref type = tracefmt_ref(h->formats[i], "common_type");
		struct field_ref pid = tracefmt_ref(h->formats[i], "common_pid");

		if (!type.size || !pid.size)
			continue;
		h->type = type;
		h->pid = pid;
		break;
	}
	return ok;
}

void kernhdr_free(struct kernhdr *h)
{
	mem_free(h->formats);
	map64_free(&h->by_id);
	*h = (struct kernhdr){ 0 };
}

const struct tracefmt *kernhdr_format(const struct kernhdr *h, uint64_t id)
{
	const struct map64_slot *slot = map64_find(&h->by_id, id);

	return slot ? h->formats[slot->value] : NULL;
}

/* ---- kallsyms */

/* `ADDRESS TYPE NAME[<tab>[MODULE]]` */
static bool symbol_line(struct text line, uint64_t *addr, char *type, struct text *name)
{
	ptrdiff_t tab;

	if (!text_u64(&line, 16, addr) || line.len < 4 || line.p[0] != ' ' || line.p[2] != ' ')
		return false;
	*type = line.p[1];
	*name = text_make(line.p + 3, line.len - 3);
	tab = text_find(*name, '\t');
	if (tab >= 0)
		name->len = (size_t)tab;
	*name = text_trim(*name);
	return name->len > 0;
}

bool kallsyms_line_valid(struct text line)
{
	struct text name;
	uint64_t addr;
	char type;

	return symbol_line(line, &addr, &type, &name);
}

/* The rest of the name after the prefix; NULL if the name does not start with it. */
static const char *name_behind(struct text name, const char *prefix)
{
	return text_skip(&name, prefix) ? name.p : NULL;
}

/*
 * SPEC uftrace/kallsyms-alias: of lines with equal address and type the first holds, but the native
 * name of a system call replaces its 32-bit or old one; of different types the last holds.
 */
static bool better_alias(const char *have, struct text name)
{
	static const char *const pairs[][2] = { { "__ia32", "__x64" }, { "SyS_", "sys_" } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const char *a = name_behind(text_of(have), pairs[i][0]);
		const char *b = name_behind(name, pairs[i][1]);

		if (a && b)
			return text_is(text_make(b, name.len - (size_t)(b - name.p)), a);
	}
	return false;
}

bool kallsyms_parse(struct symtab *t, struct text text, const char *file, struct diag_log *diag)
{
	struct text rest = text, line;
	uint64_t hidden = 0;

	symtab_init(t);
	while (text_line(&rest, &line)) {
		struct symbol *last = t->count ? &t->syms[t->count - 1] : NULL;
		struct text name;
		uint64_t addr;
		char type;

		if (!line.len)
			continue;
		if (!symbol_line(line, &addr, &type, &name)) {
			diag_add(diag, DIAG_DAMAGE, "uftrace/bad-kallsyms-line", file,
				 (uint64_t)(line.p - text.p), line.len,
				 "kallsyms: expected `ADDRESS TYPE NAME`, found `%.*s`",
				 line.len < 80 ? (int)line.len : 80, line.p);
			continue;
		}
		hidden += !addr;
		if (!addr || !strchr("TtwPKd", type))
			continue;
		if (last && last->addr == addr) {
			if (last->type == type && !better_alias(last->name, name))
				continue;
			t->count--;
		}
		if (!symtab_add(t, addr, 0, type, name.p, name.len))
			return false;
	}
	if (hidden && !t->count)
		diag_add(diag, DIAG_NOTE, "uftrace/hidden-kallsyms", file, DIAG_NO_OFF, 0,
			 "kallsyms: the recording was not allowed to see addresses: kernel "
			 "functions have no names");
	symtab_sort(t);
	return true;
}
