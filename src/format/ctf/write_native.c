/*
 * Events of a CTF trace that are copied to the writer's output as they are: fields of whole bytes
 * at any byte, which refer to nothing but fields of the event.
 */
#include "format/ctf/head.h"
#include "format/ctf/write.h"
#include "format/ctf/write_meta.h"

struct check {
	bool json; /* the target's language */
	bool same; /* the source's is the same */
};

static bool is_identifier(const char *s)
{
	if (!s || !*s)
		return false;
	for (; *s; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		      (*s >= '0' && *s <= '9') || *s == '_'))
			return false;
	return true;
}

static bool ref_fits(const struct check *c, const struct ctf_ref *ref)
{
	if (ref->absolute ? ref->scope < CTF_SCOPE_EVENT_COMMON : !c->same && !c->json)
		return false;
	/* Of an absolute path in the other language, underscores are another thing. */
	if (ref->absolute && !c->same)
		return false;
	for (uint32_t i = 0; i < ref->nnames; i++)
		if (!ref->names[i])
			return false;
	return ref->nnames > 0;
}

static bool field_fits(const struct check *c, const struct ctf_field *f);

static bool members_fit(const struct check *c, const struct ctf_field *f)
{
	for (uint32_t i = 0; i < f->nmembers; i++) {
		const struct ctf_member *m = &f->members[i];

		if (!m->name || !m->shown || (!c->json && !is_identifier(m->shown)) ||
		    !field_fits(c, m->field))
			return false;
	}
	return true;
}

static bool number_fits(const struct check *c, const struct ctf_field *f)
{
	const bool bytes = f->size == 8 || f->size == 16 || f->size == 32 || f->size == 64;

	return bytes && f->align == 8 && !f->reversed && !f->unit && !f->roles && !f->clock &&
	       (c->same || c->json || !f->is_enum || f->nmappings);
}

/* Depth is bounded by META_DEPTH. */
static bool field_fits(const struct check *c, const struct ctf_field *f)
{
	switch ((enum ctf_kind)f->kind) {
	case CTF_UINT:
	case CTF_SINT:
	case CTF_BOOL:
		return number_fits(c, f);
	case CTF_FLOAT:
		return number_fits(c, f) && f->size > 8;
	case CTF_STRING:
		return f->encoding == CTF_UTF8 || f->encoding == CTF_ASCII;
	case CTF_STRING_STATIC:
	case CTF_BLOB_STATIC:
		return (f->encoding == CTF_UTF8 || f->encoding == CTF_ASCII) && !f->roles;
	case CTF_STRING_DYNAMIC:
	case CTF_BLOB_DYNAMIC:
		return (f->encoding == CTF_UTF8 || f->encoding == CTF_ASCII) &&
		       ref_fits(c, &f->ref);
	case CTF_STRUCT:
		return f->align <= 8 && members_fit(c, f);
	case CTF_ARRAY:
		return field_fits(c, f->element);
	case CTF_SEQUENCE:
		return !f->length_field && ref_fits(c, &f->ref) && field_fits(c, f->element);
	case CTF_VARIANT:
		return c->same && ref_fits(c, &f->ref) && members_fit(c, f);
	default:
		return false;
	}
}

bool cw_is_native(const struct cw *w, const struct ctf_class *k, const struct ctf_event_class *e)
{
	const struct ctf_meta *m = meta_of_class(w, k);
	const struct check c = { w->json, w->json == (m->generation == CTF_2) };
	const struct ctf_field *scopes[] = { k->class->event_common, e->specific, e->payload };

	if (m->generation == CTF_V11 || !k->usual || k->bits || k->needs_packet)
		return false;
	for (size_t i = 0; i < 3; i++)
		if (scopes[i] && !field_fits(&c, scopes[i]))
			return false;
	return true;
}

/* Bytes of a usual header, which begins at `p`, and the event's id. */
static uint32_t header_bytes(enum usual_header usual, const uint8_t *p, uint64_t len, uint32_t *id)
{
	const uint32_t at = usual == USUAL_LARGE ? 2 : 1;

	if (len < head_bytes(usual))
		return 0;
	if (head_id(usual, p, id))
		return head_bytes(usual);
	if (len < at + 12)
		return 0;
	*id = load32(p + at, order_swaps(false));
	return at + 12;
}

/*
 * Places of rows are those of bytes in the file where nothing was unpacked or put in order; of
 * several traces, one of a single process says so in its environment, which the output has only one
 * of.
 */
static bool file_copies(const struct ctf *c, const struct ctf_file *f)
{
	const struct ctf_trace *tr = &c->traces[f->trace];
	const struct ctf_class *k = &tr->classes[f->class];
	bool same = true;

	if (!k->usual || k->bits || f->unpacked || f->sibling || f->is_sibling ||
	    (c->ntraces > 1 && tr->pid >= 0))
		return false;
	for (size_t i = 0; same && i < f->npackets; i++)
		same = f->packets[i].off == f->packets[i].file_off;
	return same;
}

bool cw_natives(struct cw *w)
{
	const struct ctf *c = w->ctf;

	if (c->grow)
		return true;
	w->copies = mem_array(c->nfiles + 1, sizeof(*w->copies));
	for (size_t i = 0; w->copies && i < c->nfiles; i++)
		if (c->files[i].stream < c->nfiles)
			w->copies[c->files[i].stream] =
				c->files[i].stream == i && file_copies(c, &c->files[i]);
	return w->copies != NULL;
}

const struct ctf_file *cw_native_file(const struct cw *w, const struct spur_event *row)
{
	return w->copies && row->stream < w->ctf->nfiles && w->copies[row->stream]
		       ? &w->ctf->files[row->stream]
		       : NULL;
}

const uint8_t *cw_native_bytes(struct cw *w, const struct spur_event *row, uint64_t *len,
			       const struct ctf_class **of, const struct ctf_event_class **class)
{
	const struct ctf_file *f = cw_native_file(w, row);
	struct ctf_class *k;
	struct ctf_event *e;
	const uint8_t *p;
	uint32_t head, id;

	if (!f || row->len == UINT32_MAX || row->kind == SPUR_LOST || row->kind == SPUR_NATIVE ||
	    row->off >= f->source->size || row->len > f->source->size - row->off)
		return NULL;
	k = &w->ctf->traces[f->trace].classes[f->class];
	p = f->source->data + row->off;
	head = header_bytes((enum usual_header)k->usual, p, row->len, &id);
	e = head ? event_known(k, id) : NULL;
	if (head && !e)
		e = ctf_event(w->ctf, &w->ctf->traces[f->trace], k, id);
	if (!e)
		return NULL;
	*of = k;
	*class = e->class;
	*len = row->len - head;
	return p + head;
}
