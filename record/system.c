/* Sessions of `spur record --system`, as programs see them: see board.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

#include <stdlib.h>
#include <sys/auxv.h>

#include "board.h"

enum { PROGRAM_MOST = 1024 };

CORE_HERE uint32_t core_words[SEAM_WORDS] __attribute__((aligned(sizeof(core_words))));
CORE_HERE bool core_watching;
static const char *board; /* mapped for reading; NULL: no session is looked for */
static char board_path[CORE_PATH];
static uint32_t joined; /* number of the session that the recording is of; 0: of none */
static uint32_t refused; /* number of a session that is not joined again */

static const struct board *board_head(void)
{
	return (const struct board *)(const void *)board;
}

/* --- finding the board --- */

/* Opens the directory if it is this user's alone. Returns a negative errno if not. */
static int dir_open(const char *path)
{
	struct stat st;
	int fd;

	seam_make_dir(path, CORE_DIR_MODE);
	fd = seam_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	seam_close(fd);
	return -EACCES;
}

/* Maps the board of that directory, and makes it if it is not there yet. */
static bool board_map(int dir)
{
	const int fd = openat(dir, BOARD_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return false;
	/* All of it has room, so that reading it never fails. */
	if (fstat(fd, &st) == 0 && st.st_size == 0)
		seam_allocate(fd, 0, BOARD_SIZE);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size >= BOARD_SIZE && st.st_blocks * 512 >= BOARD_SIZE)
		p = mmap(NULL, BOARD_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	seam_close(fd);
	if (p == MAP_FAILED)
		return false;
	board = p;
	return true;
}

static bool board_find(const char *parent, const char *name, bool number)
{
	char path[CORE_PATH], *p = path;
	bool found = false;
	int dir;

	if (!parent || parent[0] != '/' || strlen(parent) > sizeof(path) / 2)
		return false;
	p = stpcpy(p, parent);
	if (number)
		p = core_decimal(p, geteuid());
	stpcpy(p, name);
	dir = dir_open(path);
	if (dir >= 0) {
		found = board_map(dir);
		seam_close(dir);
	}
	if (found)
		stpcpy(stpcpy(board_path, path), "/" BOARD_NAME);
	return found;
}

void core_system_find(void)
{
	if (getauxval(AT_SECURE) || sysconf(_SC_PAGESIZE) != BOARD_PAGE ||
	    sizeof(core_words) != BOARD_PAGE)
		return;
	if (!board_find(getenv("XDG_RUNTIME_DIR"), "/spur", false) &&
	    !board_find("/run/user/", "/spur", true))
		board_find("/tmp/spur-", "", true);
	core_system_watch();
}

/* --- the words that points test --- */

void core_system_watch(void)
{
	const uint32_t page = refused ? refused % BOARD_TURNS : BOARD_TURNS;

	joined = 0;
	if (!board || core_session.number)
		return;
	/* If it fails, the words stay what they are, which may be another page of the board. */
	if (seam_mirror(core_words, board + BOARD_PAGE * (1 + page), BOARD_PAGE))
		core_watching = true;
}

void core_system_unwatch(void)
{
	/*
	 * Until the recording has switched them, points are on, and wait for the lock: they record
	 * what begins while the recording does, instead of passing it over.
	 */
	if (core_watching)
		seam_replace(core_words, BOARD_PAGE, 1);
	core_watching = false;
}

/* Joins the session no more. */
static void session_refuse(uint32_t number)
{
	refused = number;
	core_system_watch();
}

void core_system_leave(void)
{
	if (joined)
		refused = joined;
}

/* --- joining --- */

/* True if the session's process is alive: it has a lock on the board. */
static bool session_alive(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	const int fd = seam_reopen(board_path);
	bool alive;

	if (fd < 0)
		return false;
	alive = seam_lock_look(fd, &lock) && lock.l_type != F_UNLCK;
	seam_shut(fd);
	return alive;
}

/* Copies what the board says. Returns false if no session is going on, or one just begins. */
static bool board_read(struct board *b)
{
	const uint32_t change = seam_load32(&board_head()->change);

	seam_copy(b, board, sizeof(*b));
	seam_fence_threads();
	b->directory[BOARD_PATH_MOST - 1] = '\0';
	b->categories[BOARD_LIST_MOST - 1] = '\0';
	b->providers[BOARD_LIST_MOST - 1] = '\0';
	return !(change & 1) && seam_load32(&board_head()->change) == change &&
	       b->magic == BOARD_MAGIC && b->on && b->number;
}

/* Matches a name with a pattern of `len` bytes, in which * stands for any text, ? for any byte. */
static bool name_fits(const char *name, const char *pattern, size_t len)
{
	const char *const end = pattern + len, *star = NULL, *from = name;

	while (*name || pattern < end) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (pattern < end && *name && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star && *from) {
			pattern = star;
			name = ++from;
		} else {
			return false;
		}
	}
	return true;
}

static bool is_wanted(const char *patterns)
{
	static char program[PROGRAM_MOST];
	const ssize_t len = seam_readlink("/proc/self/exe", program, sizeof(program) - 1);
	const char *name;

	if (!*patterns)
		return true;
	program[len > 0 ? len : 0] = '\0';
	name = strrchr(program, '/');
	name = name ? name + 1 : program;
	for (const char *p = patterns; *p; p += *p == ',') {
		const size_t n = strcspn(p, ",");

		if (name_fits(name, p, n))
			return true;
		p += n;
	}
	return false;
}

bool core_system_join(void)
{
	static struct board b;
	const int kept = errno;

	if (!core_watching || !board_read(&b))
		return false;
	if (!is_wanted(b.providers) || b.mode > SPB_ONESHOT || !session_alive()) {
		session_refuse(b.number);
	} else {
		strcpy(core_directory, b.directory);
		core_options = (struct spur_trace_options){ (enum spur_trace_mode)b.mode, b.size };
		core_categories_list(*b.categories ? b.categories : NULL);
		joined = b.number;
		if (core_session_begin())
			session_refuse(b.number);
		else
			core_helper_start(true);
	}
	errno = kept;
	return core_session.number;
}

bool core_system_over(bool thorough)
{
	const struct board *const b = board_head();
	static uint64_t looked; /* when the session's process was known to be alive */
	uint64_t now;

	if (!joined)
		return false;
	if (seam_load32(&b->number) != joined || !seam_load32(&b->on))
		return true;
	if (!thorough)
		return false;
	now = seam_clock(CLOCK_MONOTONIC);
	if (now - looked < SEAM_ALIVE_NS)
		return false;
	looked = now;
	return !session_alive();
}

uint32_t core_system_joined(void)
{
	return joined;
}
