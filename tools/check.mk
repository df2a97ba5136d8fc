# `make check`, lint and fuzzing; included by the Makefile.

# Everything: set-up, builds by gcc, by clang, with sanitizers and for fuzzing, then all suites of all builds in one queue. The last
# line is the total.
check:
	@tools/install-deps
	@$(MAKE) $(PARALLEL) QUIET=1 check-builds
	@tests/run --check --build=$(BUILD) --fuzz-seconds=$(CHECK_FUZZ_SECONDS) --minutes=$(CHECK_MINUTES) --slowest=12

# $(call build,TITLE,VARIABLES AND TARGETS)
build = @began=$$(date +%s); $(MAKE) --no-print-directory $(2) && \
	{ [ ! -t 1 ] || printf '\r\033[K'; } && echo "$(1): built ($$(($$(date +%s) - began)) s)"
FUZZ := $(BUILD)/fuzz
FUZZ_BUILD = BUILD=$(FUZZ) CC=clang SAN=fuzzer-no-link,address,undefined OPT='-O1 -g'

check-builds: $(addprefix check-build-,gcc clang san fuzz)
check-build-gcc:
	+$(call build,gcc,CC=gcc test-programs)
check-build-clang:
	+$(call build,clang,BUILD=$(BUILD)/clang CC=clang test-programs)
check-build-san:
	+$(call build,sanitizers,BUILD=$(BUILD)/san CC=clang SAN=address$(COMMA)undefined OPT='-O1 -g' test-programs)
check-build-fuzz:
	+$(call build,fuzzing,fuzzers)

# The time for all tests, after which those that run are ended; `make check-long` needs more.
CHECK_MINUTES ?= 76
CHECK_FUZZ_SECONDS ?= 10
check-long:
	@$(MAKE) --no-print-directory CHECK_FUZZ_SECONDS=60 CHECK_MINUTES=240 check

lint:
	@tests/run --build=$(BUILD) lint

# Runs until FUZZ_SECONDS are over or something is found; goldens and bad cases are the first inputs.
$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/libspur-all.a
	$(call say,CC,$<)
	@$(CC) $(CFLAGS_ALL) -Itests -fsanitize=fuzzer $(LDFLAGS_ALL) -o $@ $< $(filter %.o,$^) $(BUILD)/libspur-all.a $(LDLIBS_ALL)

$(BUILD)/fuzz_view $(BUILD)/fuzz_view-faults: $(VIEW_OBJ)

# The same with failing allocations and threads: calls of the fuzzer go through tests/fuzz/faults.c.
FAULTS_WRAP := LLVMFuzzerTestOneInput pthread_create spur_open source_memory filter_new meta_read xray_maps_open pass_run view_answer
$(BUILD)/fuzz_%-faults: tests/fuzz/fuzz_%.c tests/fuzz/faults.c $(BUILD)/tests/mem-faults.o $(BUILD)/libspur-all.a
	$(call say,CC,$< with faults)
	@$(CC) $(CFLAGS_ALL) -Itests -fsanitize=fuzzer $(LDFLAGS_ALL) $(FAULTS_WRAP:%=-Wl,--wrap=%) -o $@ $(filter-out %.a,$^) \
		$(BUILD)/libspur-all.a $(LDLIBS_ALL)

ALL_FUZZERS := $(FUZZERS) $(FUZZERS:%=%-faults)
fuzzers:
	@$(MAKE) --no-print-directory $(FUZZ_BUILD) $(ALL_FUZZERS:%=$(FUZZ)/fuzz_%)

$(addprefix fuzz-,$(ALL_FUZZERS)): fuzz-%:
	@$(MAKE) --no-print-directory $(FUZZ_BUILD) $(FUZZ)/fuzz_$*
	@mkdir -p $(FUZZ)/corpus-$* $(FUZZ)/found
	@tests/fuzz/corpus $(*:-faults=) $(FUZZ)/seeds-$*
	$(FUZZ)/fuzz_$* -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1 $(FUZZ_FIXED) \
		-artifact_prefix=$(FUZZ)/found/$*- $(FUZZ)/corpus-$* $(FUZZ)/seeds-$*

.PHONY: check check-long lint fuzzers check-builds check-build-gcc check-build-clang check-build-san check-build-fuzz \
	$(addprefix fuzz-,$(ALL_FUZZERS))
