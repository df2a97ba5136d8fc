/*
 * Reads the fuzzer's bytes as an instrumentation map: ELF, Mach-O or YAML, with symbols, lines and
 * needed libraries. What the header promises must hold.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "format/xray/map_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* so that nothing is optimised away */

#define require(what) ((what) ? (void)0 : broken(#what))

static void broken(const char *what)
{
	fprintf(stderr, "invariant broken: %s\n", what);
	abort();
}

static void check_map(struct site_map *m, bool lines)
{
	const struct map_site *sleds = xray_map_sleds(m);
	const size_t n = xray_map_count(m);
	struct map_function f;

	require(n && sleds[0].id && sleds[n - 1].id == xray_map_functions(m));
	require(!xray_map_function(m, 0, lines, &f));
	require(!xray_map_function(m, xray_map_functions(m) + 1, lines, &f));
	for (size_t i = 0; i < n; i++) {
		require(!i || sleds[i].id >= sleds[i - 1].id);
		require(xray_map_function(m, sleds[i].id, lines, &f));
		sink += f.name ? strlen(f.name) : 0;
		sink += f.file ? strlen(f.file) : 0;
		require(f.module == xray_map_path(m));
	}
	sink += xray_map_note(m) ? strlen(xray_map_note(m)) : 0;
	sink += strlen(xray_map_build_id(m));
}

static void check_maps(const char *path, bool lines)
{
	const char *const binaries[] = { path, NULL };
	const struct spur_options opt =
		SPUR_OPTIONS(.binaries = binaries, .symbol_dirs = "/nonexistent");
	struct spur_error err = { 0 };
	struct map_function f;
	struct diag_log diag;
	struct xray_maps *m;

	diag_init(&diag);
	if (xray_maps_open(&m, "-", &opt, &diag, &err) == SPUR_FAIL) {
		require(err.code && err.message[0]);
	} else {
		require(xray_maps_count(m) == 1);
		check_map(xray_maps_object(m, 0), lines);
		sink += xray_maps_function(m, 0x1000001, lines, &f);
		require(xray_maps_fit(m, 1, &diag) ||
			xray_map_functions(xray_maps_object(m, 0)) < 1);
		xray_maps_fit(m, UINT32_MAX, &diag);
		xray_maps_close(m);
	}
	diag_free(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[40];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("map", MFD_CLOEXEC);
		require(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	require(ftruncate(fd, (off_t)size) == 0);
	require(pwrite(fd, data, size, 0) == (ssize_t)size);
	sink += map_kind_elf(path);
	if (map_is_macho(data, size))
		sink += map_kind_macho(path);
	check_maps(path, size && data[size - 1] & 1);
	return 0;
}
