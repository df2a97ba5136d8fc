/*
 * Categories: which of them are on. The program chooses, a session may list others, and another
 * process may tell a list while the recording goes on (SPEC spur/list), which then counts alone.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum { CATEGORIES = 256, CATEGORY_LEN = 64 };

struct category {
	char name[CATEGORY_LEN];
	bool wanted; /* by the program */
	bool listed; /* by the session */
	bool told; /* by another process */
};

_Static_assert((int)CATEGORIES <= (int)SEAM_WORDS, "each category has a word");

static struct category categories[CATEGORIES];
static unsigned ncategories;
static bool all_wanted = true;
static bool list_counts; /* what the session lists, not what is wanted */
static char listed[CATEGORIES * CATEGORY_LEN];

/* What another process has told, which counts before all else unless it is "default". */
static enum { TOLD_DEFAULT, TOLD_ALL, TOLD_LIST } told;
static char told_list[SPB_LIST_SIZE];
static uint32_t taken; /* number of the list that was taken from the header; 0: of none */

/* Points of the category test this word. */
static uint32_t *category_word(const struct category *c)
{
	return &core_words[c - categories];
}

static void category_switch(const struct category *c)
{
	const bool chosen = list_counts ? c->listed : c->wanted;
	const uint32_t on = core_on && (told == TOLD_DEFAULT ? chosen : c->told);

	if (!core_watching && *category_word(c) != on)
		seam_store32(category_word(c), on);
}

static bool is_in_list(const char *name, const char *list)
{
	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (strlen(name) == len && memcmp(name, list, len) == 0)
			return true;
	}
	return false;
}

static bool is_told(const char *name)
{
	return told == TOLD_ALL || is_in_list(name, told_list);
}

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
	c->listed = is_in_list(c->name, listed);
	c->told = is_told(c->name);
	category_switch(c);
	return c;
}

uint32_t *core_category_word(const char *name)
{
	return category_word(category_get(name));
}

void core_categories_switch(void)
{
	for (unsigned i = 0; i < ncategories; i++)
		category_switch(&categories[i]);
}

bool core_categories_limited(void)
{
	if (told != TOLD_DEFAULT)
		return told == TOLD_LIST;
	if (list_counts || !all_wanted)
		return true;
	for (unsigned i = 0; i < ncategories; i++)
		if (!categories[i].wanted)
			return true;
	return false;
}

void core_categories_list(const char *list)
{
	list_counts = list;
	strncpy(listed, list ? list : "", sizeof(listed) - 1);
	for (unsigned i = 0; i < ncategories; i++)
		categories[i].listed = is_in_list(categories[i].name, listed);
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

/* --- what another process tells: SPEC spur/list --- */

/* Takes a list, which is ended by NUL or a line feed. */
static void told_take(const char *list)
{
	const size_t len = strcspn(list, "\n");

	memcpy(told_list, list, len);
	told_list[len] = '\0';
	told = strcmp(told_list, SPB_LIST_DEFAULT) == 0 ? TOLD_DEFAULT
	       : strcmp(told_list, SPB_LIST_ALL) == 0	? TOLD_ALL
							: TOLD_LIST;
	if (told != TOLD_LIST || strcmp(told_list, SPB_LIST_NONE) == 0)
		told_list[0] = '\0';
	for (unsigned i = 0; i < ncategories; i++)
		categories[i].told = is_told(categories[i].name);
}

void core_told_begin(void)
{
	static char path[CORE_PATH + sizeof(SPB_LIST_NAME) + 1], list[SPB_LIST_SIZE];

	strcpy(stpcpy(stpcpy(path, core_directory), "/"), SPB_LIST_NAME);
	seam_store32(&taken, 0);
	told_take(core_file_read(path, list, sizeof(list)) ? list : SPB_LIST_DEFAULT);
}

bool core_is_told(const uint8_t *head)
{
	const uint32_t number = seam_load32(head + SPB_LIST_NUMBER_AT);

	return number != seam_load32(&taken) && !(number & 1);
}

bool core_told_look(void)
{
	static char list[SPB_LIST_SIZE];
	const uint8_t *const head = core_session.head;
	const uint32_t number = seam_load32(head + SPB_LIST_NUMBER_AT);

	if (number == taken || number & 1)
		return false;
	seam_copy(list, head + SPB_LIST_AT, sizeof(list) - 1);
	seam_fence_threads();
	/* If the list is being replaced, the process that does so wakes the helper again. */
	if (seam_load32(head + SPB_LIST_NUMBER_AT) != number)
		return false;
	told_take(list);
	seam_store32(&taken, number);
	return true;
}

/* --- what the recording says of it --- */

static const char *const state_names[] = { "list" };
static const uint8_t state_types[] = { SPB_TEXT };
static struct spur_trace_site state_site = { .kind = SPB_SITE_INSTANT,
					     .nargs = 1,
					     .category = "spur",
					     .name = "categories",
					     .file = "",
					     .arg_names = state_names,
					     .arg_types = state_types };

/* No more is stored into the chunk; the room behind what it has is given back. */
static void stated_close(void)
{
	struct core_session *const s = &core_session;
	const size_t used = (size_t)(s->stated - s->stated_chunk);

	core_chunk_close(s->stated_chunk);
	seam_unmap(s->stated_chunk, SPB_CHUNK_SIZE);
	if (used <= SPB_CHUNK_SIZE - SPB_PAGE)
		core_chunk_punch(s->stated_number, used);
	s->stated = s->stated_chunk = NULL;
}

/* A page with room for records of that size. Returns false if none is to be had. */
static bool stated_room(size_t size)
{
	struct core_session *const s = &core_session;
	struct core_chunk c;

	if (s->stated && (size_t)(s->stated - s->stated_chunk) % SPB_PAGE + size > SPB_PAGE)
		s->stated += SPB_PAGE - (size_t)(s->stated - s->stated_chunk) % SPB_PAGE;
	if (s->stated && s->stated + size <= s->stated_chunk + SPB_CHUNK_SIZE)
		return true;
	if (s->stated)
		stated_close();
	if (!s->stated_thread) {
		if (!core_describe_track(s->nthreads + 1, "categories"))
			return false;
		s->stated_thread = ++s->nthreads;
	}
	c = core_chunk_take(false, false);
	if (!c.p)
		return false;
	core_chunk_open(c.p, core_clock_moment(), s->stated_thread);
	s->stated_chunk = c.p;
	s->stated_number = c.number;
	s->stated = c.p + SPB_CHUNK_HEAD;
	return true;
}

/*
 * States the switch as an instant, on a track of its own, as the helper is no thread that records.
 * A TIME record comes before it, as switches may be far apart. A oneshot has no room to spare.
 */
static void told_state(const char *list)
{
	const uint64_t ticks = core_clock_ticks();
	const uint16_t len = (uint16_t)strlen(list);
	const uint64_t words = (2 + (uint64_t)len + SPB_WORD - 1) / SPB_WORD;
	char *at;

	if (core_options.mode == SPUR_TRACE_ONESHOT)
		return;
	if (!state_site.number)
		state_site.number = core_describe_site(&state_site);
	/* A long list has its number of words in a word of its own. */
	if (!state_site.number || !stated_room((4 + words) * SPB_WORD))
		return;
	at = core_session.stated;
	spur_trace_commit(at, SPB_PAD, 1, 0, ticks);
	seam_fence();
	seam_copy(at + SPB_WORD, &ticks, SPB_WORD);
	spur_trace_commit(at, SPB_TIME, 1, 0, ticks);
	at += 2 * SPB_WORD;
	spur_trace_store(at, SPB_RESERVED | (words < SPB_LENGTH_FAR ? words : SPB_LENGTH_FAR) << 4 |
				     words << 32);
	seam_fence();
	core_session.stated = at + (1 + words) * SPB_WORD;
	if (words >= SPB_LENGTH_FAR) {
		seam_copy(at + SPB_WORD, &words, SPB_WORD);
		core_session.stated += SPB_WORD;
	}
	seam_copy(core_session.stated - words * SPB_WORD, &len, sizeof(len));
	seam_copy(core_session.stated - words * SPB_WORD + sizeof(len), list, len);
	spur_trace_commit(at, SPB_EVENT,
			  (uint32_t)(words < SPB_LENGTH_FAR ? words : SPB_LENGTH_FAR),
			  state_site.number, ticks);
}

void core_told_answer(void)
{
	told_state(told == TOLD_ALL	  ? SPB_LIST_ALL
		   : told == TOLD_DEFAULT ? SPB_LIST_DEFAULT
		   : *told_list		  ? told_list
					  : SPB_LIST_NONE);
	seam_store32(core_session.head + SPB_LIST_TAKEN_AT, taken);
}

void core_told_end(void)
{
	if (core_session.stated)
		stated_close();
}

/* --- what programs call --- */

int spur_trace_enable(const char *category, bool on)
{
	struct category *c;

	if (strlen(category) >= CATEGORY_LEN)
		return ENAMETOOLONG;
	if (!core_enter())
		return EBUSY;
	c = category_get(category);
	c->wanted = on;
	category_switch(c);
	core_leave();
	return 0;
}
