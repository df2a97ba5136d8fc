/*
 * The `info` file: a 40-byte header, then `key:value` lines. Every line and every number is
 * optional.
 */
#include <stdio.h>

#include "base/cursor.h"
#include "format/uftrace/reader.h"

static const char magic[8] = "Ftrace!";

/* Lines `PREFIX:KEY=VALUE` and `PREFIX:VALUE`, and where their value goes. */
struct line_field {
	const char *prefix;
	size_t offset;
};

#define FIELD(prefix, name)                                 \
	{                                                   \
		prefix, offsetof(struct uftrace_info, name) \
	}

static const struct line_field line_fields[] = {
	FIELD("exename:", exename),
	FIELD("build_id:", build_id),
	FIELD("exit_status:", exit_status),
	FIELD("cmdline:", cmdline),
	FIELD("cpuinfo:nr_cpus=", nr_cpus),
	FIELD("cpuinfo:desc=", cpudesc),
	FIELD("meminfo:", meminfo),
	FIELD("osinfo:kernel=", kernel),
	FIELD("osinfo:hostname=", hostname),
	FIELD("osinfo:distro=", distro),
	FIELD("taskinfo:tids=", tids),
	FIELD("usageinfo:systime=", usage[0]),
	FIELD("usageinfo:usrtime=", usage[1]),
	FIELD("usageinfo:ctxsw=", usage[2]),
	FIELD("usageinfo:maxrss=", usage[3]),
	FIELD("usageinfo:pagefault=", usage[4]),
	FIELD("usageinfo:iops=", usage[5]),
	FIELD("loadinfo:", load),
	FIELD("argspec:", argspec),
	FIELD("retspec:", retspec),
	FIELD("argauto:", argauto),
	FIELD("retauto:", retauto),
	FIELD("enumauto:", enumauto),
	FIELD("record_date:", record_date),
	FIELD("elapsed_time:", elapsed),
	FIELD("pattern_type:", pattern_type),
	FIELD("uftrace_version:", uftrace_version),
	FIELD("utc_offset:", utc_offset),
	FIELD("sysctl:", sysctl),
};

static void read_line(struct uftrace_info *i, struct text line)
{
	if (text_starts(line, "auto-args:")) {
		i->auto_args = text_is(line, "auto-args:1");
		return;
	}
	if (text_starts(line, "argspec:lines="))
		return;
	for (size_t k = 0; k < sizeof(line_fields) / sizeof(line_fields[0]); k++) {
		struct text value = line;

		if (text_skip(&value, line_fields[k].prefix)) {
			*(struct text *)((char *)i + line_fields[k].offset) = value;
			return;
		}
	}
}

static const char *guess_arch(const struct uftrace_info *i)
{
	static const char *const prefixes[][2] = {
		{ "ARMv6", "arm" },
		{ "ARMv7", "arm" },
		{ "ARM64", "aarch64" },
		{ "RISCV64", "riscv64" },
	};

	for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++)
		if (text_starts(i->cpudesc, prefixes[k][0]))
			return prefixes[k][1];
	return i->is64 ? "x86_64" : "i386";
}

/* The binary header. False: the text after it is not to be trusted either. */
static bool read_header(struct uftrace *u, struct text file)
{
	struct uftrace_info *i = &u->d.info;
	const uint8_t *p = (const uint8_t *)file.p;
	struct cursor c;

	if (file.len < INFO_HEADER || memcmp(p, magic, sizeof(magic)) != 0) {
		uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-info", "info", 0,
			    file.len < INFO_HEADER ? "header: expected %d bytes, found %zu"
						   : "header: expected %d bytes that begin with "
						     "\"Ftrace!\", found %zu others",
			    INFO_HEADER, file.len);
		return false;
	}
	if (p[INFO_AT_ORDER] != 1 && p[INFO_AT_ORDER] != 2)
		uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-info", "info", INFO_AT_ORDER,
			    "header: expected byte order 1 or 2, found %u", p[INFO_AT_ORDER]);
	u->guess_order = p[INFO_AT_ORDER] != 1 && p[INFO_AT_ORDER] != 2;
	/* SPEC uftrace/byte-order */
	i->big_endian = p[INFO_AT_ORDER] == 2;
	i->is64 = p[INFO_AT_CLASS] != 1;
	if (p[INFO_AT_CLASS] != 1 && p[INFO_AT_CLASS] != 2)
		uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-info", "info", INFO_AT_CLASS,
			    "header: expected class 1 (32 bit) or 2 (64 bit), found %u",
			    p[INFO_AT_CLASS]);
	i->header = p;
	c = cursor_make(p, INFO_HEADER, order_swaps(i->big_endian));
	cursor_bytes(&c, sizeof(magic));
	i->version = cursor_u32(&c);
	i->header_size = cursor_u16(&c);
	cursor_bytes(&c, 2);
	i->features = cursor_u64(&c);
	i->bits = cursor_u64(&c);
	i->max_stack = cursor_u16(&c);
	i->have = true;
	if (i->version != 3 && i->version != 4)
		uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-info", "info", INFO_AT_VERSION,
			    "header: expected version 3 or 4, found %u; read as 4", i->version);
	return true;
}

void uftrace_read_info(struct uftrace *u)
{
	struct uftrace_info *i = &u->d.info;
	struct text file, line;
	size_t skip;

	i->is64 = true;
	/*
	 * SYM_REL_ADDR has been set by every recorder since 2017: what a killed one would have
	 * written.
	 */
	i->features = 1u << UFTRACE_SYM_REL_ADDR;
	u->guess_order = true;
	i->auto_args = true; /* a payload has to be that of some specs */
	if (!uftrace_slurp(u, "info", &file)) {
		if (!u->t->options.follow || u->t->source)
			uftrace_say(u, DIAG_NOTE, "uftrace/no-info", "info", DIAG_NO_OFF,
				    "missing (recording was cut short?): byte order is guessed");
		i->arch = text_of("x86_64");
		return;
	}
	u->guess_order = false;
	if (!read_header(u, file)) {
		u->guess_order = true;
		i->arch = text_of("x86_64");
		return;
	}
	i->auto_args = false;
	/* SPEC uftrace/info-text: the text starts after header_size bytes. */
	skip = i->header_size >= INFO_HEADER && i->header_size <= file.len ? i->header_size
									   : INFO_HEADER;
	file = text_make(file.p + skip, file.len - skip);
	while (text_line(&file, &line))
		read_line(i, line);
	i->arch = text_of(guess_arch(i));
	/* QEMU's plugin writes all lines, with nothing in them. */
	u->qemu = i->bits >> UFTRACE_EXE_NAME & 1 && !i->exename.len;
	u->swap = order_swaps(i->big_endian);
}

/* Signals that end processes, by their numbers on Linux (but for MIPS and the like). */
static const char *signal_name(unsigned number)
{
	static const char *const names[] = {
		[1] = "SIGHUP",	  [2] = "SIGINT",   [3] = "SIGQUIT",	[4] = "SIGILL",
		[5] = "SIGTRAP",  [6] = "SIGABRT",  [7] = "SIGBUS",	[8] = "SIGFPE",
		[9] = "SIGKILL",  [10] = "SIGUSR1", [11] = "SIGSEGV",	[12] = "SIGUSR2",
		[13] = "SIGPIPE", [14] = "SIGALRM", [15] = "SIGTERM",	[16] = "SIGSTKFLT",
		[24] = "SIGXCPU", [25] = "SIGXFSZ", [26] = "SIGVTALRM", [27] = "SIGPROF",
		[29] = "SIGIO",	  [30] = "SIGPWR",  [31] = "SIGSYS",
	};

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

/* SPEC uftrace/exit-status */
struct text uftrace_exit_text(struct text status, char buf[UFTRACE_EXIT_TEXT])
{
	const size_t size = UFTRACE_EXIT_TEXT;
	struct text rest = status;
	const char *name;
	uint64_t n;

	if (!text_u64(&rest, 10, &n) || rest.len)
		return status;
	name = signal_name(n & 0x7f);
	if (n == 1 << 16)
		snprintf(buf, size, "ended by a finish trigger");
	else if (n > 1 << 16 || (n & 0x7f) == 0x7f)
		snprintf(buf, size, "unknown (%llu)", (unsigned long long)n);
	else if (!(n & 0x7f))
		snprintf(buf, size, "exited with code %u", (unsigned)(n >> 8));
	else
		snprintf(buf, size, "ended by signal %u%s%s%s%s", (unsigned)(n & 0x7f),
			 name ? " (" : "", name ? name : "", name ? ")" : "",
			 n & 0x80 ? ", core dumped" : "");
	return text_of(buf);
}
