#!/usr/bin/env python3
"""
xray_images.py DIR [NAME...]: writes small files with XRay instrumentation maps into DIR: ELF of 32 and 64 bit, both byte
orders, all versions of entries, with and without relocations; Mach-O; programs with libraries; damaged ones. No code in
them runs. Unit and CLI tests and the fuzzer start from them. One function a file, named like it.
"""
import os
import struct
import sys

PROGBITS, SYMTAB, STRTAB, RELA, DYNAMIC, NOTE, NOBITS, REL, DYNSYM = 1, 2, 3, 4, 6, 7, 8, 9, 11
WRITE, ALLOC, EXEC = 1, 2, 4
ET_REL, ET_EXEC, ET_DYN = 1, 2, 3
I386, MIPS, PPC64, ARM, X86_64, AARCH64, S390, RISCV = 3, 8, 21, 40, 62, 183, 22, 243
ENTER, EXIT, TAIL, LOG_ARGS, CUSTOM, TYPED = range(6)
LOCAL, GLOBAL, WEAK = 0, 1, 2
CASES = []


def image(function):
    CASES.append((function.__name__.replace("_", "-"), function))
    return function


class Strings:
    def __init__(self):
        self.data = b"\0"

    def add(self, text):
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at if text else 0


class Elf:
    """Sections in order; addresses are given, offsets follow the order."""

    def __init__(self, bits=64, big=False, machine=X86_64, kind=ET_EXEC, base=0x400000, interp=False):
        self.bits, self.order, self.machine, self.kind, self.base, self.interp = bits, ">" if big else "<", machine, kind, base, interp
        self.sections = [("", 0, 0, 0, b"", 0, 0, 0)]

    @property
    def word(self):
        return self.bits // 8

    def pack(self, fmt, *values):
        """W is a word of the class; negative values wrap."""
        letter = "Q" if self.bits == 64 else "I"
        values = [v % (1 << self.bits) if f == "W" else v for f, v in zip([c for c in fmt if c != "x"], values)]
        return struct.pack(self.order + fmt.replace("W", letter), *values)

    def add(self, name, kind, flags, address, data, link=0, info=0, each=0):
        self.sections.append((name, kind, flags, address, data, link, info, each))
        return len(self.sections) - 1

    def text(self, address=None, size=0x100, name=".text"):
        return self.add(name, PROGBITS, ALLOC | EXEC, self.base + 0x1000 if address is None else address, b"\x90" * size)

    def symbols(self, syms, kind=SYMTAB, strings=None):
        """(name, value, size, bind, section, type)"""
        strings = strings or Strings()
        data = b"\0" * (24 if self.bits == 64 else 16)
        for name, value, size, bind, section, typ in syms:
            if self.bits == 64:
                data += self.pack("IBBHWW", strings.add(name), bind << 4 | typ, 0, section, value, size)
            else:
                data += self.pack("IWWBBH", strings.add(name), value, size, bind << 4 | typ, 0, section)
        prefix = ".sym" if kind == SYMTAB else ".dyn"
        text = self.add(prefix[:4] + "str", STRTAB, 0, 0, strings.data)
        return self.add(prefix + ("tab" if kind == SYMTAB else "sym"), kind, 0 if kind == SYMTAB else ALLOC, 0, data, text, 1,
                        24 if self.bits == 64 else 16)

    def entry(self, address, function, kind, always=0, version=0, at=None):
        """At `at` the addresses are relative."""
        if at is not None:
            address, function = address - at, function - at - self.word
        return self.pack("WWBBB", address, function, kind, always, version) + b"\0" * (2 * self.word - 3)

    def map(self, sleds, version=2, address=None, flags=ALLOC):
        address = self.base + 0x2000 if address is None else address
        data = b""
        for a, f, kind, always in sleds:
            data += self.entry(a, f, kind, always, version, address + len(data) if version >= 2 else None)
        return self.add("xray_instr_map", PROGBITS, flags, address, data)

    def relocations(self, name, relocs, link=0, info=0, rela=True, flags=ALLOC):
        """(offset, type, symbol, addend)"""
        data = b""
        for offset, typ, symbol, addend in relocs:
            if self.machine == MIPS and self.bits == 64 and self.order == "<":
                word = symbol | typ << 56
            else:
                word = symbol << 32 | typ if self.bits == 64 else symbol << 8 | typ
            data += self.pack("WW", offset, word)
            if rela:
                data += self.pack("W", addend)
        return self.add(name, RELA if rela else REL, flags, 0, data, link, info, (3 if rela else 2) * self.word)

    def dynamic(self, needed, flags1=0):
        strings = Strings()
        data = b"".join(self.pack("WW", 1, strings.add(n)) for n in needed)
        if flags1:
            data += self.pack("WW", 0x6ffffffb, flags1)
        text = self.add(".dynstr", STRTAB, ALLOC, 0, strings.data)
        return self.add(".dynamic", DYNAMIC, ALLOC, 0, data + self.pack("WW", 0, 0), text)

    def build_id(self, data):
        self.add(".note.gnu.build-id", NOTE, ALLOC, 0, self.pack("III", 4, len(data), 3) + b"GNU\0" + data)

    def bytes(self):
        names = Strings()
        rows = [(names.add(s[0]),) + s[1:] for s in self.sections]
        rows.append((names.add(".shstrtab"), STRTAB, 0, 0, names.data, 0, 0, 0))
        wide = self.bits == 64
        head_size, ph_size, sh_size = (64, 56, 64) if wide else (52, 32, 40)
        segments = [] if self.kind == ET_REL else [(1, self.base)] + ([(3, self.base)] if self.interp else [])
        body, table = b"", b""
        start = head_size + ph_size * len(segments)
        for name, kind, flags, address, data, link, info, each in rows:
            body += b"\0" * (-(start + len(body)) % 16)
            table += self.pack("IIWWWWIIWW", name, kind, flags, address, start + len(body), len(data), link, info, 1, each)
            if kind != NOBITS:
                body += data
        body += b"\0" * (-(start + len(body)) % 16)
        head = b"\x7fELF" + bytes([2 if wide else 1, 1 if self.order == "<" else 2, 1]) + b"\0" * 9
        head += self.pack("HHIWWWIHHHHHH", self.kind, self.machine, 1, 0, head_size if segments else 0, start + len(body), 0, head_size,
                          ph_size, len(segments), sh_size, len(rows), len(rows) - 1)
        for kind, address in segments:
            if wide:
                head += self.pack("IIWWWWWW", kind, 5, 0, address, address, 0x100, 0x100, 1)
            else:
                head += self.pack("IWWWWWII", kind, 0, address, address, 0x100, 0x100, 5, 1)
        return head + body + table


def two(elf, version, base=None):
    """Two functions, the second with arguments logged and a custom event."""
    a = (elf.base if base is None else base) + 0x1000
    b = a + 0x40
    return [(a, a, ENTER, 0), (a + 0x12, a, EXIT, 0), (b, b, LOG_ARGS, 1), (b + 8, b, CUSTOM, 1), (b + 0x20, b, TAIL, 1)]


def name_two(elf, base=None, kind=SYMTAB):
    a = (elf.base if base is None else base) + 0x1000
    elf.symbols([("local", a + 0x80, 8, LOCAL, 1, 2), ("_ZN1a3oneEi", a, 0x20, GLOBAL, 1, 2), ("two", a + 0x40, 0x30, GLOBAL, 1, 2)], kind)


@image
def v0_exec():
    """Absolute addresses, the old index."""
    e = Elf()
    e.text()
    e.map(two(e, 0), 0)
    at = e.base + 0x2000
    e.add("xray_fn_idx", PROGBITS, ALLOC, e.base + 0x3000, e.pack("WWWW", at, at + 64, at + 64, at + 160))
    name_two(e)
    e.build_id(bytes(range(1, 9)))
    return e.bytes()


@image
def v1_pie():
    """Zeros, and relative relocations that hold the addresses; the index too."""
    e = Elf(kind=ET_DYN, base=0)
    e.text()
    sleds, at = two(e, 1), 0x2000
    e.map([(0, 0, kind, always) for _, _, kind, always in sleds], 1, flags=ALLOC | WRITE)
    e.add("xray_fn_idx", PROGBITS, ALLOC | WRITE, 0x3000, b"\0" * 32)
    relocs = [(0x5000, 8, 0, 0x7777), (at + 1, 8, 0, 0x7777), (at + 16, 8, 0, 0)]
    for i, (address, function, _, _) in enumerate(sleds):
        relocs += [(at + 32 * i + 8, 8, 0, function), (at + 32 * i, 8, 0, address)]
    relocs += [(0x3000 + 8 * i, 8, 0, at + d) for i, d in enumerate((0, 64, 64, 160))]
    relocs[3] = (at + 8, 8, 0, sleds[0][1])
    e.relocations(".rela.dyn", relocs)
    name_two(e)
    return e.bytes()


@image
def v1_i386():
    """32 bit: 16 bytes an entry; addresses are in place, relocations have no addend."""
    e = Elf(bits=32, machine=I386, kind=ET_DYN, base=0)
    e.text()
    e.map(two(e, 1), 1)
    e.relocations(".rel.dyn", [(0x2000 + 4 * i, 8, 0, 0) for i in range(10)], rela=False)
    name_two(e)
    return e.bytes()


@image
def v2_arm():
    """32 bit and relative: functions below the map are negative offsets."""
    e = Elf(bits=32, machine=ARM, base=0x10000)
    e.text()
    e.map(two(e, 2))
    e.add("xray_fn_idx", PROGBITS, ALLOC, e.base + 0x3000, e.pack("WWWW", -0x1000, 2, -0x1000 + 32 - 8, 3))
    name_two(e)
    return e.bytes()


@image
def v2_s390():
    e = Elf(big=True, machine=S390, kind=ET_DYN, base=0)
    e.text()
    e.map(two(e, 2))
    name_two(e, kind=DYNSYM)
    return e.bytes()


@image
def v1_ppc():
    """Big-endian, 32 bit, absolute. A local entry is not where the function's symbol is."""
    e = Elf(bits=32, big=True, machine=20, base=0x10000000)
    e.text()
    a = e.base + 0x1000
    e.map([(a + 8, a + 8, ENTER, 0), (a + 0x20, a + 8, EXIT, 0)], 1)
    e.symbols([("global_entry", a, 4, GLOBAL, 1, 2)])
    return e.bytes()


@image
def v1_aarch64():
    """A library: sleds by relative relocations, functions by those of symbols."""
    e = Elf(machine=AARCH64, kind=ET_DYN, base=0)
    e.text()
    sleds, at = two(e, 1), 0x2000
    e.map([(0, 0, kind, always) for _, _, kind, always in sleds], 1, flags=ALLOC | WRITE)
    syms = e.symbols([("first", 0x1000, 0x20, GLOBAL, 1, 2), ("second", 0x1040, 0x30, GLOBAL, 1, 2), ("elsewhere", 0, 0, GLOBAL, 0, 2)], DYNSYM)
    relocs = [(at + 32 * i, 1027, 0, s[0]) for i, s in enumerate(sleds)]
    relocs += [(at + 32 * i + 8, 257, 1 if i < 2 else 2, 0) for i in range(4)] + [(at + 32 * 4 + 8, 257, 3, 0)]
    e.relocations(".rela.dyn", relocs, syms)
    return e.bytes()


@image
def v2_kinds():
    """Kinds that few readers know; the index counts; ids go beyond what is in order."""
    e = Elf()
    e.text()
    a = e.base + 0x1000
    e.map([(a, a, ENTER, 0), (a + 4, a, TYPED, 0), (a + 8, a, 9, 0), (a + 12, a, EXIT, 0)])
    e.add("xray_fn_idx", PROGBITS, ALLOC, e.base + 0x3000, e.pack("WW", -0x1000, 4))
    e.symbols([("kinds", a, 0x20, WEAK, 1, 2)])
    return e.bytes()


def indexed(ranges):
    """One address, four sleds; the index tells functions apart."""
    e = Elf()
    e.text()
    a = e.base + 0x1000
    e.map([(a, a, ENTER, 0), (a + 4, a, EXIT, 0), (a + 8, a, ENTER, 0), (a + 12, a, EXIT, 0)])
    data = b"".join(e.pack("WW", -0x1000 + 32 * first - 16 * i, n) for i, (first, n) in enumerate(ranges))
    e.add("xray_fn_idx", PROGBITS, ALLOC, e.base + 0x3000, data)
    e.symbols([("twice", a, 0x20, GLOBAL, 1, 2)])
    return e.bytes()


@image
def index_order():
    return indexed([(2, 2), (0, 2)])


@image
def index_overlap():
    return indexed([(0, 3), (2, 2)])


@image
def index_outside():
    return indexed([(0, 1 << 40)])


@image
def index_hole():
    return indexed([(0, 2), (3, 1)])


def relocatable(bits, big, machine, relative, rela=True, less=None):
    """
    Each function in a section of its own, at offset 0; the second map's function has a static name too. With `less` a word
    has a second relocation of that type, which subtracts a label: as LLVM writes it that of the entry, for both words,
    so that what is added is less by the place of the word in the entry.
    """
    e = Elf(bits, big, machine, ET_REL, 0)
    one, two_ = e.text(0, name=".text.one"), e.text(0, name=".text.two")
    w = e.word
    maps = []
    for _ in range(2):
        data = b"".join(e.pack("WWBBB", 0, 0, kind, 0, 2) + b"\0" * (2 * w - 3) for kind in (ENTER, EXIT))
        maps.append(e.add("xray_instr_map", PROGBITS, ALLOC, 0, data))
    syms = e.symbols([("", 0, 0, LOCAL, one, 3), ("", 0, 0, LOCAL, two_, 3), ("also_two", 0, 0x10, LOCAL, two_, 2),
                      ("_Z3onev", 0, 0x10, GLOBAL, one, 2), ("two", 0, 0x10, GLOBAL, two_, 2), ("exit_of_two", 12, 0, LOCAL, two_, 0)] +
                     [("", 4 * w * entry, 0, LOCAL, section, 0) for section in maps for entry in (0, 1)])
    for i, section in enumerate(maps):
        relocs = [(0, relative, 1 + i, 0), (w, relative, 4 + i, 0), (4 * w, relative, 1 if i == 0 else 6, 12 if i == 0 and rela else 0),
                  (5 * w, relative, 1 + i, 0)]
        if i == 0 and not rela:
            relocs[2] = (4 * w, relative, 6, 0)
        if less:
            relocs = [r for off, kind, symbol, addend in relocs
                      for r in ((off, kind, symbol, (addend - off % (4 * w)) % 2 ** bits),
                                (off, less, 7 + 2 * i + off // (4 * w), 0))]
        e.relocations(".rel" + ("a" if rela else "") + "xray_instr_map", relocs, syms, section, rela, 0)
    return e.bytes()


@image
def object_x86_64():
    return relocatable(64, False, X86_64, 24)


@image
def object_arm():
    return relocatable(32, False, ARM, 3, rela=False)


@image
def object_mips64el():
    return relocatable(64, False, MIPS, 248)


@image
def object_riscv():
    """An addition and a subtraction for each word."""
    return relocatable(64, False, RISCV, 36, less=40)


@image
def stripped():
    e = Elf()
    e.text()
    e.map(two(e, 2))
    return e.bytes()


@image
def no_map():
    e = Elf()
    e.text()
    return e.bytes()


@image
def empty_map():
    e = Elf()
    e.text()
    e.map([])
    return e.bytes()


@image
def debug_file():
    e = Elf()
    e.add("xray_instr_map", NOBITS, ALLOC, e.base + 0x2000, b"\0" * 96)
    return e.bytes()


@image
def odd_size():
    e = Elf()
    e.text()
    sleds = two(e, 2)
    at = e.map(sleds)
    s = e.sections[at]
    e.sections[at] = s[:4] + (s[4] + b"\0" * 12,) + s[5:]
    name_two(e)
    return e.bytes()


@image
def names_overlap():
    """A small table, in which every symbol's name is nearly all of it."""
    e = Elf()
    e.text()
    e.map(two(e, 2))
    strings = Strings()
    strings.add("n" * 40000)
    data = b"\0" * 24 + b"".join(e.pack("IBBHWW", 1, 0x12, 0, 1, e.base + 0x1000 + i, 1) for i in range(200))
    text = e.add(".strtab", STRTAB, 0, 0, strings.data)
    e.add(".symtab", SYMTAB, 0, 0, data, text, 1, 24)
    return e.bytes()


@image
def sections_overlap():
    """Many sections that are the whole file each."""
    e = Elf()
    e.text()
    e.map(two(e, 2))
    data = bytearray(e.bytes())
    table = struct.unpack_from("<Q", data, 40)[0]
    row = struct.pack("<IIQQQQIIQQ", 0, RELA, ALLOC, 0, 0, len(data), 0, 0, 1, 24)
    count = struct.unpack_from("<H", data, 60)[0]
    data += row * 40
    struct.pack_into("<H", data, 60, count + 40)
    assert table + 64 * count == len(data) - 64 * 40
    return bytes(data)


# ---- programs and libraries

def program(needed, name, interp=True, machine=X86_64):
    e = Elf(kind=ET_DYN, base=0, interp=interp, machine=machine)
    e.text()
    e.map([(0x1000, 0x1000, ENTER, 0), (0x1010, 0x1000, EXIT, 0)])
    e.symbols([(name, 0x1000, 0x20, GLOBAL, 1, 2)])
    e.dynamic(needed)
    return e.bytes()


def library(needed, name, registers=True, mapped=True):
    e = Elf(kind=ET_DYN, base=0)
    e.text()
    if mapped:
        e.map([(0x1000, 0x1000, ENTER, 0), (0x1010, 0x1000, EXIT, 0)])
    e.symbols([("__xray_register_dso" if registers else "other", 0, 0, GLOBAL, 0, 2), (name, 0x1000, 0x20, GLOBAL, 1, 2)], DYNSYM)
    e.dynamic(needed)
    return e.bytes()


@image
def prog():
    """liba and libb are independent; libc_ needs libd, which liba needs too; libplain has a map that is not listed."""
    return program(["liba.so", "libb.so", "libplain.so", "libbare.so", "libc.so.6"], "main")


@image
def prog2():
    return program(["libmissing.so", "liba.so", "libm.so.6"], "main2")


@image
def static_pie():
    """No interpreter: a flag tells that it is a program."""
    e = Elf(kind=ET_DYN, base=0)
    e.text()
    e.map([(0x1000, 0x1000, ENTER, 0)])
    e.symbols([("static_main", 0x1000, 0x20, GLOBAL, 1, 2)])
    e.dynamic([], 0x08000000)
    return e.bytes()


@image
def liba_so():
    return library(["libd.so", "libc.so.6"], "in_a")


@image
def libb_so():
    return library(["libc.so.6"], "in_b")


@image
def libd_so():
    """Needs who needs it: loaders stand that."""
    return library(["liba.so"], "in_d")


@image
def libplain_so():
    return library([], "in_plain", registers=False)


@image
def libbare_so():
    """Without a map; what it needs counts all the same."""
    return library(["libe.so"], "in_bare", mapped=False)


@image
def libe_so():
    return library([], "in_e")


@image
def many():
    """Seventeen libraries."""
    return program(["libn%d.so" % i for i in range(17)], "main_of_many")


def numbered(i):
    def make():
        return library([], "in_n%d" % i)
    make.__name__ = "libn%d_so" % i
    return image(make)


for number in range(17):
    numbered(number)


# ---- Mach-O

def macho(cpu=0x01000007, kind=2, sleds=(), version=2, symbols=(), relocs=(), magic=0xfeedfacf, uuid=None, segment=b"__DATA", index=None):
    """Sections __text at 0x1000 and xray_instr_map at 0x2000 (the object: at 0x100)."""
    map_at, text_at = (0x2000, 0x1000) if kind != 1 else (0x100, 0)
    data = b""
    for address, function, sled, always in sleds:
        if version >= 2:
            address, function = address - map_at - len(data), function - map_at - len(data) - 8
        data += struct.pack("<QQBBB13x", address % (1 << 64), function % (1 << 64), sled, always, version)
    strings, table = Strings(), b""
    for name, typ, section, value in symbols:
        table += struct.pack("<IBBHQ", strings.add(name), typ, section, 0, value)
    sections = [(b"__text", b"__TEXT", text_at, b"\x90" * 0x100, 0x80000400, b""),
                (b"xray_instr_map", segment, map_at, data, 0, b"".join(struct.pack("<II", *r) for r in relocs))]
    if index is not None:
        sections.append((b"xray_fn_idx", segment, map_at + 0x800, index, 0, b""))
    commands_size = 72 + 80 * len(sections) + 24 + (24 if uuid else 0)
    at = 32 + commands_size
    body, rows = b"", b""
    for name, seg, address, content, flags, rel in sections:
        rows += name.ljust(16, b"\0") + seg.ljust(16, b"\0")
        rows += struct.pack("<QQIIIIIIII", address, len(content), at + len(body), 0, at + len(body) + len(content), len(rel) // 8, flags, 0, 0, 0)
        body += content + rel
    segment_head = struct.pack("<II", 0x19, 72 + 80 * len(sections)) + b"\0" * 16
    segment_head += struct.pack("<QQQQIIII", 0, 0x4000, 0, 0, 7, 7, len(sections), 0)
    symtab = struct.pack("<IIIIII", 2, 24, at + len(body), len(symbols), at + len(body) + len(table), len(strings.data))
    commands = segment_head + rows + symtab + (struct.pack("<II", 0x1b, 24) + uuid if uuid else b"")
    head = struct.pack("<IIIIIIII", magic, cpu, 0, kind, 3 + bool(uuid), len(commands), 0, 0)
    return head + commands + body + table + strings.data


MAC_SLEDS = [(0x1000, 0x1000, ENTER, 1), (0x1010, 0x1000, EXIT, 1), (0x1040, 0x1040, ENTER, 0), (0x1060, 0x1040, TAIL, 0)]
MAC_SYMBOLS = [("_g", 0x0f, 2, 0x2000), ("ltmp0", 0x0e, 1, 0x1000), ("__Z3onev", 0x0f, 1, 0x1000), ("stab", 0x24, 1, 0x1040),
               ("_two", 0x0f, 1, 0x1040), ("_undefined", 1, 0, 0)]


@image
def macho_x86_64():
    return macho(sleds=MAC_SLEDS, symbols=MAC_SYMBOLS, uuid=bytes(range(16)), index=struct.pack("<qqqq", -0x800, 2, -0x810 + 64, 2))


@image
def macho_dylib():
    return macho(0x0100000c, 6, MAC_SLEDS, symbols=MAC_SYMBOLS, segment=b"__DATA_CONST")


@image
def macho_fat():
    """PowerPC first, which cannot have a map, then arm64."""
    one = macho(18, magic=0xfeedface)
    two_ = macho(0x0100000c, sleds=MAC_SLEDS[:2], symbols=MAC_SYMBOLS)
    head = struct.pack(">II", 0xcafebabe, 2) + struct.pack(">IIIII", 18, 0, 48, len(one), 0)
    head += struct.pack(">IIIII", 0x0100000c, 0, 48 + len(one), len(two_), 0)
    return head + one + two_


@image
def macho_fat64():
    one = macho(sleds=MAC_SLEDS[:2], symbols=MAC_SYMBOLS)
    return struct.pack(">II", 0xcafebabf, 1) + struct.pack(">IIQQII", 0x01000007, 0, 40, len(one), 0, 0) + one


@image
def macho_object():
    """Version 1: the words lack the value of the symbol."""
    sleds = [(0, 0, ENTER, 1), (0x12, 0, EXIT, 1)]
    relocs = [(at, 1 | 3 << 25 | 1 << 27) for at in (0, 8, 32, 40)] + [(0, 1 | 3 << 25)]
    return macho(kind=1, sleds=sleds, version=1, symbols=[("_other", 0x0f, 1, 0), ("_at_80", 0x0f, 1, 0x80)], relocs=relocs)


@image
def macho_object_relative():
    """Version 2: a subtractor of the section in front of each."""
    sleds = [(0, 0, ENTER, 0), (0x12, 0, EXIT, 0)]
    relocs = [r for at in (0, 8, 32, 40) for r in ((at, 2 | 3 << 25 | 5 << 28), (at, 1 | 3 << 25 | 1 << 27))]
    return macho(kind=1, sleds=sleds, symbols=[("_other", 0x0f, 1, 0), ("_at_80", 0x0f, 1, 0x80)], relocs=relocs)


@image
def macho_no_map():
    return macho(segment=b"__TEXT", sleds=MAC_SLEDS)


@image
def macho_32():
    return macho(7, magic=0xfeedface)


# ---- YAML

@image
def map_yaml():
    return b"""---
- { id: 1, address: 0x401000, function: 0x401000, kind: function-enter, always-instrument: false, function-name: 'a::one(int)', version: 2 }
- { id: 1, address: 0x401012, function: 0x401000, kind: typed-event, always-instrument: true, function-name: "two", version: 2 } # words
- id: 3
  address: 17
  function: 16
  other: [&a x, {y: *a}]
...
"""


def main():
    to, wanted = sys.argv[1], sys.argv[2:]
    os.makedirs(to, exist_ok=True)
    for name, make in CASES:
        name = name[:-3] + ".so" if name.endswith("-so") else name
        if not wanted or name in wanted:
            with open(os.path.join(to, name), "wb") as f:
                f.write(make())


if __name__ == "__main__":
    main()
