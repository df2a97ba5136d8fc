/*
 * What CTF 1 says by names: fields of the packet header, the packet context and the event header,
 * and stream clocks.
 */
#include <string.h>

#include "format/ctf/meta/resolve.h"

struct reserved {
	const char *name;
	enum ctf_role role;
};

/* What the time stamps of one stream class are mapped to. */
struct clock_choice {
	struct ctf_clock *clock;
	bool several, unmapped;
};

static bool is_unsigned(const struct ctf_field *f)
{
	return f->kind == CTF_UINT;
}

static bool error_role(struct resolve *r, const struct ctf_field *root, const char *what)
{
	meta_error(r->m, r->err, SPUR_ERR_FORMAT, root->at, "%s", what);
	return false;
}

/* Gives a role to one member of a class that is the root's own. */
static bool role_set(struct resolve *r, struct ctf_field *f, uint32_t place, enum ctf_role role,
		     struct clock_choice *choice)
{
	struct ctf_field *member = resolve_own(r, &f->members[place].field);

	if (!member)
		return false;
	member->roles |= role;
	if (role != CTF_ROLE_TIMESTAMP && role != CTF_ROLE_END_TIMESTAMP)
		return true;
	choice->several |= member->clock && choice->clock && member->clock != choice->clock;
	choice->unmapped |= !member->clock;
	if (member->clock)
		choice->clock = member->clock;
	return true;
}

/* SPEC ctf-tsdl/role-type: a reserved name of another type is a field like others. */
static void said_other(struct resolve *r, const struct ctf_field *root, uint32_t place)
{
	const struct ctf_member *member = &root->members[place];
	const bool is_uuid = !strcmp(member->name, "uuid");

	meta_say(r->m, r->diag, DIAG_NOTE, "ctf/reserved-name", root->at,
		 "expected %s as `%s`, found %s; taken as any field",
		 is_uuid ? "an array of 16 bytes" : "an unsigned integer", member->name,
		 meta_kind_name(member->field->kind));
}

/* ---- the packet header */

static bool is_uuid(const struct ctf_field *f)
{
	return f->kind == CTF_ARRAY && f->length == 16 && f->element->kind == CTF_UINT &&
	       f->element->size == 8 && f->element->align <= 8;
}

/* SPEC ctf-tsdl/magic */
static bool check_magic(struct resolve *r, const struct ctf_field *root, uint32_t place)
{
	if (root->members[place].field->size != 32)
		return error_role(r, root, "expected `magic` of 32 bits, found another size");
	return !place ||
	       error_role(r, root, "expected `magic` first in the packet header, found it later");
}

bool resolve_header_roles(struct resolve *r)
{
	static const struct reserved names[] = {
		{ "magic", CTF_ROLE_MAGIC },
		{ "uuid", CTF_ROLE_UUID },
		{ "stream_id", CTF_ROLE_STREAM_CLASS_ID },
		{ "stream_instance_id", CTF_ROLE_STREAM_ID },
	};
	struct clock_choice unused = { 0 };
	struct ctf_field *root = NULL;
	bool has_id = false;

	/* SPEC ctf-tsdl/header-roles */
	if (r->m->packet_header && !(root = resolve_own(r, &r->m->packet_header)))
		return false;
	for (size_t i = 0; root && i < sizeof(names) / sizeof(names[0]); i++) {
		const uint32_t place = resolve_member(r, root, names[i].name);
		const struct ctf_field *f = place == UINT32_MAX ? NULL : root->members[place].field;
		const bool fits =
			f && (names[i].role == CTF_ROLE_UUID ? is_uuid(f) : is_unsigned(f));

		if (f && !fits)
			said_other(r, root, place);
		if (!fits)
			continue;
		if (names[i].role == CTF_ROLE_MAGIC && !check_magic(r, root, place))
			return false;
		if (!role_set(r, root, place, names[i].role, &unused))
			return false;
		has_id |= names[i].role == CTF_ROLE_STREAM_CLASS_ID;
	}
	/* SPEC ctf-tsdl/stream-id-needed */
	if (r->m->nstreams > 1 && !has_id) {
		meta_error(r->m, r->err, SPUR_ERR_FORMAT, r->m->streams[1]->at,
			   "expected `stream_id` in the packet header, as there are %zu streams, "
			   "found none",
			   r->m->nstreams);
		return false;
	}
	return true;
}

/* ---- the packet context */

static bool ends_with(const char *name, const char *end)
{
	const size_t n = strlen(name), k = strlen(end);

	return n >= k && !strcmp(name + n - k, end);
}

/* SPEC ctf-tsdl/context-roles; and clock fields whose names end in _begin and _end. 0: none. */
static uint32_t context_role(const struct ctf_member *member)
{
	static const struct reserved names[] = {
		{ "timestamp_begin", CTF_ROLE_TIMESTAMP },
		{ "timestamp_end", CTF_ROLE_END_TIMESTAMP },
		{ "content_size", CTF_ROLE_CONTENT_SIZE },
		{ "packet_size", CTF_ROLE_PACKET_SIZE },
		{ "events_discarded", CTF_ROLE_DISCARDED },
		{ "packet_seq_num", CTF_ROLE_SEQUENCE },
		{ "stream_packet_count", CTF_ROLE_SEQUENCE },
		{ "cpu_id", CTF_ROLE_CPU },
		{ "compression_scheme", CTF_ROLE_COMPRESSION },
		{ "encryption_scheme", CTF_ROLE_ENCRYPTION },
		{ "checksum", CTF_ROLE_CHECKSUM },
		{ "checksum_scheme", CTF_ROLE_CHECKSUM_SCHEME },
	};

	if (!member->name)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(member->name, names[i].name))
			return names[i].role;
	}
	if (member->field->clock && ends_with(member->name, "_begin"))
		return CTF_ROLE_TIMESTAMP;
	return member->field->clock && ends_with(member->name, "_end") ? CTF_ROLE_END_TIMESTAMP : 0;
}

static bool context_roles(struct resolve *r, struct ctf_field **slot, struct clock_choice *choice)
{
	struct ctf_field *root = resolve_own(r, slot);

	for (uint32_t i = 0; root && i < root->nmembers; i++) {
		const uint32_t role = context_role(&root->members[i]);
		const struct ctf_field *f = root->members[i].field;

		if (!role)
			continue;
		if (!is_unsigned(f) && !(role == CTF_ROLE_CPU && f->kind == CTF_SINT))
			said_other(r, root, i);
		else if (!role_set(r, root, i, (enum ctf_role)role, choice))
			return false;
	}
	return root != NULL;
}

/* ---- the event header */

static bool is_inside(const struct ctf_field *f)
{
	return f->kind == CTF_STRUCT || f->kind == CTF_VARIANT;
}

/* SPEC ctf-tsdl/event-roles: in structures and variants of the header too. 0: none. */
static uint32_t event_role(const struct ctf_member *member, bool any_clock)
{
	if (!is_unsigned(member->field))
		return 0;
	if (member->name && !strcmp(member->name, "id"))
		return CTF_ROLE_EVENT_CLASS_ID;
	if (member->name && !strcmp(member->name, "timestamp"))
		return CTF_ROLE_TIMESTAMP;
	return any_clock && member->field->clock ? CTF_ROLE_TIMESTAMP : 0;
}

/* The roles that fields of the class would get, as bits. */
static uint32_t event_roles_in(const struct ctf_field *f, bool any_clock)
{
	uint32_t roles = 0;

	for (uint32_t i = 0; is_inside(f) && i < f->nmembers; i++)
		roles |= event_role(&f->members[i], any_clock) |
			 event_roles_in(f->members[i].field, any_clock);
	return roles;
}

/* Recursion is as deep as the classes. */
static bool event_roles(struct resolve *r, struct ctf_field **slot, bool any_clock,
			struct clock_choice *choice)
{
	struct ctf_field *f;

	if (!event_roles_in(*slot, any_clock))
		return true;
	f = resolve_own(r, slot);
	for (uint32_t i = 0; f && i < f->nmembers; i++) {
		const uint32_t role = event_role(&f->members[i], any_clock);

		if (role ? !role_set(r, f, i, (enum ctf_role)role, choice)
			 : !event_roles(r, &f->members[i].field, any_clock, choice))
			return false;
	}
	return f != NULL;
}

static bool header_roles(struct resolve *r, struct ctf_stream_class *s, struct clock_choice *choice)
{
	const uint32_t roles = s->event_header ? event_roles_in(s->event_header, false) : 0;

	/* SPEC ctf-tsdl/event-id-needed */
	if (s->nevents > 1 && !(roles & CTF_ROLE_EVENT_CLASS_ID)) {
		meta_error(r->m, r->err, SPUR_ERR_FORMAT, s->events[1]->at,
			   "expected `id` in the event header of stream %llu, as it has %zu "
			   "events, found none",
			   (unsigned long long)s->id, s->nevents);
		return false;
	}
	/* Without a field of that name, whatever is mapped to a clock is the time. */
	return !s->event_header ||
	       event_roles(r, &s->event_header, !(roles & CTF_ROLE_TIMESTAMP), choice);
}

/* ---- clocks */

/*
 * SPEC ctf-tsdl/implicit-clock: time stamps without a clock count nanoseconds from an unknown
 * moment.
 */
static struct ctf_clock *implicit_clock(struct resolve *r)
{
	struct ctf_clock *c = arena_alloc(&r->m->arena, sizeof(*c));

	if (!c || !meta_add_clock(r->m, c)) {
		resolve_full(r);
		return NULL;
	}
	*c = (struct ctf_clock){ .id = "default", .hz = 1000000000, .implicit = true };
	c->precision = c->accuracy = UINT64_MAX;
	return c;
}

/* SPEC ctf-tsdl/stream-clock */
static bool choose_clock(struct resolve *r, struct ctf_stream_class *s,
			 const struct clock_choice *header, const struct clock_choice *context)
{
	s->clock = header->clock ? header->clock : context->clock;
	if (header->several || context->several || (context->clock && s->clock != context->clock))
		meta_say(r->m, r->diag, DIAG_WARN, "ctf/several-clocks", s->at,
			 "expected one clock for the time stamps of stream %llu, found several; "
			 "`%.80s` is taken",
			 (unsigned long long)s->id, s->clock->id);
	if (s->clock || (!header->unmapped && !context->unmapped))
		return true;
	if (r->m->nclocks > 1)
		meta_say(r->m, r->diag, DIAG_WARN, "ctf/several-clocks", s->at,
			 "expected time stamps of stream %llu that are mapped to one of %zu "
			 "clocks, found none; `%.80s` is taken",
			 (unsigned long long)s->id, r->m->nclocks, r->m->clocks[0]->id);
	s->clock = r->m->nclocks ? r->m->clocks[0] : implicit_clock(r);
	return s->clock != NULL;
}

bool resolve_stream_roles(struct resolve *r, struct ctf_stream_class *s)
{
	struct clock_choice header = { 0 }, context = { 0 };

	return (!s->packet_context || context_roles(r, &s->packet_context, &context)) &&
	       header_roles(r, s, &header) && choose_clock(r, s, &header, &context);
}
