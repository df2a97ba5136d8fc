/*
 * Dumps: a copy of the recording as it is, made while threads go on, also from signal handlers. And
 * the library's own handlers: at some signals it dumps, at others it switches the recording.
 *
 * INVARIANT: nothing here takes the lock, uses the heap, or changes errno. Signal handlers may have
 * little stack, so what is large is in memory that is mapped for the purpose.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum { DUMPS_MOST = 10000, PAGE_WORDS = SPB_PAGE / SPB_WORD };

static uint32_t dumps; /* at signals, so far */
static struct sigaction before[NSIG];

/* --- pages --- */

/*
 * A dump that is being made. A page is read twice, as threads go on to store records into it: what
 * the first reading has of a record is in the file when the second one begins.
 */
struct dump {
	int to, from;
	uint64_t until; /* the last chunk that was taken when the dump began */
	struct core_moment read; /* when records of the chunk were read first; 0 ticks: not yet */
	uint64_t *first, *then; /* PAGE_WORDS each */
};

/* Returns 0 or an errno. */
static int words_read(const struct dump *d, uint64_t *to, uint64_t off, size_t words)
{
	const long got = seam_pread(d->from, to, words * SPB_WORD, off);

	if (got < 0)
		return (int)-got;
	return (size_t)got == words * SPB_WORD ? 0 : EIO;
}

/* Returns 0 or an errno. */
static int word_write(const struct dump *d, uint64_t word, uint64_t off)
{
	const long got = seam_pwrite(d->to, &word, sizeof(word), off);

	return got < 0 ? (int)-got : 0;
}

/* The place behind the last word that is not zero, at least `at`. */
__attribute__((no_sanitize("thread"))) static size_t words_used(const uint64_t *p, size_t at,
								size_t end)
{
	while (end > at && !p[end - 1])
		end--;
	return end;
}

/* The first word that is not zero, or `end`. */
__attribute__((no_sanitize("thread"))) static size_t words_zero(const uint64_t *p, size_t at,
								size_t end)
{
	while (at < end && !p[at])
		at++;
	return at;
}

/* The words of the record at `at`; more than a page if its length is not there. */
static size_t record_words(const uint64_t *p, size_t at)
{
	const uint64_t word = p[at], words = word >> 4 & 15;

	if ((word & 15) == SPB_RESERVED)
		return (size_t)(word >> 32) + (words == SPB_LENGTH_FAR ? 2 : 1);
	if (words < SPB_LENGTH_FAR)
		return (size_t)words + 1;
	return at + 1 < PAGE_WORDS ? (size_t)(uint32_t)p[at + 1] + 2 : PAGE_WORDS + 1;
}

/* Reads the words from `at` on once more. */
static int words_again(const struct dump *d, uint64_t off, size_t at)
{
	return words_read(d, d->then + at, off + at * SPB_WORD, PAGE_WORDS - at);
}

/*
 * Finds the end of a hole: records that had no word yet when `then` was read. A word that `first`
 * has behind the hole begins a record if `then` has zeros before it. Otherwise it may be payload of
 * a record that began between the readings, so the page is read once more; then the hole ends
 * earlier. Returns `last` if nothing is behind the hole.
 */
static size_t hole_end(const struct dump *d, uint64_t off, size_t at, size_t last, int *why)
{
	for (;;) {
		const size_t end = words_zero(d->first, at, last);

		if (words_zero(d->then, at, end) == end)
			return end;
		memcpy(d->first + at, d->then + at, (last - at) * SPB_WORD);
		*why = words_again(d, off, at);
		if (*why || d->then[at])
			return at;
	}
}

/*
 * Reads the records of a page, from the word `begin` on, into d->then. What was complete when the
 * first reading began is complete there. Behind the last record that the first reading had,
 * d->then has no meaning. *used gets the words up to there.
 */
static int records_read(struct dump *d, uint64_t off, size_t begin, size_t *used)
{
	int why = words_read(d, d->first, off, PAGE_WORDS);
	size_t at = begin;
	const size_t last = why ? 0 : words_used(d->first, begin, PAGE_WORDS);

	*used = begin;
	if (why || (!begin && !last))
		return why;
	if (!d->read.ticks)
		d->read = core_clock_moment();
	why = words_again(d, off, 0);
	while (at < last && !why) {
		if (d->first[at] && !d->then[at])
			break; /* The chunk is used again. */
		if (!d->then[at]) {
			at = hole_end(d, off, at, last, &why);
			continue;
		}
		/* Its payload may be older than its first word. */
		if (d->then[at] != d->first[at])
			why = words_again(d, off, at);
		if (record_words(d->then, at) > PAGE_WORDS - at)
			break; /* Here too. */
		at += record_words(d->then, at);
		*used = at;
	}
	return why;
}

/* The same of descriptors. */
static int descriptors_read(const struct dump *d, uint64_t off, size_t begin, size_t *used)
{
	int why = words_read(d, d->first, off, PAGE_WORDS);
	size_t at = begin;

	while (!why && at < PAGE_WORDS && (uint32_t)d->first[at] &&
	       (uint32_t)d->first[at] / SPB_WORD <= PAGE_WORDS - at)
		at += (uint32_t)d->first[at] / SPB_WORD;
	*used = at;
	return why || !at ? why : words_again(d, off, 0);
}

/* --- chunks --- */

/*
 * A chunk of a ring that is being written is closed in the dump: its thread may take the next one
 * before that is copied, and SPEC spur/gap says how a reader sees what is missing between them.
 */
static void open_close(const struct dump *d)
{
	char *const head = (char *)d->then;
	const uint16_t state = SPB_FULL;
	uint16_t was;

	memcpy(&was, head + SPB_STATE_AT, sizeof(was));
	if (!core_session.ring || was != SPB_OPEN)
		return;
	memcpy(head + SPB_CLOSE_AT, &d->read, sizeof(d->read));
	memcpy(head + SPB_STATE_AT, &state, sizeof(state));
}

/*
 * Copies one chunk if it is in use and of that kind, the last page first: so of a thread's records
 * none is left out before one that is copied. Returns 0 or an errno.
 */
static int chunk_copy(struct dump *d, uint64_t off, enum spb_chunk_kind kind)
{
	const bool records = kind == SPB_CHUNK_RECORDS;
	uint64_t head[2] = { 0, 0 }, then = 0;
	int why = 0;

	if (seam_pread(d->from, head, sizeof(head), off) != sizeof(head))
		return 0;
	if (!head[1] || (uint16_t)(head[0] >> 8 * SPB_KIND_AT) != kind)
		return 0;
	/* Between an older chunk of the thread and this one events may be missing by now. */
	if (records && !core_session.ring && head[1] > d->until)
		return 0;
	d->read.ticks = 0;
	for (uint64_t page = SPB_CHUNK_SIZE; page && !why;) {
		size_t used;
		long got = 0;

		page -= SPB_PAGE;
		if (records)
			why = records_read(d, off + page, page ? 0 : SPB_CHUNK_HEAD / SPB_WORD,
					   &used);
		else
			why = descriptors_read(d, off + page, page ? 0 : SPB_CHUNK_HEAD / SPB_WORD,
					       &used);
		/*
		 * SPEC spur/reuse: a ring has used the chunk again meanwhile: beside the pages that
		 * are copied it has a head without a number.
		 */
		if (!why && !page) {
			why = words_read(d, &then, off + SPB_SEQUENCE_AT, 1);
			if (why || then != head[1])
				return why ? why : word_write(d, head[0], off);
			open_close(d);
		}
		if (!why && used)
			got = seam_pwrite(d->to, d->then, used * SPB_WORD, off + page);
		why = got < 0 ? (int)-got : why;
	}
	return why;
}

/* The header comes last, with the present as the recording's end. */
static int head_copy(int to, const uint8_t *head)
{
	const struct core_pair end = core_clock_pair();
	const uint64_t magic = SPB_MAGIC;
	long got = seam_pwrite(to, head + 8, SPB_HEADER - 8, 8);

	if (got >= 0)
		got = seam_pwrite(to, &end, sizeof(end), SPB_END_AT);
	if (got >= 0)
		got = seam_pwrite(to, &magic, sizeof(magic), 0);
	return got < 0 ? (int)-got : 0;
}

/* Copies all chunks. Requires that the caller is one of `core_users`. */
static int chunks_copy(struct dump *d)
{
	/* Descriptors last: every record that is copied was described before. */
	static const enum spb_chunk_kind kinds[] = { SPB_CHUNK_RECORDS, SPB_CHUNK_DESCRIPTORS };
	uint64_t chunks = 0;
	int why = 0;

	for (int k = 0; k < 2; k++) {
		chunks = seam_load32(&core_session.next);
		for (uint64_t i = 0; i < chunks && !why; i++)
			why = chunk_copy(d, SPB_HEADER + i * SPB_CHUNK_SIZE, kinds[k]);
	}
	/* What is not written of the last chunk is zero. */
	return why ? why : seam_truncate(d->to, SPB_HEADER + chunks * SPB_CHUNK_SIZE);
}

/* Copies the recording's file into another. Requires that the caller is one of `core_users`. */
static int file_copy(int to)
{
	struct dump d = { .to = to, .from = core_file_open() };
	int why = d.from < 0 ? -d.from : 0;

	d.until = seam_load(core_session.head + SPB_TAKEN_AT);
	if (!why) {
		d.first = seam_reserve((size_t)2 * SPB_PAGE);
		d.then = d.first + PAGE_WORDS;
		why = d.first ? chunks_copy(&d) : ENOMEM;
	}
	if (d.first)
		seam_unmap(d.first, (size_t)2 * SPB_PAGE);
	core_file_close(d.from);
	return why ? why : head_copy(to, core_session.head);
}

/* The same into a new file of that directory. */
static int file_copy_into(const char *path)
{
	char *const name = seam_reserve(CORE_FILE_PATH);
	const int to = name ? core_file_create(path, name) : -1;
	int why = name ? errno : ENOMEM;

	if (to >= 0) {
		why = file_copy(to);
		seam_close(to);
	}
	if (name)
		seam_unmap(name, CORE_FILE_PATH);
	return why;
}

int spur_trace_dump(const char *path)
{
	const int kept = errno;
	int why;

	if (strlen(path) >= CORE_PATH)
		return ENAMETOOLONG;
	core_look_orphan();
	seam_add32(&core_users, 1);
	seam_fence_threads();
	if (!seam_load(&core_session.number)) {
		seam_add32(&core_users, UINT32_MAX);
		return ENODATA;
	}
	why = (int)-seam_make_dir(path, CORE_DIR_MODE);
	if (!why || why == EEXIST)
		why = file_copy_into(path);
	seam_add32(&core_users, UINT32_MAX);
	errno = kept;
	return why;
}

/* --- at signals --- */

/* Dumps into the first of NAME.1, NAME.2, ... that does not exist. */
static void dump_beside(void)
{
	enum { ROOM = CORE_PATH + 32 };
	char *const path = seam_reserve(ROOM);
	size_t len = strlen(core_directory);

	if (!path)
		return;
	while (len > 1 && core_directory[len - 1] == '/')
		len--;
	memcpy(path, core_directory, len);
	path[len++] = '.';
	for (uint32_t n = 0; n < DUMPS_MOST; n++) {
		*core_decimal(path + len, seam_add32(&dumps, 1) + 1) = '\0';
		if (seam_make_dir(path, CORE_DIR_MODE) == -EEXIST)
			continue;
		spur_trace_dump(path);
		break;
	}
	seam_unmap(path, ROOM);
}

static bool is_crash(int signo)
{
	return signo == SIGSEGV || signo == SIGABRT || signo == SIGBUS || signo == SIGFPE ||
	       signo == SIGILL;
}

/* Signals that have no purpose but what a program makes of them do not end it. */
static bool ends_program(int signo)
{
	return signo != SIGUSR1 && signo != SIGUSR2;
}

/* Does what would have been done without the library's handler. */
static void go_on(int signo, siginfo_t *info, void *context)
{
	const struct sigaction *const old = &before[signo];

	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(signo, info, context);
	} else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(signo);
	} else if (is_crash(signo) || (old->sa_handler == SIG_DFL && ends_program(signo))) {
		/* A fault comes again when this returns; what was sent is sent again. */
		sigaction(signo, old, NULL);
		if (info->si_code <= 0 || !is_crash(signo))
			raise(signo);
	}
}

static void on_dump(int signo, siginfo_t *info, void *context)
{
	const int kept = errno;

	if (seam_load(&core_session.number))
		dump_beside();
	errno = kept;
	go_on(signo, info, context);
	errno = kept;
}

static void on_switch(int signo, siginfo_t *info, void *context)
{
	const int kept = errno;

	core_record_other();
	errno = kept;
	go_on(signo, info, context);
	errno = kept;
}

static int signal_number(const char *name, size_t len)
{
	static const struct {
		const char *name;
		int signo;
	} names[] = {
		{ "SEGV", SIGSEGV }, { "ABRT", SIGABRT }, { "BUS", SIGBUS },   { "FPE", SIGFPE },
		{ "ILL", SIGILL },   { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "HUP", SIGHUP },
		{ "QUIT", SIGQUIT }, { "TERM", SIGTERM }, { "INT", SIGINT },
	};

	if (len > 3 && strncmp(name, "SIG", 3) == 0) {
		name += 3;
		len -= 3;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].name) == len && strncmp(names[i].name, name, len) == 0)
			return names[i].signo;
	return 0;
}

/* Sets the handler of the signals in a list. Returns false at an unknown name. */
static bool handle(const char *list, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	for (const char *p = list; *p;) {
		const size_t len = strcspn(p, ",");
		const int signo = signal_number(p, len);

		if (!signo)
			return false;
		sigaction(signo, &action, &before[signo]);
		p += len + (p[len] == ',');
	}
	return true;
}

bool core_dump_at(const char *list)
{
	return handle(list, on_dump);
}

bool core_switch_at(const char *list)
{
	return handle(list, on_switch);
}
