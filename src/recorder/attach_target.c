/* The memory and the modules of a process that runs. See attach.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "recorder/attach.h"

enum {
	TEXT_PIECE = 64 << 10,
	TEXT_MOST = 256 << 20,
	MAPS_MOST = 1 << 22,
	MODULES_MOST = 1 << 16,
	SEGMENTS_MOST = 64,
	DYNAMIC_MOST = 256,
	SYMBOLS_MOST = 1 << 22,
	NAMES_MOST = 256 << 20,
};

/* --- what /proc says --- */

uint64_t target_stat(const char *task, unsigned field)
{
	char path[64], line[2048];
	ssize_t n;
	char *p;

	snprintf(path, sizeof(path), "/proc/%s/stat", task);
	n = file_head(path, FILE_ANY, line, sizeof(line) - 1);
	if (n <= 0)
		return 0;
	line[n] = '\0';
	/* The name, field 2, may have anything in it. */
	p = strrchr(line, ')');
	for (unsigned i = 2; p && i < field; i++)
		p = strchr(p + 1, ' ');
	if (!p || !p[1])
		return 0;
	return field == 3 ? (unsigned char)p[1] : strtoull(p + 1, NULL, 10);
}

uint64_t target_status(const char *task, const char *key, int base)
{
	char path[64], text[8192], word[32];
	const char *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/status", task);
	n = file_head(path, FILE_ANY, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	snprintf(word, sizeof(word), "\n%s:", key);
	p = strstr(text, word);
	return p ? strtoull(p + strlen(word), NULL, base) : 0;
}

bool target_lives(const struct target *t)
{
	char task[24];
	uint64_t state;

	snprintf(task, sizeof(task), "%d", (int)t->pid);
	state = target_stat(task, 3);
	/* Another program has its stack elsewhere. */
	return state && state != 'Z' && state != 'X' && target_stat(task, 22) == t->start_time &&
	       (!t->stack || target_stat(task, 28) == t->stack);
}

bool target_was_replaced(const struct target *t)
{
	char task[24];
	uint64_t stack;

	snprintf(task, sizeof(task), "%d", (int)t->pid);
	/* It has none if it has ended. */
	stack = target_stat(task, 28);
	return t->stack && stack && stack != t->stack &&
	       target_stat(task, 22) == t->start_time;
}

/* Returns the text of a file of /proc, or NULL if it cannot be read. Free with mem_free(). */
static char *text_read(const char *path)
{
	const int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
	char *text = NULL;
	size_t have = 0, cap = 0;
	ssize_t n = -1;

	while (fd >= 0 &&
	       mem_grow((void **)&text, &cap, have + TEXT_PIECE + 1, 1, TEXT_MOST)) {
		n = os_read(fd, text + have, TEXT_PIECE);
		if (n > 0)
			have += (size_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	if (fd >= 0)
		os_close(fd);
	if (n == 0 && have) {
		text[have] = '\0';
		return text;
	}
	mem_free(text);
	return NULL;
}

/* --- memory --- */

bool target_read(const struct target *t, uint64_t at, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = os_pread(t->memory, (char *)to + done, size - done,
					   (off_t)(at + done));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

bool target_write(const struct target *t, uint64_t at, const void *from, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = os_pwrite(t->memory, (const char *)from + done, size - done,
					    (off_t)(at + done));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

const struct target_map *target_map_at(const struct target *t, uint64_t at)
{
	size_t low = 0, high = t->nmaps;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (at >= t->maps[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nmaps && at >= t->maps[low].first ? &t->maps[low] : NULL;
}

/* --- modules --- */

struct dynamic {
	uint64_t symbols, names, names_size, hash;
};

static uint64_t in_memory(const struct target_module *m, uint64_t v)
{
	return v < m->first ? v + m->shift : v;
}

static struct dynamic dynamic_read(const struct target *t, const struct target_module *m,
				   uint64_t at)
{
	struct dynamic d = { 0 };
	Elf64_Dyn e;

	for (unsigned i = 0; i < DYNAMIC_MOST; i++, at += sizeof(e)) {
		if (!target_read(t, at, &e, sizeof(e)) || e.d_tag == DT_NULL)
			break;
		if (e.d_tag == DT_SYMTAB)
			d.symbols = in_memory(m, e.d_un.d_ptr);
		else if (e.d_tag == DT_STRTAB)
			d.names = in_memory(m, e.d_un.d_ptr);
		else if (e.d_tag == DT_STRSZ)
			d.names_size = e.d_un.d_val;
		else if (e.d_tag == DT_GNU_HASH)
			d.hash = in_memory(m, e.d_un.d_ptr);
	}
	return d;
}

/* How many symbols there are: those that are defined come last, and the hash table has them. */
static size_t count_symbols(const struct target *t, uint64_t hash)
{
	uint32_t head[4], word, last = 0;
	uint64_t buckets, chains;

	/* Buckets, index of the first symbol in the table, words of the filter. */
	if (!hash || !target_read(t, hash, head, sizeof(head)) || head[0] > SYMBOLS_MOST ||
	    head[2] > SYMBOLS_MOST)
		return 0;
	buckets = hash + sizeof(head) + 8 * (uint64_t)head[2];
	chains = buckets + 4 * (uint64_t)head[0];
	for (uint32_t i = 0; i < head[0]; i++) {
		if (!target_read(t, buckets + 4 * (uint64_t)i, &word, sizeof(word)))
			return 0;
		last = word > last ? word : last;
	}
	if (last < head[1])
		return head[1] <= SYMBOLS_MOST ? head[1] : 0;
	do
		if (last > SYMBOLS_MOST ||
		    !target_read(t, chains + 4 * (uint64_t)(last - head[1]), &word, sizeof(word)))
			return 0;
	while (last++, !(word & 1));
	return last;
}

/* A module whose symbols cannot be read has none. */
static void symbols_read(const struct target *t, struct target_module *m, uint64_t dynamic)
{
	const struct dynamic d = dynamic_read(t, m, dynamic);
	const size_t n = count_symbols(t, d.hash);

	if (!n || !d.symbols || !d.names || !d.names_size || d.names_size > NAMES_MOST)
		return;
	m->symbols = mem_array(n, sizeof(*m->symbols));
	m->names = mem_alloc(d.names_size + 1);
	if (m->symbols && m->names &&
	    target_read(t, d.symbols, m->symbols, n * sizeof(Elf64_Sym)) &&
	    target_read(t, d.names, m->names, d.names_size)) {
		m->nsymbols = n;
		m->names_size = d.names_size;
	}
}

static bool is_defined(const Elf64_Sym *s)
{
	const unsigned type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && s->st_value &&
	       (type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC);
}

uint64_t target_symbol(const struct target *t, const struct target_module *m, const char *name)
{
	(void)t;
	for (size_t i = 0; i < m->nsymbols; i++)
		if (is_defined(&m->symbols[i]) && m->symbols[i].st_name < m->names_size &&
		    strcmp(m->names + m->symbols[i].st_name, name) == 0)
			return m->symbols[i].st_value + m->shift;
	return 0;
}

const char *target_function_at(const struct target_module *m, uint64_t at, size_t *next)
{
	while (*next < m->nsymbols) {
		const Elf64_Sym *const s = &m->symbols[(*next)++];

		if (is_defined(s) && ELF64_ST_TYPE(s->st_info) != STT_OBJECT &&
		    at - m->shift - s->st_value < s->st_size && s->st_name < m->names_size)
			return m->names + s->st_name;
	}
	return NULL;
}

static bool name_begins(const char *path, const char *with)
{
	const char *const slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, with, strlen(with)) == 0;
}

static void module_classify(const struct target *t, struct target_module *m)
{
	static const char *const libc[] = { "libc.so", "libc-2", "libpthread", "libdl.so",
					    "libdl-2", "librt.so", "librt-2" };

	m->is_linker = name_begins(m->path, "ld-linux") || name_begins(m->path, "ld-2") ||
		       target_symbol(t, m, "_dl_find_dso_for_object") != 0;
	for (size_t i = 0; i < sizeof(libc) / sizeof(libc[0]); i++)
		m->is_libc |= name_begins(m->path, libc[i]);
	m->is_recorder = target_symbol(t, m, ATTACH_STATE) != 0;
	m->allocates = !m->is_libc && !m->is_linker && target_symbol(t, m, "malloc") != 0;
}

/* Reads the file's headers, which its first mapping has. Returns false if they are missing. */
static bool module_read(const struct target *t, struct target_module *m)
{
	Elf64_Phdr p[SEGMENTS_MOST];
	uint64_t low = UINT64_MAX, high = 0, dynamic = 0;
	Elf64_Ehdr e;

	if (!target_read(t, m->first, &e, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(p[0]) ||
	    e.e_phnum > SEGMENTS_MOST ||
	    !target_read(t, m->first + e.e_phoff, p, e.e_phnum * sizeof(p[0])))
		return false;
	for (unsigned i = 0; i < e.e_phnum; i++)
		if (p[i].p_type == PT_LOAD) {
			low = p[i].p_vaddr < low ? p[i].p_vaddr : low;
			high = p[i].p_vaddr + p[i].p_memsz > high ? p[i].p_vaddr + p[i].p_memsz
								  : high;
		}
	if (low >= high)
		return false;
	m->shift = m->first - (low & ~(uint64_t)4095);
	m->end = high + m->shift;
	for (unsigned i = 0; i < e.e_phnum; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME) {
			m->frames = p[i].p_vaddr + m->shift;
			m->frames_size = p[i].p_memsz;
		} else if (p[i].p_type == PT_DYNAMIC) {
			dynamic = p[i].p_vaddr + m->shift;
		}
	if (dynamic)
		symbols_read(t, m, dynamic);
	return true;
}

struct target_module *target_module_at(struct target *t, uint64_t at)
{
	const struct target_map *const map = target_map_at(t, at);
	const struct target_map *head = map;
	struct target_module *m;

	for (size_t i = 0; i < t->nmodules; i++)
		if (at >= t->modules[i].first && at < t->modules[i].end)
			return &t->modules[i];
	if (!map || !*map->path)
		return NULL;
	while (head->offset && head > t->maps && strcmp(head[-1].path, map->path) == 0)
		head--;
	if (head->offset || !mem_grow((void **)&t->modules, &t->modules_cap, t->nmodules + 1,
				      sizeof(*t->modules), MODULES_MOST))
		return NULL;
	m = &t->modules[t->nmodules];
	*m = (struct target_module){ .path = head->path, .first = head->first };
	if (!module_read(t, m) || at >= m->end) {
		mem_free(m->symbols);
		mem_free(m->names);
		return NULL;
	}
	t->nmodules++;
	module_classify(t, m);
	return m;
}

/* --- opening --- */

static void forget(struct target *t)
{
	for (size_t i = 0; i < t->nmodules; i++) {
		mem_free(t->modules[i].symbols);
		mem_free(t->modules[i].names);
	}
	t->nmaps = t->nmodules = 0;
	arena_reset(&t->arena);
}

/* "FIRST-END rwxp OFFSET DEV INODE   PATH" */
static bool map_read(struct target *t, char *line)
{
	struct target_map *m;
	char *p = line;
	uint64_t first = strtoull(p, &p, 16), end;

	if (*p != '-' ||
	    !mem_grow((void **)&t->maps, &t->maps_cap, t->nmaps + 1, sizeof(*t->maps), MAPS_MOST))
		return false;
	end = strtoull(p + 1, &p, 16);
	if (*p != ' ' || strlen(p) < 6 || end <= first)
		return false;
	m = &t->maps[t->nmaps];
	*m = (struct target_map){ first, end, 0, p[3] == 'x', "" };
	m->offset = strtoull(p + 6, &p, 16);
	for (unsigned words = 0; words < 2 && *p; words++) {
		p += strspn(p, " ");
		p += strcspn(p, " ");
	}
	p += strspn(p, " ");
	if (*p)
		m->path = arena_strdup(&t->arena, p, strlen(p));
	t->nmaps++;
	return m->path;
}

bool target_look(struct target *t)
{
	char path[32], *text, *line, *end;
	bool good = true;

	forget(t);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t->pid);
	text = text_read(path);
	for (line = text; good && line && *line; line = end) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end++ = '\0';
		good = map_read(t, line);
	}
	mem_free(text);
	return text && good && t->nmaps;
}

void target_close(struct target *t)
{
	forget(t);
	mem_free(t->maps);
	mem_free(t->modules);
	arena_free(&t->arena);
	if (t->memory >= 0)
		os_close(t->memory);
	*t = (struct target){ .memory = -1 };
}

static bool same_namespace(pid_t pid, const char *name)
{
	char path[48];
	struct stat mine, its;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	if (os_stat(path, &mine) != 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return os_stat(path, &its) == 0 && mine.st_ino == its.st_ino && mine.st_dev == its.st_dev;
}

static enum spur_status memory_error(const struct target *t, struct spur_error *err)
{
	const int why = errno;

	return why == ENOENT ? err_set(err, SPUR_ERR_IO, "process %d: it has ended", (int)t->pid)
			     : err_set(err, SPUR_ERR_IO,
				       "process %d: expected one of your own, found: %s",
				       (int)t->pid, strerror(why));
}

enum spur_status target_open(struct target *t, pid_t pid, struct spur_error *err)
{
	char path[32], task[24];
	uint64_t state;

	*t = (struct target){ .pid = pid, .memory = -1 };
	arena_init(&t->arena);
	snprintf(task, sizeof(task), "%d", (int)pid);
	state = target_stat(task, 3);
	if (!state || state == 'X')
		return err_set(err, SPUR_ERR_IO, "process %d: expected a process, found none",
			       (int)pid);
	if (state == 'Z')
		return err_set(err, SPUR_ERR_IO, "process %d: it has ended", (int)pid);
	if (target_status(task, "Tgid", 10) != (uint64_t)pid)
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected a process, found a thread of process %" PRIu64,
			       (int)pid, target_status(task, "Tgid", 10));
	if (pid == os_getpid())
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected another process, found the recorder itself",
			       (int)pid);
	t->start_time = target_stat(task, 22);
	t->stack = target_stat(task, 28);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	t->memory = os_open(path, O_RDWR | O_CLOEXEC, 0);
	if (t->memory < 0)
		return memory_error(t, err);
	if (!same_namespace(pid, "ns/mnt") || !same_namespace(pid, "ns/pid") ||
	    !same_namespace(pid, "root"))
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected one with the recorder's files and processes, "
			       "found one in a container: run spur there",
			       (int)pid);
	return SPUR_OK;
}
