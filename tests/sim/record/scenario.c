/*
 * Threads that record events. Compiled like the library: every access is a step of the machine. So
 * nothing that belongs to the test is kept here.
 */
#include "../../../record/board.h"
#include "../../../record/core.h"

#include "law.h"
#include "scenario.h"

const size_t sim_busy_at = offsetof(struct core_thread, busy);
const size_t sim_lost_at = offsetof(struct core_thread, lost);
const size_t sim_pinned_at = offsetof(struct core_thread, npinned);
const void *const sim_users = &core_users, *const sim_number = &core_session.number;
char *const sim_point_words = (char *)core_words;

_Static_assert(SIM_TLS_OWN + sizeof(struct core_thread) <= SIM_TLS, "SIM_TLS is too small");
_Static_assert(sizeof(struct spur_trace_place) <= SIM_TLS_OWN, "SIM_TLS_OWN is too small");

enum { PAIR_SIZE = 3 * SPB_WORD }; /* of the event that pair() records */

static struct scenario now;
static uint64_t forked_on; /* the fiber that forks */
static bool forked_inside; /* in a handler */

void scenario_set(const struct scenario *s)
{
	now = *s;
}

static void tick(void)
{
	const uint64_t n = law_tick();

	SPUR_TRACE_INSTANT("sim", "tick");
	law_recorded(n);
}

static void pair(void)
{
	const uint64_t n = law_event();

	SPUR_TRACE_INSTANT("sim", "pair", (U64, "n", n), (U64, "not", ~n));
	law_recorded(n);
}

static void text(void)
{
	const uint64_t n = law_event();
	const size_t len = (size_t)sim_random(64);
	char s[64];

	for (size_t i = 0; i < len; i++)
		s[i] = law_text(n, i);
	s[len] = '\0';
	SPUR_TRACE_INSTANT("sim", "text", (U64, "n", n), (TEXT, "text", s));
	law_recorded(n);
}

/* One of a few strings that all threads use, and that all may meet first. */
static uint64_t string(uint64_t n)
{
	char s[] = "string .";

	s[7] = law_text(n, 0);
	return spur_trace_string(s);
}

static void by_id(void)
{
	const uint64_t n = law_event();

	SPUR_TRACE_INSTANT("sim", "string", (U64, "n", n), (STRING, "text", string(n % 3)));
	law_recorded(n);
}

static void named(void)
{
	const uint64_t n = law_event();

	SPUR_TRACE_INSTANT_NAMED("sim", string(n % 3), (U64, "n", n), (U64, "not", ~n));
	law_recorded(n);
}

static void large(void)
{
	const uint64_t n = law_event();
	char s[SPUR_TRACE_TEXT_MAX + 1];

	for (size_t i = 0; i < SPUR_TRACE_TEXT_MAX; i++)
		s[i] = law_text(n, i);
	s[SPUR_TRACE_TEXT_MAX] = '\0';
	SPUR_TRACE_INSTANT("sim", "large", (U64, "n", n), (TEXT, "a", s), (TEXT, "b", s),
			   (TEXT, "c", s), (TEXT, "d", s), (TEXT, "e", s), (TEXT, "f", s),
			   (TEXT, "g", s));
	law_recorded(n);
}

static void fiber(void)
{
	const uint64_t id = sim_random(3);

	spur_trace_fiber(id);
	law_fiber(id);
}

static void record(void)
{
	if (now.fibers && !sim_random(3))
		fiber();
	if (now.strings && sim_random(3))
		sim_random(2) ? by_id() : named();
	else if (sim_random(16) < now.large)
		large();
	else if (sim_random(2))
		pair();
	else if (sim_random(2))
		tick();
	else
		text();
}

void scenario_writer(void)
{
	for (unsigned i = 0; i < now.events; i++)
		record();
}

static void start(void)
{
	const struct spur_trace_options options = {
		.mode = (enum spur_trace_mode)now.mode,
		.size = (uint64_t)now.chunks * SIM_CHUNK,
	};
	const int why = spur_trace_start_with("recording", &options);

	if (why && sim_now()->full_at == SIM_NEVER && sim_now()->map_fails_at == SIM_NEVER)
		sim_fail("the recording does not begin");
	if (!why)
		law_file();
	law_recording(!why);
}

/* Records events until the page has no room for another one. */
static void fill(void)
{
	large();
	while (spur_trace_here.end - spur_trace_here.at >= PAIR_SIZE)
		pair();
}

void scenario_gated(void)
{
	const unsigned thread = sim_current();

	for (unsigned i = 0; i < now.pages[thread]; i++)
		fill();
	if (now.begun[thread])
		pair();
	sim_gate();
	for (unsigned i = 0; i < now.behind[thread]; i++)
		if (now.ticks && i + 1 == now.behind[thread])
			tick();
		else
			now.strings ? by_id() : pair();
}

void scenario_gated_first(void)
{
	sim_gate();
	start();
	pair();
}

void scenario_ender(void)
{
	sim_gate();
	law_recording(false);
	spur_trace_stop();
}

void scenario_handler(void)
{
	if (now.strings && sim_random(2))
		sim_random(2) ? by_id() : named();
	else if (sim_random(2))
		pair();
	else
		tick();
}

void scenario_start(void)
{
	start();
}

void scenario_one(void)
{
	pair();
}

void scenario_first(void)
{
	start();
	scenario_writer();
}

void scenario_switcher(void)
{
	if (!law_is_recording())
		return;
	law_recording(false);
	spur_trace_stop();
	start();
}

void scenario_gated_switcher(void)
{
	sim_gate();
	scenario_switcher();
}

void scenario_pauser(void)
{
	if (!law_is_recording())
		return;
	law_recording(false);
	core_record(false);
	core_record(true);
	law_recording(true);
}

/* What src/recorder/switches.c does. Returns whether the list was taken soon enough. */
static bool tell(const char *list)
{
	uint8_t *const head = core_session.head;
	const uint32_t odd = seam_load32(head + SPB_LIST_NUMBER_AT) | 1;
	uint32_t *const control = (uint32_t *)(void *)(head + SPB_CONTROL_AT);

	law_told();
	seam_store32(head + SPB_LIST_NUMBER_AT, odd);
	seam_fence_threads();
	seam_copy(head + SPB_LIST_AT, list, strlen(list) + 1);
	seam_store32(head + SPB_LIST_NUMBER_AT, odd + 1);
	seam_add32(control, SPB_CONTROL_STEP);
	seam_wake(control, INT32_MAX);
	for (unsigned i = 0; i < now.list_steps; i++)
		if (seam_load32(head + SPB_LIST_TAKEN_AT) == odd + 1)
			return true;
	return false;
}

/* Whether points of the category are as the list says that was told last. */
static void expect_told(bool on)
{
	bool is_on;

	if (!core_enter())
		return;
	is_on = seam_load32(core_category_word("sim"));
	core_leave();
	if (is_on != on)
		sim_fail("a list was taken, and points do not follow it");
}

void scenario_lister(void)
{
	bool taken = false;

	if (!law_is_recording() || !core_enter())
		return;
	/* As a thread does whose whole time is due. */
	core_helper_start(false);
	core_leave();
	law_recording(false);
	for (unsigned i = 0; i < now.lists; i++) {
		taken = tell("none");
		if (taken)
			expect_told(false);
		taken = tell("all");
		if (taken)
			expect_told(true);
	}
	if (taken)
		law_recording(true);
}

void scenario_dump(void)
{
	unsigned n;
	int why;

	if (!law_may_dump())
		return;
	n = law_dump(scenario_lost);
	why = spur_trace_dump("dump");
	if (why && why != ENODATA)
		sim_fail("a dump fails");
	if (!why)
		sim_dumped(n);
}

/* --- sessions of several programs --- */

void scenario_find(void)
{
	core_helper_unwanted = now.no_helper;
	core_enter();
	core_system_find();
	core_leave();
}

/* What src/recorder/board.c does, of whose words it needs a few. */
static void words_set(struct board *b, uint32_t value)
{
	enum { WORDS = 2 };

	for (uint32_t page = 0; page < BOARD_PAGES; page++)
		for (size_t i = 0; i < WORDS; i++)
			if (!value || page != b->number % BOARD_TURNS)
				seam_store32((char *)b + (size_t)BOARD_PAGE * (1 + page) +
						     i * sizeof(uint32_t),
					     value);
}

/*
 * Returns false if the program may still be in the session before, or about to join it: what comes
 * until it has left that is not recorded.
 */
static bool session_begin(struct board *b)
{
	static const char directory[] = "recording";
	const bool early = sim_mutant() == SIM_BOARD_ON_FIRST;
	const uint64_t magic = BOARD_MAGIC, size = (uint64_t)now.chunks * SIM_CHUNK;
	bool watches;

	sim_session_set(true);
	words_set(b, 0);
	seam_store32(&b->on, 0);
	watches = sim_watches();
	if (early) {
		seam_copy(&b->magic, &magic, sizeof(magic));
		seam_store32(&b->number, b->number + 1);
		seam_store32(&b->on, 1);
		words_set(b, 1);
	}
	seam_store32(&b->change, b->change | !early);
	seam_copy(&b->magic, &magic, sizeof(magic));
	if (!early)
		seam_store32(&b->number, b->number + 1);
	seam_store32(&b->mode, now.mode);
	seam_copy(&b->size, &size, sizeof(size));
	seam_copy(b->directory, directory, sizeof(directory));
	seam_store32(&b->on, 1);
	seam_store32(&b->change, b->change + !early);
	words_set(b, 1);
	law_file();
	return watches;
}

void scenario_session(void)
{
	struct board *const b = sim_board();

	for (unsigned i = 0; i < now.sessions; i++) {
		const bool watches = session_begin(b);
		bool joined = false;

		for (unsigned k = 0; k < now.session_steps; k++) {
			if (!law_is_recording() && (watches || joined))
				law_recording(true);
			joined |= core_system_joined() == b->number;
			seam_fence();
		}
		law_recording(false);
		if (!joined)
			law_no_file();
		if (i % 2 == now.kills_session) {
			words_set(b, 0);
			seam_store32(&b->on, 0);
		}
		sim_session_set(false);
	}
}

void scenario_gated_session(void)
{
	sim_gate();
	scenario_session();
}

void scenario_snapshot(void)
{
	const bool on = seam_load(&core_session.number);
	const int fd = core_session.fd;
	unsigned n;

	/* The recording may have ended in between. */
	if (!law_may_dump() || !on || fd < 0)
		return;
	n = law_dump(scenario_lost);
	sim_snapshot(fd);
	sim_dumped(n);
}

void scenario_gated_snapshot(void)
{
	sim_gate();
	scenario_snapshot();
}

void scenario_gated_dump(void)
{
	sim_gate();
	scenario_dump();
}

/* In a child that was made in the middle of the library nothing is recorded. */
static void child_write(void)
{
	law_fiber(forked_on);
	/* A handler may come between the library's change of the fiber and the law's. */
	if (forked_inside)
		spur_trace_fiber(forked_on);
	if (core_abandoned)
		SPUR_TRACE_INSTANT("sim", "pair", (U64, "n", 0), (U64, "not", 0));
	else
		scenario_writer();
}

static void fork_writer(void)
{
	forked_on = law_fiber_now();
	forked_inside = sim_depth();
	sim_fork(child_write);
}

void scenario_forker(void)
{
	if (law_is_recording())
		fork_writer();
}

void scenario_forking_handler(void)
{
	if (law_is_recording() && sim_may_fork())
		fork_writer();
	else
		scenario_handler();
}

void scenario_last(void)
{
	spur_trace_stop();
}

uint64_t scenario_lost(void)
{
	uint64_t n = sim_sum(&core_unlisted_lost);

	/* Where no program is about to join a session, there is a file that counts. */
	if (!now.sessions)
		return 0;
	for (unsigned i = 0; i < SIM_THREADS; i++) {
		const char *const p = sim_thread_memory(i);
		struct core_thread t;

		if (!p)
			continue;
		memcpy(&t, p + SIM_TLS_OWN, sizeof(t));
		n += t.lost;
	}
	return n;
}
