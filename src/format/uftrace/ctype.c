/* Types of C as print formats and casts name them: their sizes, and whether they have a sign. */
#include "format/uftrace/printfmt.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

enum { LONG_SIZE = 0 };

static const struct {
	const char *name;
	uint8_t size;
	bool is_unsigned;
} type_names[] = {
	{ "char", 1, false },
	{ "short", 2, false },
	{ "int", 4, false },
	{ "u8", 1, true },
	{ "__u8", 1, true },
	{ "uint8_t", 1, true },
	{ "s8", 1, false },
	{ "__s8", 1, false },
	{ "int8_t", 1, false },
	{ "u16", 2, true },
	{ "__u16", 2, true },
	{ "uint16_t", 2, true },
	{ "__le16", 2, true },
	{ "__be16", 2, true },
	{ "s16", 2, false },
	{ "__s16", 2, false },
	{ "int16_t", 2, false },
	{ "u32", 4, true },
	{ "__u32", 4, true },
	{ "uint32_t", 4, true },
	{ "__le32", 4, true },
	{ "__be32", 4, true },
	{ "uint", 4, true },
	{ "s32", 4, false },
	{ "__s32", 4, false },
	{ "int32_t", 4, false },
	{ "u64", 8, true },
	{ "__u64", 8, true },
	{ "uint64_t", 8, true },
	{ "__le64", 8, true },
	{ "__be64", 8, true },
	{ "s64", 8, false },
	{ "__s64", 8, false },
	{ "int64_t", 8, false },
	{ "size_t", LONG_SIZE, true },
	{ "ssize_t", LONG_SIZE, false },
	{ "ulong", LONG_SIZE, true },
	{ "uintptr_t", LONG_SIZE, true },
	{ "intptr_t", LONG_SIZE, false },
	{ "pid_t", 4, false },
	{ "uid_t", 4, true },
	{ "gid_t", 4, true },
	{ "dev_t", 4, true },
	{ "gfp_t", 4, true },
	{ "sector_t", 8, true },
	{ "blkcnt_t", 8, true },
	{ "loff_t", 8, false },
	{ "ino_t", LONG_SIZE, true },
	{ "umode_t", 2, true },
	{ "fmode_t", 4, true },
	{ "time_t", LONG_SIZE, false },
	{ "time64_t", 8, false },
	{ "ktime_t", 8, false },
	{ "clockid_t", 4, false },
	{ "pgoff_t", LONG_SIZE, true },
	{ "dma_addr_t", 8, true },
	{ "phys_addr_t", 8, true },
	{ "resource_size_t", 8, true },
	{ "isolate_mode_t", 4, true },
	{ "blk_opf_t", 4, true },
	{ "ext4_lblk_t", 4, true },
	{ "ext4_fsblk_t", 8, true },
	{ "tid_t", 4, true },
	{ "key_serial_t", 4, false },
	{ "xfs_ino_t", 8, true },
	{ "xfs_agnumber_t", 4, true },
	{ "xfs_daddr_t", 8, false },
};

static void type_word(struct c_type *t, struct text word, unsigned long_size, unsigned *longs)
{
	if (text_is(word, "unsigned")) {
		t->is_unsigned = true;
	} else if (text_is(word, "long")) {
		t->size = ++*longs > 1 ? 8 : long_size;
		return;
	} else if (text_is(word, "bool") || text_is(word, "_Bool")) {
		*t = (struct c_type){ .size = 1, .is_unsigned = true, .is_bool = true };
	} else if (text_is(word, "enum")) {
		*t = (struct c_type){ .size = 4, .is_unsigned = true };
	}
	if (!t->size && (text_is(word, "unsigned") || text_is(word, "signed"))) {
		t->size = 4;
		return;
	}
	for (size_t i = 0; i < sizeof(type_names) / sizeof(*type_names); i++) {
		if (!text_is(word, type_names[i].name))
			continue;
		if (text_is(word, "int") && t->size) /* long int, short int, unsigned int */
			return;
		t->size = type_names[i].size == LONG_SIZE ? long_size : type_names[i].size;
		t->is_unsigned |= type_names[i].is_unsigned;
	}
}

struct c_type c_type_of(struct text text, unsigned long_size)
{
	struct c_type t = { 0 };
	unsigned longs = 0;
	size_t i = 0, start;

	while (i < text.len) {
		if (text.p[i] == '*')
			t.pointer = true;
		if (!is_word(text.p[i])) {
			i++;
			continue;
		}
		for (start = i; i < text.len && is_word(text.p[i]);)
			i++;
		type_word(&t, text_make(text.p + start, i - start), long_size, &longs);
	}
	return t;
}
