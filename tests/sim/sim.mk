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
