/*
 * A thread changes its fiber while the recording is switched off by its control word, at each place
 * of a page, and where no event follows for long.
 */
#include <spur_trace.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CONTROL = 36, CHUNK_EVENTS = 40000, ROUNDS = 300 };

static uint32_t *control;

static void control_find(const char *dir)
{
	DIR *const d = opendir(dir);
	const struct dirent *e;
	char path[4096];

	while (d && (e = readdir(d))) {
		int fd;

		if (!strstr(e->d_name, ".spb"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		fd = open(path, O_RDWR);
		control = (void *)((char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
						0) +
				   CONTROL);
	}
	closedir(d);
}

/* The library's helper sees it within a second. */
static void switched(uint32_t on)
{
	__atomic_fetch_xor(control, 1, __ATOMIC_SEQ_CST);
	while (spur_trace_is_on() != on)
		usleep(1000);
}

int main(void)
{
	control_find(getenv("SPUR_TRACE"));
	spur_trace_fiber_name(1, "one");
	spur_trace_fiber_name(2, "two");
	for (int i = 0; i < CHUNK_EVENTS; i++)
		SPUR_TRACE_INSTANT("app", "fill");
	spur_trace_fiber(1);
	SPUR_TRACE_INSTANT("app", "on", (I64, "fiber", 1));
	switched(0);
	spur_trace_fiber(2);
	SPUR_TRACE_INSTANT("app", "off");
	switched(1);
	SPUR_TRACE_INSTANT("app", "on", (I64, "fiber", 2));
	for (int i = 0; i < ROUNDS; i++) {
		const int fiber = i % 3;

		for (int k = 0; k < i; k++)
			SPUR_TRACE_INSTANT("app", "fill");
		spur_trace_fiber((uint64_t)fiber);
		SPUR_TRACE_INSTANT("app", "on", (I64, "fiber", fiber));
	}
	return 0;
}
