/*
 * Dumps: a copy of the recording as it is, made while threads go on, also from signal handlers.
 *
 * INVARIANT: nothing here takes the lock, uses the heap, or changes errno.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum { DUMPS_MOST = 10000 };

static uint32_t dumps; /* at signals, so far */
static struct sigaction before[NSIG];

/* Copies one chunk if it is in use and of that kind. Returns 0 or an errno. */
static int chunk_copy(int to, int from, uint64_t off, enum spb_chunk_kind kind)
{
	uint64_t head[2] = { 0, 0 }, first, then = 0;
	long got;

	if (seam_pread(from, head, sizeof(head), off) != sizeof(head))
		return 0;
	first = head[SPB_SEQUENCE_AT / SPB_WORD];
	if (!first || (uint16_t)(head[0] >> 8 * SPB_KIND_AT) != kind)
		return 0;
	for (uint64_t at = 0; at < SPB_CHUNK_SIZE; at += (uint64_t)got) {
		got = seam_send(to, from, off + at, SPB_CHUNK_SIZE - at);
		if (got <= 0)
			return got ? (int)-got : EIO;
	}
	/* SPEC spur/reuse: a ring has used the chunk again meanwhile: then it is left out. */
	got = seam_pread(from, &then, sizeof(then), off + SPB_SEQUENCE_AT);
	if (got == sizeof(then) && then == first)
		return 0;
	then = 0;
	got = seam_pwrite(to, &then, sizeof(then), off + SPB_SEQUENCE_AT);
	return got < 0 ? (int)-got : 0;
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

/* Copies the recording's file into another. Requires that the caller is one of `core_users`. */
static int file_copy(int to)
{
	/* Descriptors last: every record that is copied was described before. */
	static const enum spb_chunk_kind kinds[] = { SPB_CHUNK_RECORDS, SPB_CHUNK_DESCRIPTORS };
	const int from = core_file_open();
	int why = from < 0 ? -from : 0;

	for (int k = 0; k < 2; k++) {
		const uint64_t chunks = seam_load32(&core_session.next);

		for (uint64_t i = 0; i < chunks && !why; i++)
			why = chunk_copy(to, from, SPB_HEADER + i * SPB_CHUNK_SIZE, kinds[k]);
	}
	core_file_close(from);
	return why ? why : head_copy(to, core_session.head);
}

int spur_trace_dump(const char *path)
{
	const int kept = errno;
	char name[CORE_FILE_PATH];
	int why, fd;

	if (strlen(path) >= CORE_PATH)
		return ENAMETOOLONG;
	seam_add32(&core_users, 1);
	seam_fence_threads();
	if (!seam_load(&core_session.number)) {
		seam_add32(&core_users, UINT32_MAX);
		return ENODATA;
	}
	why = (int)-seam_make_dir(path, CORE_DIR_MODE);
	if (!why || why == EEXIST) {
		fd = core_file_create(path, name);
		why = fd < 0 ? errno : file_copy(fd);
		if (fd >= 0)
			seam_close(fd);
	}
	seam_add32(&core_users, UINT32_MAX);
	errno = kept;
	return why;
}

/* --- at signals --- */

/* Dumps into the first of NAME.1, NAME.2, ... that does not exist. */
static void dump_beside(void)
{
	char path[CORE_PATH + 32];
	size_t len = strlen(core_directory);

	while (len > 1 && core_directory[len - 1] == '/')
		len--;
	memcpy(path, core_directory, len);
	path[len++] = '.';
	for (uint32_t n = 0; n < DUMPS_MOST; n++) {
		*core_decimal(path + len, seam_add32(&dumps, 1) + 1) = '\0';
		if (seam_make_dir(path, CORE_DIR_MODE) == -EEXIST)
			continue;
		spur_trace_dump(path);
		return;
	}
}

static bool is_crash(int signo)
{
	return signo == SIGSEGV || signo == SIGABRT || signo == SIGBUS || signo == SIGFPE ||
	       signo == SIGILL;
}

/* Dumps, then does what would have been done without it. */
static void on_signal(int signo, siginfo_t *info, void *context)
{
	const struct sigaction *const old = &before[signo];
	const int kept = errno;

	if (seam_load(&core_session.number))
		dump_beside();
	errno = kept;
	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(signo, info, context);
	} else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(signo);
	} else if (is_crash(signo)) {
		/* A fault comes again when this returns; what was sent is sent again. */
		sigaction(signo, old, NULL);
		if (info->si_code <= 0)
			raise(signo);
	}
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

bool core_dump_at(const char *list)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_signal;
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
