# Tests of failures and crashes: the sources that call the system are compiled again, so that their calls go through the
# table of tests/sim/os_sim.c; everything else comes from the library.
SIM_SRC := $(shell grep -l '"base/os.h"' $(LIB_SRC)) src/cli/output.c src/cli/signals.c
SIM_OBJ := $(SIM_SRC:%.c=$(BUILD)/sim/%.o) $(BUILD)/sim/tests/sim/os_sim.o

$(BUILD)/sim/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< for tests)
	@$(CC) $(CFLAGS_ALL) -DSPUR_OS_TEST -Itests -MMD -MP -c -o $@ $<

$(BUILD)/tests/test_base_sim: tests/unit/test_base_sim.c $(SIM_OBJ) $(BUILD)/libspur-all.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) $(CFLAGS_ALL) -DSPUR_OS_TEST -Itests $(LDFLAGS_ALL) -MMD -MP -o $@ $< $(SIM_OBJ) \
		$(BUILD)/libspur-all.a $(LDLIBS_ALL) -lcmocka

# The tracing library on a simulated machine (tests/sim/record). Its sources and the simulated program are compiled with
# -fsanitize=thread, so that the compiler calls the machine before each access; those calls get names of their own. Their static data
# is gathered in two sections, so that the machine can set it back, and give each process its own.
RECORD_SIM_SRC := $(sort $(wildcard record/*.c)) tests/sim/record/scenario.c
RECORD_SIM_OBJ := $(RECORD_SIM_SRC:%.c=$(BUILD)/sim/stepped/%.o)
RECORD_MACHINE := $(patsubst %.c,$(BUILD)/sim/%.o,$(filter-out %/scenario.c,$(wildcard tests/sim/record/*.c)))
# Functions of the C library that write to memory of the library: the machine has its own.
RECORD_SIM_CALLS := memcpy memmove memset strcpy stpcpy strncpy
RECORD_SIM_FLAGS := -std=c17 -D_GNU_SOURCE -Iinclude -Isrc -Itests/sim/record -fPIC -pthread $(WARN) -O1 -g

-include $(patsubst %.o,%.d,$(RECORD_SIM_OBJ) $(RECORD_MACHINE))

$(BUILD)/sim/stepped/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< for the simulator)
	@$(CC) $(RECORD_SIM_FLAGS) -fsanitize=thread $(RECORD_SIM_CALLS:%=-fno-builtin-%) -DSPUR_RECORD_SIM '-DSPUR_TRACE_SEAM="trace_seam.h"' -MMD -MP -c -o $@ $<

$(BUILD)/sim/tests/sim/record/%.o: tests/sim/record/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) $(RECORD_SIM_FLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/sim/record-stepped.o: $(RECORD_SIM_OBJ)
	@ld -r -o $@.all $^
	@nm -u $@.all | sed -n 's/^ *U __tsan_\(.*\)/__tsan_\1 sim_tsan_\1/p' > $@.names
	@printf '%s\n' $(foreach f,$(RECORD_SIM_CALLS),'$(f) sim_$(f)') >> $@.names
	@objcopy --redefine-syms=$@.names --rename-section .data=sim_data --rename-section .data.rel=sim_data \
		--rename-section .data.rel.local=sim_data --rename-section .bss=sim_bss,alloc,load,data,contents \
		--set-section-flags .bss=alloc,load,data,contents $@.all $@
	@rm $@.all $@.names

RECORD_SIM_TESTS := $(BUILD)/tests/test_record_sim $(BUILD)/tests/test_record_orders
$(RECORD_SIM_TESTS): $(BUILD)/tests/%: tests/unit/%.c $(BUILD)/sim/record-stepped.o $(RECORD_MACHINE) $(BUILD)/libspur-all.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	@$(CC) $(CFLAGS_ALL) -Itests $(LDFLAGS_ALL) -MMD -MP -o $@ $< $(BUILD)/sim/record-stepped.o $(RECORD_MACHINE) \
		$(BUILD)/libspur-all.a $(LDLIBS_ALL) -lcmocka

# What takes too long for make check: more orders, and a million seeds.
sim-long: $(RECORD_SIM_TESTS)
	@SPUR_SIM_ORDERS=1 $(BUILD)/tests/test_record_orders
	@SPUR_SIM_FROM=1 SPUR_SIM_RUNS=1000000 $(BUILD)/tests/test_record_sim
.PHONY: sim-long
