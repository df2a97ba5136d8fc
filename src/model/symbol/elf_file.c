/*
 * Opening ELF files, and finding their separate debug files by build-id or .gnu_debuglink. Nothing
 * is looked for outside the given directories and the file's own; never over a network.
 */
#include "model/symbol/elf_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bits.h"
#include "base/os.h"

enum { OVERLAP = 4 /* times the file's size that its sections may have */ };

const char *elf_file_name(const struct elf_file *f, const GElf_Shdr *sh)
{
	const char *name = elf_string(&f->names, sh->sh_name);

	return name ? name : "";
}

Elf_Data *elf_file_data(Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = sh->sh_type == SHT_NOBITS ? NULL : elf_getdata(scn, NULL);

	return data && data->d_buf && data->d_size ? data : NULL;
}

struct elf_strings elf_file_strings(const struct elf_file *f, size_t section)
{
	Elf_Scn *scn = elf_getscn(f->elf, section);
	const Elf_Data *data;
	GElf_Shdr sh;

	data = scn && gelf_getshdr(scn, &sh) ? elf_file_data(scn, &sh) : NULL;
	if (!data || ((const char *)data->d_buf)[data->d_size - 1])
		return (struct elf_strings){ 0 };
	return (struct elf_strings){ data->d_buf, data->d_size };
}

Elf_Scn *elf_file_section(const struct elf_file *f, GElf_Word type, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn)) != NULL) {
		if (!gelf_getshdr(scn, sh) || sh->sh_type != type ||
		    (name && strcmp(elf_file_name(f, sh), name)))
			continue;
		if (elf_file_data(scn, sh))
			return scn;
	}
	return NULL;
}

/* Takes the build-id from notes, if it is among them. */
static bool read_id(struct elf_file *f, Elf_Data *notes)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr head;

	while (notes && (next = gelf_getnote(notes, at, &head, &name, &desc)) > at) {
		const char *bytes = notes->d_buf;

		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    !memcmp(bytes + name, "GNU", 4) && head.n_descsz &&
		    head.n_descsz <= ELF_ID_MAX) {
			memcpy(f->id, bytes + desc, head.n_descsz);
			f->id_len = head.n_descsz;
			return true;
		}
		at = next;
	}
	return false;
}

static void find_id(struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t n;

	while ((scn = elf_nextscn(f->elf, scn)) != NULL)
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
		    read_id(f, elf_file_data(scn, &sh)))
			return;
	if (elf_getphdrnum(f->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < INT_MAX; i++) {
		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_type != PT_NOTE ||
		    ph.p_offset > INT64_MAX)
			continue;
		if (read_id(f, elf_getdata_rawchunk(f->elf, (int64_t)ph.p_offset, ph.p_filesz,
						    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
			return;
	}
}

static void find_base(struct elf_file *f)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(f->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < INT_MAX && !f->has_base; i++) {
		if (gelf_getphdr(f->elf, (int)i, &ph) && ph.p_type == PT_LOAD) {
			f->base = ph.p_vaddr;
			f->has_base = true;
		}
	}
}

/*
 * Each section is looked at once by most readers: together they may not be much more than the file.
 */
static bool is_sound(const struct elf_file *f, uint64_t size)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(f->elf, scn)) != NULL) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size > size)
			continue;
		sum += sh.sh_size;
		if (sum / OVERLAP > size)
			return false;
	}
	return true;
}

void elf_file_close(struct elf_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		os_close(f->fd);
	f->elf = NULL;
	f->fd = -1;
}

enum spur_status elf_file_open(struct elf_file *f, const char *path, struct spur_error *err)
{
	struct stat st;
	size_t names;

	/* A FIFO must not make us wait. */
	*f = (struct elf_file){ .fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
					      0) };
	if (f->fd < 0)
		return err_set(err, SPUR_ERR_IO, "%s: expected a readable ELF file, found: %s",
			       path, strerror(errno));
	if (os_fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		elf_file_close(f);
		return err_set(err, SPUR_ERR_IO, "%s: expected an ELF file, found no regular file",
			       path);
	}
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &f->head) ||
	    elf_getshdrstrndx(f->elf, &names) != 0) {
		elf_file_close(f);
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected an ELF file, found something else", path);
	}
	if (!is_sound(f, (uint64_t)st.st_size)) {
		elf_file_close(f);
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected an ELF file, found sections that overlap", path);
	}
	f->names = elf_file_strings(f, names);
	find_base(f);
	find_id(f);
	return SPUR_OK;
}

/*
 * The candidate is taken if it is of the same build: by build-id, or by the checksum of
 * .gnu_debuglink.
 */
struct search {
	const struct elf_file *f;
	const char *link; /* name of .gnu_debuglink, or NULL */
	uint32_t checksum;
};

static bool checksum_is(int fd, uint32_t want)
{
	unsigned char buf[1 << 14];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = os_pread(fd, buf, sizeof(buf), at)) > 0) {
		sum = crc32(sum, buf, (uInt)n);
		at += n;
	}
	return n == 0 && sum == want;
}

static bool try_file(struct elf_file *debug, const struct search *s, const char *path)
{
	if (elf_file_open(debug, path, NULL) == SPUR_FAIL)
		return false;
	if (s->f->id_len
		    ? debug->id_len == s->f->id_len && !memcmp(debug->id, s->f->id, s->f->id_len)
		    : checksum_is(debug->fd, s->checksum))
		return true;
	elf_file_close(debug);
	return false;
}

static bool try_path(struct elf_file *debug, const struct search *s, const char *dir,
		     size_t dir_len, const char *below, size_t below_len, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s%.*s%s", (int)dir_len, dir, (int)below_len, below,
			 name);

	return n > 0 && (size_t)n < sizeof(path) && try_file(debug, s, path);
}

/* .gnu_debuglink: a file name, zeros to a multiple of four, a checksum. */
static void find_link(struct search *s)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(s->f, SHT_PROGBITS, ".gnu_debuglink", &sh);
	Elf_Data *data = scn ? elf_file_data(scn, &sh) : NULL;
	const char *bytes = data ? data->d_buf : NULL;
	size_t len = data ? strnlen(bytes, data->d_size) : 0, sum_at = align_up(len + 1, 4);

	if (!len || len > NAME_MAX || memchr(bytes, '/', len) || data->d_size < 4 ||
	    sum_at > data->d_size - 4)
		return;
	s->link = bytes;
	s->checksum = load32((const uint8_t *)bytes + sum_at,
			     order_swaps(s->f->head.e_ident[EI_DATA] == ELFDATA2MSB));
}

static void id_name(char *name, size_t size, const struct elf_file *f)
{
	size_t n = (size_t)snprintf(name, size, "/.build-id/%02x/", f->id[0]);

	for (size_t i = 1; i < f->id_len && n + 2 < size; i++)
		n += (size_t)snprintf(name + n, size - n, "%02x", f->id[i]);
	snprintf(name + n, size - n, ".debug");
}

bool elf_file_debug(struct elf_file *debug, const struct elf_file *f, const char *path,
		    const char *dirs)
{
	struct search s = { .f = f };
	char by_id[2 * ELF_ID_MAX + 32], real[PATH_MAX];
	const char *slash;
	size_t below;

	find_link(&s);
	id_name(by_id, sizeof(by_id), f);
	if (!os_realpath(path, real))
		return false;
	slash = strrchr(real, '/');
	below = slash ? (size_t)(slash - real) + 1 : 0;
	if (s.link && (try_path(debug, &s, real, below, "", 0, s.link) ||
		       try_path(debug, &s, real, below, ".debug/", 7, s.link)))
		return true;
	for (const char *dir = dirs ? dirs : "/usr/lib/debug", *end; *dir;
	     dir = *end ? end + 1 : end) {
		size_t len;

		end = strchrnul(dir, ':');
		len = (size_t)(end - dir);
		if (!len)
			continue;
		if (f->id_len > 1 && try_path(debug, &s, dir, len, "", 0, by_id))
			return true;
		if (s.link && (try_path(debug, &s, dir, len, real, below, s.link) ||
			       try_path(debug, &s, dir, len, "/", 1, s.link)))
			return true;
	}
	return false;
}
