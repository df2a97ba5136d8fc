/* The panel of damage, notes and lost events, and where they are in the overview. */
#include <string.h>

#include "tui/tui.h"

enum { SHOWN_MOST = 1000 }; /* of notes, and of losses */

/* What a line of the panel tells. */
struct damage {
	const char *kind;
	bool timed;
	int64_t ts;
	uint64_t off, count;
	struct store_text file, text;
};

void tui_damage_count(struct tui *t)
{
	struct store_note note;
	struct store_lost lost;

	t->nnotes = t->nlost = 0;
	while (t->nnotes < SHOWN_MOST && store_note(t->store, t->nnotes, &note))
		t->nnotes++;
	while (t->nlost < SHOWN_MOST && store_lost(t->store, t->nlost, &lost))
		t->nlost++;
}

/*
 * While the store grows, what the trace had told before, of which no time is known. A terminal
 * follows no trace, so the list does not change while it is shown.
 */
static bool damage_of_trace(const struct tui *t, size_t i, struct damage *out)
{
	bool known;

	*out = (struct damage){ .off = UINT64_MAX };
	pthread_mutex_lock(&t->view->reading);
	known = i < t->view->ntold;
	if (known) {
		out->kind = t->view->told[i].is_damage ? "damage" : "note";
		out->text =
			(struct store_text){ t->view->told[i].text, strlen(t->view->told[i].text) };
	}
	pthread_mutex_unlock(&t->view->reading);
	return known;
}

static bool damage_at(const struct tui *t, size_t i, struct damage *out)
{
	struct store_note note;
	struct store_lost lost;

	if (!store_facts(t->store).done)
		return damage_of_trace(t, i, out);
	if (i < t->nnotes && store_note(t->store, i, &note)) {
		*out = (struct damage){ .kind = note.is_damage ? "damage" : "note",
					.timed = note.timed,
					.ts = note.ts,
					.off = note.off,
					.file = note.file,
					.text = note.text };
		return true;
	}
	if (i < t->nnotes || !store_lost(t->store, i - t->nnotes, &lost))
		return false;
	*out = (struct damage){
		.kind = "lost", .timed = true, .ts = lost.ts, .off = UINT64_MAX, .count = lost.count
	};
	return true;
}

size_t tui_damage_lines(const struct tui *t)
{
	return store_facts(t->store).done ? t->nnotes + t->nlost
					  : spur_damage_count(t->view->trace);
}

void tui_damage_line(const struct tui *t, size_t line, struct glyph *row, size_t room)
{
	const struct glyph plain = { 0 };
	struct damage d;
	size_t x;

	if (!damage_at(t, line, &d))
		return;
	x = glyphs_printf(t->screen, row, room, (struct glyph){ .color = COLOR_HINT }, "%-7s",
			  d.kind);
	if (d.timed)
		x += glyphs_printf(t->screen, row + x, room - x, plain,
				   "at %lld ns: ", (long long)(d.ts - t->view->zero));
	if (d.count)
		x += glyphs_printf(t->screen, row + x, room - x, plain, "%llu event%s",
				   (unsigned long long)d.count, d.count == 1 ? "" : "s");
	else if (!d.text.len)
		x += glyphs_printf(t->screen, row + x, room - x, plain, "number of events unknown");
	if (d.file.len) {
		x += glyphs_text(t->screen, row + x, room - x, d.file.p, d.file.len, plain);
		x += glyphs_printf(
			t->screen, row + x, room - x, plain,
			d.off == UINT64_MAX ? ": " : ":0x%llx: ", (unsigned long long)d.off);
	}
	if (d.text.len)
		glyphs_text(t->screen, row + x, room - x, d.text.p, d.text.len, plain);
}

void tui_damage_go(struct tui *t)
{
	const int64_t half = (tui_window_end(t) - t->window.t0) / 2;
	struct damage d;

	if (!damage_at(t, t->line, &d) || !d.timed) {
		tui_say(t, false, "its time is not known");
		return;
	}
	tui_go(t, d.ts > t->view->zero + half ? d.ts - half : t->view->zero, t->window.step);
}

void tui_damage_ticks(const struct tui *t, struct glyph *cells, size_t n)
{
	const int64_t zero = t->view->zero;
	const uint64_t all = (uint64_t)tui_end(t) - (uint64_t)zero;
	struct damage d;

	for (size_t i = 0; store_facts(t->store).done && damage_at(t, i, &d); i++) {
		uint64_t at;

		if (!d.timed || d.ts < zero || !strcmp(d.kind, "note"))
			continue;
		at = (uint64_t)((unsigned __int128)((uint64_t)d.ts - (uint64_t)zero) * n / all);
		cells[at < n ? at : n - 1] = (struct glyph){ .ch = L'!', .color = COLOR_ALARM };
	}
}
