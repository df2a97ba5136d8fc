# Spur. `make demo` and `make check` are the two commands; `make help` lists the rest.
VERSION := $(shell sed -n 's/^\#define SPUR_VERSION "\(.*\)"/\1/p' include/spur.h)
SOVERSION := 0
COMMA := ,
ifeq ($(origin CC),default)
CC = gcc
endif
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
BUILD ?= build
SAN ?=
OPT ?= -O2 -g
FUZZ_SECONDS ?= 600
QUIET ?=

# `make demo` and `make check` use all CPUs unless -j says otherwise.
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
PARALLEL = --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))
# $(call say,CC,FILE): a line a file; with QUIET=1 one line that changes on a terminal, and nothing elsewhere.
say = @$(if $(QUIET),[ ! -t 1 ] || printf '\r\033[K  %s %s' $(1) $(2),echo "  $(1) $(2)")

WARN := -Wall -Wextra -Wshadow -Wconversion -Werror
CFLAGS_ALL := -std=c17 -D_GNU_SOURCE -Iinclude -Isrc -I$(BUILD)/gen -fPIC -pthread $(WARN) $(OPT) \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -DSPUR_ABORT_ON_MISUSE) $(CFLAGS)
LIBS := -ldw -lelf -l:libiberty.a -lyaml -lz -lzstd -ljansson -lbz2 -llzma -lcrypto -lm -pthread
LDLIBS_ALL := $(LIBS) $(LDLIBS)
LDFLAGS_ALL := $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)

# A format, a pass, a command is a file: adding one touches no list.
FORMATS := $(sort $(filter-out format loss writer,$(patsubst src/format/%.c,%,$(wildcard src/format/*.c))))
COMMANDS := $(sort $(patsubst src/cli/cmd_%.c,%,$(wildcard src/cli/cmd_*.c)))
# Parts that passes share stand in folders below src/pass; src/style/TOOL/NAME.c is the pass TOOL_NAME.
PASSES := $(sort $(filter-out pass,$(patsubst src/pass/%.c,%,$(wildcard src/pass/*.c))) \
	$(subst -,_,$(subst /,_,$(patsubst src/style/%.c,%,$(wildcard src/style/*/*.c)))))
# A writer is src/export/NAME.c, or src/format/NAME/write.c for a format that is read too.
WRITERS := $(sort $(patsubst src/export/%.c,%,$(wildcard src/export/*.c)) \
	$(patsubst src/format/%/write.c,%,$(wildcard src/format/*/write.c)))
LIB_SRC := $(sort $(wildcard $(foreach d,base model format export flow store render pass style api, \
	$(addprefix src/$(d)/,*.c */*.c */*/*.c))))
CLI_SRC := $(sort $(wildcard src/cli/*.c src/recorder/*.c src/tui/*.c src/view/*.c))
PAGE := $(sort $(wildcard src/view/web/*))
# What answers the viewer's requests, without the server: for the tests that ask it directly.
VIEW_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/http.c %/mhd.c %/serve.c,$(wildcard src/view/*.c))) $(BUILD)/gen/page.o
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(addprefix $(BUILD)/gen/,formats.o writers.o passes.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/commands.o $(BUILD)/gen/page.o
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/%)
GENERATORS := $(patsubst bench/%.c,$(BUILD)/%,$(wildcard bench/gen-*.c))
FUZZERS := $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))

# ---- build

all: $(BUILD)/spur lib

# Everything but the command line, for programs inside the tree.
$(BUILD)/libspur-all.a: $(LIB_OBJ)
	@rm -f $@
	@ar rcs $@ $^

$(BUILD)/spur: $(CLI_OBJ) $(BUILD)/libspur-all.a
	$(call say,LD,$@)
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS_ALL)

# The library for others: only what src/spur.map lists is visible, in the shared and in the static one.
SO := libspur.so.$(VERSION)
lib: $(BUILD)/$(SO) $(BUILD)/libspur.a $(BUILD)/libspur-trace.so.$(VERSION) $(BUILD)/libspur-trace.a \
	$(BUILD)/spur_trace.c $(BUILD)/libspur-record.so.$(VERSION) $(BUILD)/libspur-record.a

$(BUILD)/$(SO): $(LIB_OBJ) src/spur.map
	$(call say,LD,$@)
	@$(CC) $(LDFLAGS_ALL) -shared $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,libspur.so.$(SOVERSION) -Wl,--version-script=src/spur.map -o $@ $(LIB_OBJ) $(LDLIBS_ALL)
	@ln -sf $(SO) $(BUILD)/libspur.so.$(SOVERSION)
	@ln -sf libspur.so.$(SOVERSION) $(BUILD)/libspur.so

$(BUILD)/libspur.a: $(LIB_OBJ) src/spur.map
	$(call say,LD,$@)
	@rm -f $@
	@sed -n 's/^	\(spur_[a-z_]*\);/\1/p' src/spur.map > $(BUILD)/libspur.symbols
	@ld -r -o $(BUILD)/libspur.o $(LIB_OBJ)
	@objcopy --keep-global-symbols=$(BUILD)/libspur.symbols $(BUILD)/libspur.o
	@ar rcs $@ $(BUILD)/libspur.o

# The tracing library, which is linked into programs that are traced: without sanitizers, and with nothing of libspur.
TRACE_FLAGS := -std=c11 -D_GNU_SOURCE -Iinclude -fPIC -pthread -fvisibility=default $(WARN) $(OPT)

$(BUILD)/record/%.o: record/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) $(TRACE_FLAGS) $(PART_FLAGS) -MMD -MP -c -o $@ $<

TRACE_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard record/*.c)))

# One object, in which the parts' own names are local.
$(BUILD)/libspur-trace.a: $(TRACE_OBJ)
	@rm -f $@
	@ld -r -o $(BUILD)/libspur-trace.o $^
	@objcopy --localize-hidden $(BUILD)/libspur-trace.o
	@ar rcs $@ $(BUILD)/libspur-trace.o

# One source file, for programs that do not want a library.
$(BUILD)/spur_trace.c: tools/amalgamate $(wildcard record/*.[ch]) src/format/spur/wire.h
	@tools/amalgamate > $@

$(BUILD)/libspur-trace.so.$(VERSION): $(TRACE_OBJ)
	$(call say,LD,$@)
	@$(CC) -shared -pthread -Wl,-z,defs -Wl,-soname,libspur-trace.so.$(SOVERSION) -o $@ $^
	@ln -sf $(@F) $(BUILD)/libspur-trace.so.$(SOVERSION)
	@ln -sf libspur-trace.so.$(SOVERSION) $(BUILD)/libspur-trace.so

# The tracing library with hooks for functions: `spur record` loads it into programs. Hooks are for x86-64; what they enter must leave
# vector registers alone. What replaces functions of other libraries is in the shared library only.
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
HOOK_SRC := $(sort $(wildcard record/hook/*.c record/hook/*.S))
$(BUILD)/record/page.o: PART_FLAGS := -mgeneral-regs-only
endif
HOOK_OBJ := $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(HOOK_SRC))))
HOOK_SHARED := $(addprefix $(BUILD)/record/hook/,attach.o replace.o jump.o)
$(addprefix $(BUILD)/record/hook/,args.o call.o keep.o record.o): HOOK_FLAGS := -mgeneral-regs-only

$(BUILD)/record/hook/%.o: record/hook/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) $(TRACE_FLAGS) -fno-stack-protector $(HOOK_FLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/record/hook/%.o: record/hook/%.S
	@mkdir -p $(@D)
	$(call say,AS,$<)
	@$(CC) -MMD -MP -c -o $@ $<

$(BUILD)/libspur-record.so.$(VERSION): $(TRACE_OBJ) $(HOOK_OBJ)
	$(call say,LD,$@)
	@$(CC) -shared -pthread -Wl,-z,defs -Wl,-z,now -Wl,-soname,libspur-record.so.$(SOVERSION) -o $@ $^ -ldl
	@ln -sf $(@F) $(BUILD)/libspur-record.so.$(SOVERSION)
	@ln -sf libspur-record.so.$(SOVERSION) $(BUILD)/libspur-record.so

$(BUILD)/libspur-record.a: $(TRACE_OBJ) $(filter-out $(HOOK_SHARED),$(HOOK_OBJ))
	@rm -f $@
	@ld -r -o $(BUILD)/libspur-record.o $^
	@objcopy --localize-hidden $(BUILD)/libspur-record.o
	@ar rcs $@ $(BUILD)/libspur-record.o

# The tables are written anew only when the set of files changes: $(call table,HEADER,STRUCT,PREFIX,ARRAY,NAMES). Two makes may do so
# at the same time.
define table
	@mkdir -p $(@D)
	@new=$@.$$$$; { echo '#include "$(1)"'; \
	   for n in $(5); do echo "extern const struct $(2) $(3)$$n;"; done; \
	   echo 'const struct $(2) *const $(4)[] = {'; \
	   for n in $(5); do echo "	&$(3)$$n,"; done; echo '	NULL,'; echo '};'; } > $$new; \
	 if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
endef

$(BUILD)/gen/formats.c: FORCE
	$(call table,format/format.h,spur_format,spur_format_,spur_formats,$(FORMATS))

$(BUILD)/gen/writers.c: FORCE
	$(call table,format/writer.h,spur_writer,spur_writer_,spur_writers,$(WRITERS))

$(BUILD)/gen/passes.c: FORCE
	$(call table,pass/pass.h,spur_pass,spur_pass_,spur_passes,$(PASSES))

$(BUILD)/gen/commands.c: FORCE
	$(call table,cli/cmd.h,spur_cmd,spur_cmd_,spur_cmds,$(COMMANDS))

# The viewer's page, as it is in src/view/web, is part of the program; and its modules as one script, for pages that are one file.
$(BUILD)/gen/saved.bundle.js: $(PAGE) tools/bundle
	@mkdir -p $(@D)
	@tools/bundle saved.js $(PAGE) > $@

$(BUILD)/gen/page.S: $(PAGE) $(BUILD)/gen/saved.bundle.js tools/embed
	@tools/embed $(PAGE) $(BUILD)/gen/saved.bundle.js > $@

$(BUILD)/gen/page.o: $(BUILD)/gen/page.S
	@$(CC) -c -o $@ $<

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	@$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/libspur-all.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) $(CFLAGS_ALL) -Itests $(LDFLAGS_ALL) -MMD -MP -o $@ $< $(filter %.o,$^) $(BUILD)/libspur-all.a $(LDLIBS_ALL) -lcmocka

$(BUILD)/tests/test_view: $(VIEW_OBJ)

# The program whose n-th allocation fails where SPUR_FAIL_AT=n is set; for tests only, never installed.
$(BUILD)/tests/mem-faults.o: src/base/mem.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) -DSPUR_FAULTS -MMD -MP -c -o $@ $<

$(BUILD)/tests/spur-faults: $(CLI_OBJ) $(BUILD)/tests/mem-faults.o $(BUILD)/libspur-all.a
	$(call say,LD,$@)
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS_ALL)

include tests/sim/sim.mk

$(BUILD)/gen-%: bench/gen-%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) -std=c17 -D_GNU_SOURCE $(WARN) -O2 -o $@ $<

# Programs that sum all values of a trace, by the public interface and by libbabeltrace2 if that is installed.
DECODERS := $(BUILD)/decode $(if $(shell pkg-config --exists babeltrace2 2>/dev/null && echo y),$(BUILD)/decode-babeltrace2)

$(BUILD)/decode: bench/decode.c $(BUILD)/libspur.a
	$(call say,CC,$<)
	@$(CC) -std=c17 $(WARN) -O2 -Iinclude -o $@ $< $(BUILD)/libspur.a $(LDLIBS_ALL)

$(BUILD)/decode-babeltrace2: bench/decode-babeltrace2.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) -std=c17 $(WARN) -O2 -o $@ $< $$(pkg-config --cflags --libs babeltrace2)

include tools/install.mk

# ---- tests

unit: $(UNIT_BIN)
	@for t in $(UNIT_BIN); do $$t || exit 1; done

# What the test runner needs in one build directory.
test-programs: all $(UNIT_BIN) $(GENERATORS) $(BUILD)/tests/spur-faults

# One build, every suite: what to run while working.
test: test-programs
	@tests/run --build=$(BUILD)

include tools/check.mk

bench: $(BUILD)/spur lib $(GENERATORS) $(DECODERS)
	@bench/run --build=$(BUILD) $(BENCH_ARGS)

demo:
	@tools/install-deps build
	@echo "building $(BUILD)/spur ..."
	+$(call build,$(BUILD)/spur,$(PARALLEL) QUIET=1 all)
	@tools/demo $(BUILD)

# The committed state alone, as on another machine.
clone-test:
	rm -rf $(BUILD)/clone
	git clone -q . $(BUILD)/clone
	SPUR_TRACES=$${SPUR_TRACES:-$(abspath ../shared/traces)} $(MAKE) -C $(BUILD)/clone check

clean:
	rm -rf $(BUILD)

help:
	@echo 'make demo        install what is missing, build, show a report of a recorded program'
	@echo 'make check       install what is missing, run every test (gcc, clang, sanitizers, fuzzing, lint)'
	@echo 'make check-long  the same with 60 s of fuzzing a format'
	@echo 'make             the program and the library, below $(BUILD)/'
	@echo 'make test        one build, all suites;  tests/run --help: parts of it'
	@echo 'make lint        the style and architecture checks'
	@echo 'make bench       Spur against the formats'\'' own tools on >= 1 GB;  BENCH_ARGS="--quick"'
	@echo 'make install     DESTDIR=, PREFIX=$(PREFIX);  make uninstall'
	@echo 'make deb         a Debian package;  make tarball: an archive that needs the C library alone'
	@echo 'make clone-test  make check in a fresh clone of the last commit'
	@for f in $(FUZZERS); do echo "make fuzz-$$f   FUZZ_SECONDS=$(FUZZ_SECONDS)"; done
	@echo 'Variables: JOBS (of demo and check), CC, SAN=address,undefined, OPT, CFLAGS, LDFLAGS, BUILD=$(BUILD)'

FORCE:
.PHONY: all lib unit test-programs test bench demo clone-test clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:
-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CLI_OBJ) $(SIM_OBJ) $(TRACE_OBJ) $(HOOK_OBJ)) $(UNIT_BIN:%=%.d) $(BUILD)/tests/mem-faults.d
