/* See check.h. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"
#include "law.h"
#include "scenario.h"
#include "spur.h"

enum { READS_OF = 64 };

static uint8_t image[SIM_FILE_MOST];
static int memory_file = -1;

/* --- reading with the library --- */

/* The string or the name of an event, as in scenario.c. */
static bool is_string(const char *s, uint64_t n)
{
	return strncmp(s, "string ", 7) == 0 && s[7] == law_text(n % 3, 0) && !s[8];
}

static bool is_whole(const char *name, uint64_t n, const struct spur_args *args)
{
	if (strcmp(name, "pair") == 0 || strcmp(name, "unnamed") == 0 || is_string(name, n))
		return args->count == 2 && args->items[1].u == ~n;
	if (strcmp(name, "string") == 0)
		return args->count == 2 && (strcmp(args->items[1].text, "#0") == 0 ||
					    is_string(args->items[1].text, n));
	for (size_t i = 1; i < args->count; i++)
		for (size_t k = 0; k < args->items[i].count; k++)
			if (args->items[i].text[k] != law_text(n, k))
				return false;
	return true;
}

static void read_row(struct spur_trace *t, const struct spur_event *row)
{
	const char *const name = spur_string(t, row->name, NULL);
	struct spur_args args = { 0 };
	uint64_t n;

	if (row->kind == SPUR_LOST) {
		law_read_lost(row->id);
		return;
	}
	if (row->kind != SPUR_INSTANT) {
		law_read_damage();
		return;
	}
	if (strcmp(name, "tick") == 0) {
		law_read_tick();
		return;
	}
	if (spur_args(t, row, &args) != SPUR_OK || !args.count) {
		law_read_damage();
	} else if (strcmp(name, "categories") == 0) {
		law_read_told(strcmp(args.items[0].text, "none") == 0 ||
			      strcmp(args.items[0].text, "all") == 0);
	} else {
		n = args.items[0].u;
		law_read_event(n, n && is_whole(name, n, &args));
	}
	spur_args_free(&args);
}

static const char *memory_path(void)
{
	static char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_file);
	return path;
}

static void image_store(size_t size)
{
	if (memory_file < 0)
		memory_file = memfd_create("recording", MFD_CLOEXEC);
	if (ftruncate(memory_file, 0) || pwrite(memory_file, image, size, 0) != (ssize_t)size)
		abort();
}

/* Reads what `image` has with the library. */
static void read_image(size_t size)
{
	static const struct spur_options options = SPUR_OPTIONS(.format = "spur");
	const struct spur_event *rows;
	struct spur_trace *t = NULL;
	struct spur_error err;
	size_t n;

	image_store(size);
	if (spur_open(&t, memory_path(), &options, &err) == SPUR_FAIL)
		return; /* A file whose header is not complete is no recording. */
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			read_row(t, &rows[i]);
	if (spur_damage_count(t))
		law_read_damage();
	spur_close(t);
}

/* --- the law --- */

struct check_counts check_counts;
bool check_library;

/*
 * SPEC spur/recover: completes what `image` has, twice; the second time changes nothing. Returns
 * the size, or 0 if the header is not complete: such a file is no recording. What is wrong goes to
 * *wrong.
 */
static size_t recover_image(size_t size, const char **wrong)
{
	static uint8_t again[SIM_FILE_MOST];
	struct format_recovery r = { .force = false };
	struct spur_error err;
	const struct spur_format *const spb = format_find("spur");
	ssize_t once, twice;

	image_store(size);
	if (spb->recover(memory_path(), &r, &err) == SPUR_FAIL)
		return 0;
	once = pread(memory_file, image, sizeof(image), 0);
	r = (struct format_recovery){ .force = false };
	if (spb->recover(memory_path(), &r, &err) == SPUR_FAIL || !r.complete)
		*wrong = "what was recovered is not complete";
	twice = pread(memory_file, again, sizeof(again), 0);
	if (once != twice || memcmp(image, again, (size_t)once) != 0)
		*wrong = "a second recovery changes the file";
	return (size_t)once;
}

/* Recovers all files and reads them: nothing may be added or missing. */
static const char *check_recovery(uint8_t images[][SIM_FILE_MOST], const size_t *sizes,
				  enum law_moment moment, uint64_t lost)
{
	const char *wrong = NULL, *law;
	uint64_t sum;

	law_read_begin();
	for (unsigned i = 0; i < sim_files(); i++)
		parse(images[i], sizes[i]);
	sum = law_read_sum();
	law_read_begin();
	for (unsigned i = 0; i < sim_files(); i++) {
		size_t size;

		memcpy(image, images[i], sizes[i]);
		size = recover_image(sizes[i], &wrong);
		if (size)
			parse(image, size);
	}
	law = law_check(moment, lost);
	if (!wrong && law)
		wrong = law;
	if (!wrong && moment != LAW_POWER && law_read_sum() != sum)
		wrong = "a recovery changes what is read";
	check_counts.recoveries++;
	return wrong;
}

void check_reading(enum sim_crash crash, enum law_moment moment)
{
	static uint8_t images[SIM_FILES][SIM_FILE_MOST];
	size_t sizes[SIM_FILES];
	const uint64_t lost = scenario_lost();
	const char *wrong;
	uint64_t sum;

	law_read_begin();
	for (unsigned i = 0; i < sim_files(); i++) {
		sizes[i] = sim_image(i, crash, images[i]);
		parse(images[i], sizes[i]);
	}
	wrong = law_check(moment, lost);
	if (wrong)
		sim_fail(wrong);
	check_counts.crashes++;
	if (sim_random(READS_OF) || wrong || !check_library)
		return;
	sum = law_read_sum();
	law_read_begin();
	for (unsigned i = 0; i < sim_files(); i++) {
		memcpy(image, images[i], sizes[i]);
		read_image(sizes[i]);
	}
	wrong = law_check(moment, lost);
	if (wrong)
		sim_fail(wrong);
	else if (moment != LAW_POWER && law_read_sum() != sum)
		sim_fail("the library reads another thing than the specification says");
	check_counts.library++;
	wrong = wrong ? NULL : check_recovery(images, sizes, moment, lost);
	if (wrong)
		sim_fail(wrong);
}

/* A dump has what was recorded before it, each event whole and once. */
void check_dump(unsigned dump)
{
	const char *wrong;
	size_t size;

	law_read_begin();
	parse(image, sim_dumped_image(image));
	law_dump_live();
	law_read_begin();
	size = sim_dump_image(image);
	parse(image, size);
	wrong = law_dump_check(dump);
	check_counts.dumps++;
	if (!wrong && check_library && !sim_random(READS_OF)) {
		law_read_begin();
		read_image(size);
		wrong = law_dump_check(dump);
	}
	if (wrong)
		sim_fail(wrong);
}

void check_crash(void)
{
	static const enum sim_crash crashes[] = { SIM_KILL, SIM_REORDER, SIM_POWER };
	const enum sim_crash how = crashes[sim_random(3)];

	check_reading(how, how == SIM_POWER ? LAW_POWER : LAW_CRASH);
}

void check_each_crash(void)
{
	check_reading(SIM_KILL, LAW_CRASH);
	check_reading(SIM_REORDER, LAW_CRASH);
	check_reading(SIM_POWER, LAW_POWER);
}

void check_kill(void)
{
	check_reading(SIM_KILL, LAW_CRASH);
}
