/* See plan.h. */
#include "recorder/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/os.h"
#include "recorder/described.h"

enum { MOST = 1 << 24, ALIGN = 8 };

uint32_t plan_text(struct plan_builder *p, const char *text, size_t len)
{
	const size_t at = p->texts.len;

	if (!len)
		return 0;
	out_bytes(&p->texts, text, len);
	out_char(&p->texts, '\0');
	return (uint32_t)at;
}

/* --- modules --- */

static bool begins(const char *path, const char *prefix)
{
	const char *const slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}

/* The recorder's own libraries are left alone, whatever the rules say. */
static bool module_is_own(const char *path)
{
	return begins(path, "libspur-record.") || begins(path, "libspur-trace.");
}

/* The C library and the dynamic linker call others in ways that a recorder must not disturb. */
static bool module_is_basic(const char *path)
{
	return begins(path, "libc.so.") || begins(path, "ld-linux") || begins(path, "ld-musl") ||
	       begins(path, "libpthread.so.") || begins(path, "libdl.so.") ||
	       begins(path, "libgcc_s.so.");
}

/* --- functions --- */

static bool has_file(struct plan_builder *p, const struct binary_function *f)
{
	const char *file;
	unsigned line;

	return p->lines && f->address >= p->binary->file.base &&
	       dwarf_line(p->lines, f->address - p->binary->file.base, &file, &line) &&
	       rules_match_path(p->rules, RULE_FILE, file);
}

static bool is_wanted(struct plan_builder *p, const struct binary_function *f,
		      const struct rule_name *name)
{
	struct rules *const r = p->rules;

	/* What keeps snapshots is recorded whatever else is left out. */
	if (rules_match(r, RULE_KEEP, name))
		return true;
	return (!r->of[RULE_ONLY] || rules_match(r, RULE_ONLY, name)) &&
	       !rules_match(r, RULE_NOT, name) && f->size >= r->min_size &&
	       (!r->of[RULE_FILE] || has_file(p, f));
}

static struct plan_function *add_function(struct plan_builder *p)
{
	if (!mem_grow((void **)&p->functions, &p->functions_cap, p->nfunctions + 1,
		      sizeof(*p->functions), MOST))
		return NULL;
	return &p->functions[p->nfunctions++];
}

static bool add_point(struct plan_builder *p, const struct binary_point *point)
{
	if (!mem_grow((void **)&p->points, &p->points_cap, p->npoints + 1, sizeof(*p->points),
		      MOST))
		return false;
	p->points[p->npoints++] = (struct plan_point){ .address = point->address,
						       .function = (uint32_t)(p->nfunctions - 1),
						       .kind = point->kind,
						       .size = point->size };
	return true;
}

/* What has snapshots kept. Returns SPUR_FAIL, with the error set, if out of memory. */
static enum spur_status add_conditions(struct plan_builder *p, struct plan_function *made,
				       const struct rule_name *name, struct spur_error *err)
{
	struct rules *const r = p->rules;

	made->conditions = (uint32_t)p->nconditions;
	for (size_t i = 0; r->of[RULE_KEEP] && i < r->count; i++) {
		struct rule *const rule = &r->list[i];

		if (rule->what != RULE_KEEP || !rule_matches(rule, name) ||
		    made->nconditions == UINT16_MAX)
			continue;
		if (!mem_grow((void **)&p->conditions, &p->conditions_cap, p->nconditions + 1,
			      sizeof(*p->conditions), MOST))
			return err_nomem(err);
		p->conditions[p->nconditions++] = (struct plan_condition){
			.value = rule->value,
			.text = plan_text(p, rule->text, strlen(rule->text)),
			.when = rule->when,
		};
		made->nconditions++;
	}
	return SPUR_OK;
}

static enum spur_status choose_function(struct plan_builder *p, const struct binary_function *f,
					struct spur_error *err)
{
	const struct rule_name name = rules_name(&p->names, f->name ? f->name : "");
	const bool wanted = is_wanted(p, f, &name);
	uint32_t flags = rules_match(p->rules, RULE_ON, &name) ? PLAN_TRACE_ON : 0;
	struct plan_function *made;

	flags |= rules_match(p->rules, RULE_OFF, &name) ? PLAN_TRACE_OFF : 0;
	if (!wanted && !flags)
		return SPUR_OK;
	made = add_function(p);
	if (!made)
		return err_nomem(err);
	*made = (struct plan_function){ .address = f->address,
					.flags = flags | (wanted ? 0 : PLAN_HIDDEN) };
	for (uint32_t i = 0; i < f->npoints; i++)
		if (!add_point(p, &p->binary->points[f->point + i]))
			return err_nomem(err);
	if (wanted && add_conditions(p, made, &name, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return wanted ? plan_arguments(p, made, &name, f, err) : SPUR_OK;
}

/* --- library calls --- */

/* -F chooses library calls as it does functions; --library-calls adds others to these. */
static bool is_call_wanted(struct rules *r, const struct rule_name *name)
{
	/* What keeps snapshots is recorded whatever else is left out. */
	if (rules_match(r, RULE_KEEP, name))
		return true;
	if (rules_match(r, RULE_NOT, name))
		return false;
	return (!r->of[RULE_ONLY] && !r->of[RULE_LIBRARY]) || rules_match(r, RULE_ONLY, name) ||
	       rules_match(r, RULE_LIBRARY, name);
}

static enum spur_status choose_slot(struct plan_builder *p, const struct binary_slot *slot,
				    struct spur_error *err)
{
	const struct binary_point point = { slot->address, PLAN_SLOT, 8 };
	const struct rule_name name = rules_name(&p->names, slot->name);
	struct plan_function *made;

	if (!is_call_wanted(p->rules, &name))
		return SPUR_OK;
	made = add_function(p);
	if (!made || !add_point(p, &point))
		return err_nomem(err);
	*made = (struct plan_function){ .name = plan_text(p, slot->name, strlen(slot->name)) };
	if (add_conditions(p, made, &name, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return plan_arguments(p, made, &name, NULL, err);
}

static int by_name(const void *a, const void *b)
{
	const struct binary_slot *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* A function that several slots hold is one function of the plan. */
static enum spur_status choose_slots(struct plan_builder *p, struct spur_error *err)
{
	const struct binary *const b = p->binary;
	const struct binary_slot **order = mem_array(b->nslots, sizeof(struct binary_slot *));
	enum spur_status st = order ? SPUR_OK : err_nomem(err);
	bool chosen = false;

	for (size_t i = 0; order && i < b->nslots; i++)
		order[i] = &b->slots[i];
	if (order && b->nslots)
		qsort(order, b->nslots, sizeof(struct binary_slot *), by_name);
	for (size_t i = 0; st == SPUR_OK && i < b->nslots; i++) {
		const struct binary_point point = { order[i]->address, PLAN_SLOT, 8 };
		const size_t before = p->nfunctions;

		if (i && strcmp(order[i]->name, order[i - 1]->name) == 0) {
			if (chosen && !add_point(p, &point))
				st = err_nomem(err);
			continue;
		}
		st = choose_slot(p, order[i], err);
		chosen = p->nfunctions > before;
	}
	mem_free(order);
	return st;
}

static int by_address(const void *a, const void *b)
{
	const struct plan_point *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

enum spur_status plan_make(struct plan_builder *p, struct binary *b, struct rules *r,
			   bool is_main, const char *dirs, struct spur_error *err)
{
	const uint64_t failures = mem_failures();
	const bool named = r->of[RULE_MODULE] && rules_match_path(r, RULE_MODULE, b->path);
	enum spur_status st = SPUR_OK;

	*p = (struct plan_builder){ .binary = b, .rules = r, .dirs = dirs };
	r->asked = true;
	out_to_memory(&p->texts);
	out_to_memory(&p->names);
	out_char(&p->texts, '\0');
	if (module_is_own(b->path) || (r->of[RULE_MODULE] && !named))
		return SPUR_OK;
	if (r->of[RULE_FILE] && b->nfunctions &&
	    dwarf_open(&p->lines, b->path, dirs, NULL) == SPUR_FAIL)
		p->lines = NULL;
	for (size_t i = 0; st == SPUR_OK && i < b->nfunctions; i++)
		st = choose_function(p, &b->functions[i], err);
	if (st == SPUR_OK && r->library_calls && (is_main || named) && !module_is_basic(b->path)) {
		binary_check_slots(b);
		st = choose_slots(p, err);
	}
	if (st == SPUR_OK && p->npoints)
		qsort(p->points, p->npoints, sizeof(*p->points), by_address);
	if (st == SPUR_OK && (p->texts.error || mem_failures() != failures))
		st = err_nomem(err);
	return st;
}

void plan_free(struct plan_builder *p)
{
	mem_free(p->functions);
	mem_free(p->points);
	mem_free(p->args);
	mem_free(p->conditions);
	out_free(&p->texts);
	out_free(&p->names);
	dwarf_close(p->lines);
	described_close(p->described);
}

/* --- the file --- */

static uint32_t place(struct out *o, const void *items, size_t size)
{
	const size_t at = align_up(o->len, ALIGN);

	out_pad(o, '\0', at - o->len);
	if (size)
		out_bytes(o, items, size);
	return (uint32_t)at;
}

static int seal(const struct out *o, struct spur_error *err)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	const int fd = os_memfd_create("spur-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t done = 0;

	while (fd >= 0 && done < o->len) {
		const ssize_t n = os_write(fd, o->buf + done, o->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (fd >= 0 && done == o->len && os_fcntl(fd, F_ADD_SEALS, seals) == 0)
		return fd;
	err_set(err, SPUR_ERR_IO, "expected a file in memory for a plan, found: %s",
		strerror(errno));
	if (fd >= 0)
		os_close(fd);
	return -1;
}

int plan_write(struct plan_builder *p, struct spur_error *err)
{
	struct plan_head head = { .magic = PLAN_MAGIC, .listed = p->binary->nfunctions > 0 };
	struct out o;
	int fd = -1;

	out_to_memory(&o);
	out_bytes(&o, &head, sizeof(head));
	head.nfunctions = (uint32_t)p->nfunctions;
	head.functions = place(&o, p->functions, p->nfunctions * sizeof(*p->functions));
	head.npoints = (uint32_t)p->npoints;
	head.points = place(&o, p->points, p->npoints * sizeof(*p->points));
	head.nargs = (uint32_t)p->nargs;
	head.args = place(&o, p->args, p->nargs * sizeof(*p->args));
	head.ntexts = (uint32_t)p->texts.len;
	head.texts = place(&o, p->texts.buf, p->texts.len);
	head.nconditions = (uint32_t)p->nconditions;
	head.conditions = place(&o, p->conditions, p->nconditions * sizeof(*p->conditions));
	head.size = o.len;
	if (o.error || o.len > UINT32_MAX) {
		err_nomem(err);
	} else {
		memcpy(o.buf, &head, sizeof(head));
		fd = seal(&o, err);
	}
	out_free(&o);
	return fd;
}
