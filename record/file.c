/* The file of a recording: its header, its chunks, and where it begins and ends. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum {
	FILE_MODE = 0600,
	CHUNKS_MOST = 1 << 30,
	SIZE_USUAL = 64 << 20,
};

CORE_HERE struct core_session core_session = { .fd = -1 };
CORE_HERE uint32_t core_users;
CORE_HERE bool core_abandoned;
CORE_HERE uint32_t core_refused;
CORE_HERE char core_directory[CORE_PATH];
CORE_HERE struct spur_trace_options core_options;
static char file_path[CORE_FILE_PATH];
static uint64_t sessions; /* so far */

size_t core_file_read(const char *path, char *buf, size_t size)
{
	const int fd = seam_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t got = fd < 0 ? -1 : seam_read(fd, buf, size - 1);

	if (fd >= 0)
		seam_close(fd);
	got = got < 0 ? 0 : got;
	buf[got] = '\0';
	return (size_t)got;
}

/* --- the descriptor --- */

static bool file_is_ours(int fd)
{
	uint64_t id[2] = { 0, 0 };
	const int why = fd < 0 ? EBADF : seam_identity(fd, id);

	if (why && why != EBADF)
		seam_store32(&core_refused, (uint32_t)why);
	return !why && id[0] == core_session.id[0] && id[1] == core_session.id[1];
}

bool core_file_is_open(void)
{
	return file_is_ours(core_session.fd);
}

int core_file_open(void)
{
	int fd = core_session.fd;

	if (file_is_ours(fd))
		return fd;
	fd = seam_reopen(file_path);
	if (fd < 0 || file_is_ours(fd))
		return fd;
	seam_shut(fd);
	return -EBADF;
}

void core_file_close(int fd)
{
	if (fd >= 0 && fd != core_session.fd)
		seam_shut(fd);
}

/* --- chunks --- */

static uint64_t chunk_offset(uint32_t number)
{
	return SPB_HEADER + (uint64_t)number * SPB_CHUNK_SIZE;
}

bool core_chunk_number(uint32_t *next)
{
	if (seam_load32(&core_session.next) >= core_session.most)
		return false;
	*next = seam_add32(&core_session.next, 1) + 1;
	return true;
}

char *core_chunk_map(uint32_t number, bool touch)
{
	const int fd = core_file_open();
	char *p = NULL;

	if (fd >= 0 && seam_allocate(fd, chunk_offset(number), SPB_CHUNK_SIZE) == 0)
		p = seam_map(fd, chunk_offset(number), SPB_CHUNK_SIZE, touch);
	core_file_close(fd);
	return p;
}

/* Makes a chunk here and now. With `unlocked`, others have the lock meanwhile. */
static char *chunk_make(uint32_t *number, bool unlocked, bool touch)
{
	struct core_session *const s = &core_session;
	const uint64_t session = s->number;
	uint32_t next;
	char *p = NULL;

	if (unlocked) {
		seam_add32(&core_users, 1);
		core_unlock();
	}
	if (core_chunk_number(&next)) {
		*number = next - 1;
		p = core_chunk_map(*number, touch);
		/* Without room, the number is the next one's, unless others went on. */
		if (!p)
			seam_cas32(&s->next, next, next - 1);
	}
	if (unlocked) {
		seam_add32(&core_users, UINT32_MAX);
		core_lock();
		if (s->number != session && p) {
			seam_unmap(p, SPB_CHUNK_SIZE);
			return NULL;
		}
	}
	return p;
}

struct core_chunk core_chunk_take(bool unlocked, bool touch)
{
	struct core_session *const s = &core_session;
	const uint64_t session = s->number;
	struct core_chunk c;

	if (s->ask_at && seam_clock(CLOCK_MONOTONIC) < s->ask_at)
		return (struct core_chunk){ NULL, 0 };
	c.p = core_helper_chunk(&c.number);
	if (!c.p)
		c.p = chunk_make(&c.number, unlocked, touch);
	if (!c.p) {
		if (s->number == session)
			s->ask_at = seam_clock(CLOCK_MONOTONIC) + SEAM_ASK_NS;
		return c;
	}
	s->ask_at = 0;
	if (c.number >= s->used)
		s->used = c.number + 1;
	return c;
}

void core_chunk_open(char *p, struct core_moment opened, uint32_t thread)
{
	const uint32_t magic = SPB_CHUNK_MAGIC;
	const uint16_t kinds[] = { thread ? SPB_CHUNK_RECORDS : SPB_CHUNK_DESCRIPTORS, SPB_OPEN };

	seam_copy(p, &magic, sizeof(magic));
	seam_copy(p + SPB_KIND_AT, kinds, sizeof(kinds));
	seam_copy(p + SPB_OPEN_AT, &opened, sizeof(opened));
	if (thread) {
		const uint32_t ids[] = { seam_tid(), thread };

		seam_copy(p + SPB_TID_AT, ids, sizeof(ids));
	}
	seam_store(core_session.head + SPB_TAKEN_AT, ++core_session.sequence);
	seam_store(p + SPB_SEQUENCE_AT, core_session.sequence);
	/* A chunk without a head that has something is one whose head was lost. */
	seam_fence();
}

void core_chunk_close(char *p)
{
	const struct core_moment closed = core_clock_moment();
	const uint16_t state = SPB_FULL;

	seam_store(p + SPB_CLOSE_AT + 8, closed.mono);
	seam_store(p + SPB_CLOSE_AT, closed.ticks);
	seam_copy(p + SPB_STATE_AT, &state, sizeof(state));
}

/*
 * SPEC spur/reuse: the sequence number is 0 while the chunk is wiped, and the magic stays, so that
 * a reader skips it whenever the process ends.
 */
void core_chunk_wipe(char *p)
{
	seam_store(p + SPB_SEQUENCE_AT, 0);
	seam_fence_threads();
	seam_wipe(p + SPB_TID_AT, SPB_CHUNK_SIZE - SPB_TID_AT);
}

/* The simulator takes no step at each of these accesses, and no sanitizer knows the helper. */
#define NOT_TRACED __attribute__((no_sanitize("thread")))

typedef uint32_t lanes __attribute__((vector_size(16), may_alias));

/*
 * True if no word can be the first one of an incomplete record: the lower half of each is other
 * than that. `n`: vectors, four of which are looked at together.
 */
NOT_TRACED static bool words_complete(const void *p, size_t n)
{
	const lanes *const v = p;
	lanes bad[4] = { { 0 } };

	for (size_t i = 0; i < n; i += 4)
		for (size_t k = 0; k < 4; k++)
			bad[k] |= (lanes)(v[i + k] == 0) | (lanes)((v[i + k] & 15) == SPB_RESERVED);
	bad[0] |= bad[1] | bad[2] | bad[3];
	return !(bad[0][0] | bad[0][2]);
}

/* The records of a page, one after the other. */
NOT_TRACED static bool page_complete(const uint64_t *p, const uint64_t *end)
{
	while (p < end) {
		const uint64_t words = *p >> 4 & 15;

		if (!*p || (*p & 15) == SPB_RESERVED)
			return false;
		if (words < SPB_LENGTH_FAR)
			p += 1 + words;
		else if (p + 1 < end)
			p += 2 + (uint32_t)p[1];
		else
			return false;
	}
	return true;
}

bool core_chunk_complete(struct core_left l)
{
	for (const char *page = l.chunk; page < l.end; page += SPB_PAGE) {
		const bool whole = l.end - page >= SPB_PAGE;
		const char *const begin = page == l.chunk ? page + SPB_CHUNK_HEAD : page;
		const char *const end = whole ? page + SPB_PAGE : l.end;

		if (!(whole && words_complete(begin, (size_t)(end - begin) / sizeof(lanes))) &&
		    !page_complete((const void *)begin, (const void *)end))
			return false;
	}
	return true;
}

char *core_chunk_again(uint32_t number)
{
	char *const p = core_chunk_map(number, true);

	if (p)
		core_chunk_wipe(p);
	return p;
}

void core_chunk_punch(uint32_t number, size_t used)
{
	const size_t pages = (used + SPB_PAGE - 1) / SPB_PAGE * SPB_PAGE;
	const int fd = core_file_open();

	if (fd >= 0)
		seam_punch(fd, chunk_offset(number) + pages, SPB_CHUNK_SIZE - pages);
	core_file_close(fd);
}

void core_chunk_trim(uint32_t number, size_t used)
{
	if (used > SPB_CHUNK_SIZE - SPB_PAGE)
		return;
	seam_add32(&core_users, 1);
	core_unlock();
	core_chunk_punch(number, used);
	seam_add32(&core_users, UINT32_MAX);
	core_lock();
}

bool core_file_put(const char *d, uint32_t size)
{
	struct core_session *const s = &core_session;
	char *p;

	while (!s->page || s->page + size > s->page_end) {
		if (s->page && s->page_end < s->chunk_end) {
			s->page = s->page_end;
			s->page_end += SPB_PAGE;
			continue;
		}
		p = core_chunk_take(false, false).p;
		if (!p)
			return false;
		if (s->chunk_end) {
			core_chunk_close(s->chunk_end - SPB_CHUNK_SIZE);
			seam_unmap(s->chunk_end - SPB_CHUNK_SIZE, SPB_CHUNK_SIZE);
		}
		core_chunk_open(p, core_clock_moment(), 0);
		s->page = p + SPB_CHUNK_HEAD;
		s->page_end = p + SPB_PAGE;
		s->chunk_end = p + SPB_CHUNK_SIZE;
	}
	seam_copy(s->page + 4, d + 4, size - 4);
	seam_store32(s->page, size);
	s->page += size;
	return true;
}

void core_file_lost(uint64_t n)
{
	if (core_session.number)
		seam_add((uint64_t *)(void *)(core_session.head + SPB_LOST_AT), n);
}

/* --- the header --- */

/* The start of this process in clock ticks since boot: field 22 of its line. */
static uint64_t start_time(void)
{
	char line[1024], *p;
	uint64_t v = 0;

	core_file_read("/proc/self/stat", line, sizeof(line));
	p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p + 1, ' ');
		if (!p)
			return 0;
	}
	for (p = p ? p + 1 : line; *p >= '0' && *p <= '9'; p++)
		v = 10 * v + (uint64_t)(*p - '0');
	return v;
}

char *core_decimal(char *p, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

/* SPEC spur/recording: opens PID-STARTTIME.spb, or PID-STARTTIME-N.spb if that exists. */
int core_file_create(const char *dir, char path[CORE_FILE_PATH])
{
	char *p;
	const uint64_t start = start_time();
	int fd = -1;

	for (uint64_t n = 0; n < 1000; n++) {
		p = stpcpy(path, dir);
		*p++ = '/';
		p = core_decimal(p, seam_pid());
		*p++ = '-';
		p = core_decimal(p, start);
		if (n) {
			*p++ = '-';
			p = core_decimal(p, n);
		}
		strcpy(p, ".spb");
		fd = seam_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

static unsigned hex_digit(char c)
{
	return c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
}

static void boot_read(uint8_t *to)
{
	char id[64];
	unsigned n = 0;

	core_file_read("/proc/sys/kernel/random/boot_id", id, sizeof(id));
	for (const char *p = id; *p && *p != '\n' && n < 2 * SPB_BOOT_SIZE; p++)
		if (*p != '-') {
			to[n / 2] = (uint8_t)((unsigned)to[n / 2] << 4 | hex_digit(*p));
			n++;
		}
}

static void head_fill(uint8_t *h)
{
	const uint64_t start = start_time();
	const struct core_pair begin = core_clock_pair();
	const uint64_t hz = core_clock_hz();
	const uint32_t words[] = { SPB_CHUNK_SIZE, (uint32_t)core_options.mode, seam_pid(),
				   seam_parent() };
	const uint32_t clock[] = { spur_trace_tsc[0] ? SPB_CLOCK_TSC : SPB_CLOCK_MONOTONIC,
				   SPB_CONTROL_ON };

	seam_copy(h + SPB_CHUNK_SIZE_AT, words, sizeof(words));
	seam_copy(h + SPB_START_TIME_AT, &start, sizeof(start));
	/* SPEC spur/control: on at first. */
	seam_copy(h + SPB_CLOCK_AT, clock, sizeof(clock));
	seam_copy(h + SPB_HZ_AT, &hz, sizeof(hz));
	core_clock_learns = !hz;
	seam_copy(h + SPB_BEGIN_AT, &begin, sizeof(begin));
	boot_read(h + SPB_BOOT_AT);
	if (seam_readlink("/proc/self/exe", (char *)h + SPB_PROGRAM_AT,
			  SPB_ARGUMENTS_AT - SPB_PROGRAM_AT - 1) < 0)
		h[SPB_PROGRAM_AT] = 0;
	core_file_read("/proc/self/cmdline", (char *)h + SPB_ARGUMENTS_AT,
		       SPB_LIST_AT - SPB_ARGUMENTS_AT);
	seam_store(h, SPB_MAGIC);
}

/* --- begin and end --- */

/* Has the header say whether something is off. */
static void listening_say(bool limited)
{
	uint32_t *const word = (uint32_t *)(void *)(core_session.head + SPB_LISTENING_AT);

	if (!(seam_load32(word) & SPB_LIMITED) == limited)
		seam_set32(word, SPB_LIMITED, limited);
}

void core_switch(void)
{
	const uint8_t *const control = core_session.head + SPB_CONTROL_AT;
	const uint32_t on = core_session.number && seam_load32(control) & SPB_CONTROL_ON ? 1 : 0;
	const bool has_list = core_session.number && core_told_look();
	const bool limited = core_session.number && (!on || core_categories_limited());

	if (on != core_on)
		seam_store32(&core_on, on);
	core_categories_switch();
	if (has_list)
		core_told_answer();
	if (core_session.number)
		listening_say(limited);
	/* What is off never comes here, so only a thread that listens can switch it on. */
	if (limited)
		core_helper_start(false);
}

/* `other`: off if the recording is on, and on if it is off; else as `on` says. */
static void record_set(bool other, bool on)
{
	const uint64_t signals = seam_signals_block();
	uint32_t *control;

	core_look_orphan();
	seam_add32(&core_users, 1);
	seam_fence_threads();
	if (seam_load(&core_session.number)) {
		control = (uint32_t *)(void *)(core_session.head + SPB_CONTROL_AT);
		if (other)
			on = !(seam_load32(control) & SPB_CONTROL_ON);
		seam_set32(control, SPB_CONTROL_ON, on);
		seam_wake(control, INT32_MAX);
	}
	seam_add32(&core_users, UINT32_MAX);
	if (core_enter()) {
		core_switch();
		core_leave();
	}
	seam_signals_restore(signals);
}

void core_record(bool on)
{
	record_set(false, on);
}

void core_record_other(void)
{
	record_set(true, false);
}

/* How much the recording may take. */
static void limits_set(struct core_session *s)
{
	const uint64_t size = core_options.size ? core_options.size : SIZE_USUAL;
	uint64_t chunks = (size + SPB_CHUNK_SIZE - 1) / SPB_CHUNK_SIZE;

	/* One chunk for descriptors, or one that is kept while another is filled. */
	if (chunks < 2)
		chunks = 2;
	if (chunks > CHUNKS_MOST)
		chunks = CHUNKS_MOST;
	if (core_options.mode == SPUR_TRACE_ONESHOT)
		s->most = (uint32_t)chunks;
	if (core_options.mode == SPUR_TRACE_RING)
		s->ring = (uint32_t)chunks;
}

/* All but the number, which threads read at any time: that is stored for itself. */
static void session_set(const struct core_session *from)
{
	const size_t number = sizeof(from->number);

	_Static_assert(offsetof(struct core_session, number) == 0, "the number comes first");
	memcpy((char *)&core_session + number, (const char *)from + number, sizeof(*from) - number);
}

/* Waits until no one uses the file without the lock. The recording's number is 0 by now. */
static void users_wait(void)
{
	seam_fence_threads();
	while (seam_load32(&core_users))
		seam_yield();
}

int core_session_begin(void)
{
	struct core_session *const s = &core_session;
	int fd = core_file_create(core_directory, file_path), why;
	uint8_t *h = NULL;

	if (fd < 0)
		return errno;
	fd = seam_move(fd);
	why = seam_allocate(fd, 0, SPB_HEADER);
	if (!why)
		h = seam_map(fd, 0, SPB_HEADER, false);
	if (!h) {
		seam_close(fd);
		return why ? why : ENOMEM;
	}
	session_set(&(struct core_session){ .fd = fd, .head = h, .most = CHUNKS_MOST });
	seam_identity(fd, s->id);
	limits_set(s);
	core_keep_reset();
	head_fill(h);
	seam_fence_threads();
	core_told_begin();
	seam_store(&s->number, ++sessions);
	core_system_unwatch();
	if (!core_catalog_copy()) {
		seam_store(&s->number, 0);
		users_wait();
		session_set(&(struct core_session){ .fd = -1 });
		seam_unmap(h, SPB_HEADER);
		seam_close(fd);
		core_system_watch();
		return ENOSPC;
	}
	core_switch();
	return 0;
}

/*
 * Ends the recording, but for the helper and what it uses. Returns the clocks at its end. Called
 * with the lock.
 */
static struct core_pair session_complete(void)
{
	struct core_session *const s = &core_session;
	const struct core_pair end = core_clock_pair();

	for (struct core_thread *t = core_threads; t; t = t->next)
		core_thread_lost(t);
	core_rest_lost();
	seam_store(&s->number, 0);
	core_switch();
	seam_fence_threads();
	for (struct core_thread *t = core_threads; t; t = t->next)
		seam_store_pointer(&t->here->end, NULL);
	users_wait();
	core_told_end();
	if (s->chunk_end) {
		core_chunk_close(s->chunk_end - SPB_CHUNK_SIZE);
		seam_unmap(s->chunk_end - SPB_CHUNK_SIZE, SPB_CHUNK_SIZE);
	}
	return end;
}

/*
 * `closed`: no one uses the file and its header any more. The file says last that it is complete:
 * a process that is killed before has a file that `spur recover` cuts.
 */
static void session_forget(const struct core_pair *end, bool closed)
{
	struct core_session *const s = &core_session;

	if (closed) {
		const int fd = core_file_open();

		if (fd >= 0) {
			seam_truncate(fd, chunk_offset(s->used));
			seam_shut(fd);
		}
	}
	seam_copy(s->head + SPB_END_AT + 8, &end->mono, 16);
	seam_store(s->head + SPB_END_AT, end->ticks);
	if (closed)
		seam_unmap(s->head, SPB_HEADER);
	session_set(&(struct core_session){ .fd = -1 });
	core_categories_list(NULL);
	core_system_watch();
}

void core_session_end(void)
{
	const struct core_pair end = session_complete();

	session_forget(&end, core_helper_stop());
}

void core_session_abandon(void)
{
	core_abandoned = true;
	if (!core_session.number)
		return;
	seam_detach(core_session.head, SPB_HEADER);
	seam_store(&core_session.number, 0);
	core_switch();
}

void core_session_regain(void)
{
	core_helper_forget();
	core_users = 0;
	if (core_session.fd >= 0 && core_file_is_open())
		seam_close(core_session.fd);
	session_set(&(struct core_session){ .fd = -1 });
	core_system_watch();
	core_abandoned = false;
}

void core_session_end_by_helper(void)
{
	const struct core_pair end = session_complete();

	core_helper_retire();
	session_forget(&end, true);
}
