# Manual, completion, installation and packages; included by the Makefile.

man: $(BUILD)/spur
	@mkdir -p $(BUILD)/man
	@$(BUILD)/spur man > $(BUILD)/man/spur.1
	@for c in $(COMMANDS); do $(BUILD)/spur man $$c > $(BUILD)/man/spur-$$c.1 || exit 1; done
	@tools/man3 $(BUILD)/man

$(BUILD)/spur.pc: spur.pc.in Makefile FORCE
	@sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' $< > $@

MANDIR := $(DESTDIR)$(PREFIX)/share/man/man1
MAN3DIR := $(DESTDIR)$(PREFIX)/share/man/man3
BASH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
# Debian's zsh looks for those of packages in vendor-completions.
ZSH_DIR ?= $(PREFIX)/share/zsh/site-functions
ZSH_COMPLETIONS := $(DESTDIR)$(ZSH_DIR)
FISH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

# The program with what belongs to it, such as what it loads into programs that it records, without the library.
PRIVATE_LIB := $(DESTDIR)$(PREFIX)/lib/spur
install-program: $(BUILD)/spur $(BUILD)/libspur-record.so.$(VERSION) man
	install -d $(DESTDIR)$(PREFIX)/bin $(PRIVATE_LIB) $(MANDIR) $(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS)
	install -m 755 $(BUILD)/spur $(DESTDIR)$(PREFIX)/bin/spur
	install -m 644 $(BUILD)/libspur-record.so.$(VERSION) $(PRIVATE_LIB)/libspur-record.so
	install -m 644 $(BUILD)/man/*.1 $(MANDIR)
	$(BUILD)/spur completion bash > $(BASH_COMPLETIONS)/spur
	$(BUILD)/spur completion zsh > $(ZSH_COMPLETIONS)/_spur
	$(BUILD)/spur completion fish > $(FISH_COMPLETIONS)/spur.fish

install: all install-program $(BUILD)/spur.pc
	install -d $(DESTDIR)$(PREFIX)/include/spur $(DESTDIR)$(LIBDIR)/pkgconfig $(MAN3DIR)
	install -m 644 $(BUILD)/man/*.3 $(MAN3DIR)
	install -m 644 include/spur.h $(DESTDIR)$(PREFIX)/include/spur.h
	install -m 644 include/spur/*.h $(DESTDIR)$(PREFIX)/include/spur
	install -m 644 include/spur_trace.h $(DESTDIR)$(PREFIX)/include/spur_trace.h
	install -d $(DESTDIR)$(PREFIX)/share/spur
	install -m 644 $(BUILD)/spur_trace.c $(DESTDIR)$(PREFIX)/share/spur/spur_trace.c
	install -m 755 $(BUILD)/libspur-trace.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libspur-trace.so.$(VERSION)
	ln -sf libspur-trace.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libspur-trace.so.$(SOVERSION)
	ln -sf libspur-trace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libspur-trace.so
	install -m 644 $(BUILD)/libspur-trace.a $(DESTDIR)$(LIBDIR)/libspur-trace.a
	install -m 755 $(BUILD)/libspur-record.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libspur-record.so.$(VERSION)
	ln -sf libspur-record.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libspur-record.so.$(SOVERSION)
	ln -sf libspur-record.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libspur-record.so
	install -m 644 $(BUILD)/libspur-record.a $(DESTDIR)$(LIBDIR)/libspur-record.a
	install -m 755 $(BUILD)/$(SO) $(DESTDIR)$(LIBDIR)/$(SO)
	ln -sf $(SO) $(DESTDIR)$(LIBDIR)/libspur.so.$(SOVERSION)
	ln -sf libspur.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libspur.so
	install -m 644 $(BUILD)/libspur.a $(DESTDIR)$(LIBDIR)/libspur.a
	install -m 644 $(BUILD)/spur.pc $(DESTDIR)$(LIBDIR)/pkgconfig/spur.pc

# Packages of the program, below $(BUILD)/.
deb: $(BUILD)/spur
	@tools/make-deb $(BUILD) $(VERSION)

# Linked with all libraries but that of C. The objects are those of $(BUILD).
STATIC_LIBS := -Wl,-Bstatic $(filter -l%,$(filter-out -lm,$(LIBS))) -Wl,-Bdynamic -lm -ldl -pthread
tarball: $(CLI_OBJ) $(BUILD)/libspur-all.a
	@mkdir -p $(BUILD)/static
	$(call say,LD,$(BUILD)/static/spur)
	@$(CC) $(LDFLAGS_ALL) -static-libgcc -o $(BUILD)/static/spur $^ $(STATIC_LIBS) $(LDLIBS)
	@tools/make-tarball $(BUILD) $(VERSION)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/spur $(DESTDIR)$(PREFIX)/include/spur.h $(DESTDIR)$(LIBDIR)/pkgconfig/spur.pc
	rm -f $(DESTDIR)$(LIBDIR)/libspur.a $(DESTDIR)$(LIBDIR)/libspur.so $(DESTDIR)$(LIBDIR)/libspur.so.*
	rm -f $(DESTDIR)$(PREFIX)/include/spur_trace.h $(DESTDIR)$(LIBDIR)/libspur-trace.* $(DESTDIR)$(LIBDIR)/libspur-record.*
	rm -rf $(DESTDIR)$(PREFIX)/share/spur
	rm -rf $(DESTDIR)$(PREFIX)/include/spur $(PRIVATE_LIB)
	rm -f $(MANDIR)/spur.1 $(addprefix $(MANDIR)/spur-,$(addsuffix .1,$(COMMANDS)))
	rm -f $(MAN3DIR)/spur_*.3
	rm -f $(BASH_COMPLETIONS)/spur $(ZSH_COMPLETIONS)/_spur $(FISH_COMPLETIONS)/spur.fish

.PHONY: man install install-program deb tarball uninstall
