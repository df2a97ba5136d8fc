/*
 * A program that does what its standard input says, one command a line, and answers each with a
 * line: it has points of some categories, and says which of them are on.
 *
 *	look		records an event of the categories net and disk, and says which are on
 *	late NAME	the same of a point that is reached for the first time, of a category that
 *			the program has not named before
 *	enable NAME	the program switches a category on
 *	disable NAME	and off
 *	fork		a child looks, and is what answers from now on
 *	exec		becomes itself anew, and goes on with the next line
 *	stream		a thread looks again and again until the next command
 *	storm N		N threads reach new points of many categories until the next command
 */
#include <spur_trace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct spur_trace_site net = { .kind = 2, .category = "net", .name = "packet", .file = "" };
static struct spur_trace_site disk = { .kind = 2, .category = "disk", .name = "block", .file = "" };
static volatile int streams;

enum { STORM_MOST = 16, STORM_SITES = 4000, STORM_CATEGORIES = 300 };

/* Records an event. Returns true if the point is on. */
static bool event(struct spur_trace_site *s)
{
	if (!spur_trace_number(s))
		return false;
	spur_trace_record(3, s, 0, NULL);
	return true;
}

static void look(const char *word)
{
	const bool has_net = event(&net), has_disk = event(&disk);

	printf("%s%s%s\n", word, has_net ? " net" : "", has_disk ? " disk" : "");
}

static void late(const char *name)
{
	struct spur_trace_site *const s = calloc(1, sizeof(*s));

	*s = net;
	s->on = NULL;
	s->number = 0;
	s->category = strdup(name);
	printf("late%s%s\n", event(s) ? " " : "", spur_trace_number(s) ? name : "");
}

static void *stream(void *arg)
{
	while (streams) {
		event(&net);
		event(&disk);
		usleep(1000);
	}
	return arg;
}

/* Each round of a storm has points of its own; when all were reached, they are used again. */
static void *storm(void *arg)
{
	struct spur_trace_site *const sites = calloc(STORM_SITES, sizeof(*sites));
	char(*const names)[16] = calloc(STORM_CATEGORIES, sizeof(*names));

	for (unsigned i = 0; i < STORM_CATEGORIES; i++)
		snprintf(names[i], sizeof(names[i]), "c%u", i);
	for (unsigned i = 0; streams; i++) {
		struct spur_trace_site *const s = &sites[i % STORM_SITES];

		if (i < STORM_SITES) {
			*s = (struct spur_trace_site){ .kind = 2, .name = "storm", .file = "" };
			s->category = names[i % STORM_CATEGORIES];
		} else
			usleep(200);
		event(s);
		event(&net);
	}
	return arg;
}

int main(int argc, char **argv)
{
	char line[256], word[64], text[128];
	pthread_t threads[STORM_MOST];
	int nthreads = 0, status = 0;

	(void)argc;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		pid_t child;

		*text = '\0';
		if (sscanf(line, "%63s %127s", word, text) < 1)
			continue;
		streams = 0;
		while (nthreads)
			pthread_join(threads[--nthreads], NULL);
		if (strcmp(word, "look") == 0) {
			look(word);
		} else if (strcmp(word, "late") == 0) {
			late(text);
		} else if (strcmp(word, "enable") == 0 || strcmp(word, "disable") == 0) {
			printf("%s %d\n", word, spur_trace_enable(text, *word == 'e'));
		} else if (strcmp(word, "fork") == 0) {
			child = fork();
			if (child) {
				waitpid(child, &status, 0);
				return WEXITSTATUS(status);
			}
			look(word);
		} else if (strcmp(word, "exec") == 0 && printf("exec\n") > 0) {
			execv("/proc/self/exe", argv);
		} else if (strcmp(word, "stream") == 0) {
			streams = 1;
			pthread_create(&threads[nthreads++], NULL, stream, NULL);
			printf("stream\n");
		} else if (strcmp(word, "storm") == 0) {
			streams = 1;
			while (nthreads < atoi(text) && nthreads < STORM_MOST)
				pthread_create(&threads[nthreads++], NULL, storm, NULL);
			printf("storm\n");
		}
	}
	return 0;
}
