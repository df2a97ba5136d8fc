/*
 * Entries of an instrumentation map, and its index, from the bytes of their sections: what ELF and
 * Mach-O have in common. Relocations are applied by the readers, as fixes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "format/xray/map_parts.h"

enum { MAX_SLEDS = 1 << 28, RELATIVE = 2 /* from this version on */ };

static size_t entry_size(const struct site_map *m)
{
	/* SPEC xray-names/entry: two words, kind, always, version, zeros up to 4 words */
	return 4 * (size_t)m->word;
}

bool map_fix_word(const struct site_map *m, struct map_part *p, uint64_t offset, struct map_fix fix)
{
	const size_t words = p->size / m->word;
	struct map_fix *to;

	if (offset % m->word || offset / m->word >= words)
		return true;
	if (!p->fixes && !(p->fixes = mem_array(words, sizeof(*p->fixes))))
		return false;
	to = &p->fixes[offset / m->word];
	/* Several that add to one word all count. */
	if (fix.how <= MAP_FIX_ADD || to->how == MAP_FIX_MORE)
		fix.value += to->value;
	if (fix.how == MAP_FIX_MORE && to->how != MAP_FIX_NONE)
		to->value = fix.value;
	else
		*to = fix;
	return true;
}

/* An address: the word at `offset`, which counts from its own place if it is relative. */
static uint64_t word_address(const struct site_map *m, const struct map_part *p, size_t offset,
			     bool relative, uint32_t *section)
{
	struct cursor c = cursor_make(p->data + offset, m->word, m->swap);
	uint64_t value = m->word == 8 ? cursor_u64(&c) : cursor_u32(&c);
	const struct map_fix *fix = p->fixes ? &p->fixes[offset / m->word] : NULL;

	*section = fix ? fix->section : 0;
	if (fix && fix->how == MAP_FIX_SET)
		value = fix->value;
	else if (fix)
		value += fix->value;
	/* SPEC xray-names/relative: from version 2 on an address is less by that of its field */
	if (relative && (!fix || fix->how < MAP_FIX_ADDRESS))
		value += p->address + offset;
	return m->word == 8 ? value : (uint32_t)value;
}

static void read_entry(struct site_map *m, const struct map_part *p, size_t at)
{
	struct cursor c = cursor_make(p->data + at, entry_size(m), m->swap);
	struct map_site *s = &m->sleds[m->count];
	uint32_t section;

	cursor_bytes(&c, 2 * (size_t)m->word);
	s->kind = cursor_u8(&c);
	s->always = cursor_u8(&c) != 0;
	s->version = cursor_u8(&c);
	s->address = word_address(m, p, at, s->version >= RELATIVE, &section);
	s->function = word_address(m, p, at + m->word, s->version >= RELATIVE, &section);
	if (m->sections)
		m->sections[m->count] = section;
	m->count++;
}

enum spur_status map_read_entries(struct site_map *m, const struct map_part *p,
				  struct spur_error *err)
{
	const size_t size = entry_size(m), n = p->size / size;

	if (n > MAX_SLEDS - m->count)
		return err_set(err, SPUR_ERR_LIMIT, "%s: expected at most %d sleds, found more",
			       m->path, MAX_SLEDS);
	if (!mem_grow((void **)&m->sleds, &m->cap, m->count + n, sizeof(*m->sleds), MAX_SLEDS) ||
	    (m->sections && !mem_grow((void **)&m->sections, &m->sections_cap, m->count + n,
				      sizeof(*m->sections), MAX_SLEDS)))
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		read_entry(m, p, i * size);
	if (p->size % size)
		map_say(m, "map: expected entries of %zu bytes, found %zu bytes more at its end",
			size, p->size % size);
	return SPUR_OK;
}

void map_number(struct site_map *m)
{
	uint32_t id = 0;

	for (size_t i = 0; i < m->count; i++) {
		/*
		 * SPEC xray-names/number: functions count from 1, a new one begins where the
		 * address changes
		 */
		if (!i || m->sleds[i].function != m->sleds[i - 1].function ||
		    (m->sections && m->sections[i] != m->sections[i - 1]))
			id++;
		m->sleds[i].id = id;
	}
}

/* The sleds that an entry of the index names. False: it names none of this map's. */
static bool index_range(const struct site_map *m, const struct map_part *entries,
			const struct map_part *index, size_t at, bool counted, size_t *first,
			size_t *n)
{
	const size_t size = entry_size(m);
	uint32_t section;
	const uint64_t begin = word_address(m, index, at, counted, &section) - entries->address;
	const uint64_t second = word_address(m, index, at + m->word, false, &section);

	if (begin > entries->size || begin % size)
		return false;
	*first = (size_t)(begin / size);
	if (counted) {
		*n = (size_t)second;
	} else {
		const uint64_t end = second - entries->address;

		if (end < begin || end % size)
			return false;
		*n = (size_t)((end - begin) / size);
	}
	return *n <= m->count - *first;
}

/* Fills ids (zeros so far) by the index; false where it does not name every sled once. */
static bool index_fits(const struct site_map *m, const struct map_part *entries,
		       const struct map_part *index, bool counted, uint32_t *ids)
{
	const size_t step = 2 * (size_t)m->word;
	size_t named = 0;

	if (index->size % step)
		return false;
	for (size_t i = 0; i < index->size / step; i++) {
		size_t first, n;

		if (!index_range(m, entries, index, i * step, counted, &first, &n))
			return false;
		/*
		 * Invariant: `named` sleds have an id, so all of this takes no more steps than
		 * there are sleds.
		 */
		for (size_t k = first; k < first + n; k++) {
			if (ids[k])
				return false;
			ids[k] = (uint32_t)(i + 1);
			named++;
		}
	}
	return named == m->count;
}

enum spur_status map_read_index(struct site_map *m, const struct map_part *entries,
				const struct map_part *index, struct spur_error *err)
{
	/*
	 * SPEC xray-names/index: a begin relative to its field and a count, in older files begin
	 * and end
	 */
	for (int counted = 1; counted >= 0; counted--) {
		uint32_t *ids = mem_array(m->count, sizeof(*ids));
		bool fits;

		if (!ids)
			return err_nomem(err);
		fits = index_fits(m, entries, index, counted, ids);
		for (size_t i = 0; fits && i < m->count; i++)
			m->sleds[i].id = ids[i];
		mem_free(ids);
		if (fits)
			return SPUR_OK;
	}
	map_say(m, "index (xray_fn_idx): expected every sled of the map once, found another order: "
		   "functions are numbered by the map alone");
	return SPUR_OK;
}
