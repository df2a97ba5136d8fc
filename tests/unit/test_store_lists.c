/* The lists of a store, flows and losses, against its rows, and notes against what reading told. */
#include "format/format.h"
#include "unit/subject.h"

static bool is_flow(const struct store_item *i)
{
	return i->kind == SPUR_FLOW_BEGIN || i->kind == SPUR_FLOW_STEP || i->kind == SPUR_FLOW_END;
}

/* The next item of the same name, category and id in time, looked for among all. */
static bool flow_search(const struct store *s, const struct store_place *at,
			const struct store_item *of, bool back, struct store_place *out)
{
	struct store_label a, b;
	bool found = false;
	struct store_item i;

	store_label(s, of->label, &a);
	for (uint32_t l = 0; l < store_facts(s).lanes; l++)
		for (uint64_t n = 0; store_item(s, l, n, &i); n++) {
			const struct store_place p = { l, n, i.start };
			const bool before = p.start != at->start ? p.start < at->start
					    : p.lane != at->lane ? p.lane < at->lane
								 : p.number < at->number;
			const bool nearer =
				!found || (p.start != out->start ? p.start < out->start
					   : p.lane != out->lane ? p.lane < out->lane
								 : p.number < out->number);

			if (!is_flow(&i) || i.id != of->id || !store_label(s, i.label, &b) ||
			    a.name.p != b.name.p || a.cat.p != b.cat.p ||
			    (l == at->lane && n == at->number) || before != back ||
			    (found && nearer == back))
				continue;
			*out = p;
			found = true;
		}
	if (!found || !store_item(s, out->lane, out->number, &i))
		return false;
	return i.kind != (back ? SPUR_FLOW_END : SPUR_FLOW_BEGIN);
}

static size_t steps, losses, notes, timed, stacks;

/* SPEC store/flows */
static void flows_compare(const struct store *s, const char *path)
{
	size_t tried = 0;

	for (uint32_t l = 0; l < store_facts(s).lanes; l++) {
		struct store_item i;

		for (uint64_t n = 0; tried < 200 && store_item(s, l, n, &i); n++) {
			const struct store_place at = { l, n, i.start };

			if (!is_flow(&i))
				continue;
			tried++;
			for (int back = 0; back < 2; back++) {
				struct store_place want = { 0 }, got;
				const bool found = flow_search(s, &at, &i, back, &want);

				if (store_flow_step(s, l, n, back, &got) != found)
					fail_msg("%s: lane %u, %llu", path, l,
						 (unsigned long long)n);
				if (!found)
					continue;
				steps++;
				assert_int_equal(got.lane, want.lane);
				assert_int_equal(got.number, want.number);
				assert_true(got.start == want.start);
			}
		}
	}
}

/* SPEC store/losses */
static void losses_compare(const struct subject *s)
{
	struct store_lost lost;
	int64_t last = INT64_MIN;
	uint64_t n = 0, rows = 0, count = 0, want = 0;

	for (; store_lost(s->store, n, &lost); n++) {
		assert_true(lost.ts >= last && lost.track < store_facts(s->store).tracks);
		last = lost.ts;
		count += lost.count;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].kind == SPUR_LOST) {
			rows++;
			want += s->rows[i].id;
		}
	assert_int_equal(n, rows);
	assert_true(count == want);
	losses += n;
}

/* SPEC store/note-time: a note has the time of an event behind its place in the file. */
static void notes_compare(const struct subject *s)
{
	struct store_note note;
	uint64_t n = 0;

	for (; store_note(s->store, n, &note); n++) {
		bool found = !note.timed;

		for (size_t i = 0; i < s->n && !found; i++)
			found = s->rows[i].ts == note.ts && s->rows[i].off >= note.off;
		assert_true(found && note.text.len && note.code.len);
		timed += note.timed;
	}
	assert_int_equal(n != 0, (store_facts(s->store).facts & STORE_NOTED) != 0);
	notes += n;
}

/* Returns true if the stack at hand is that of the row. */
static bool is_stack_of(const struct subject *s, const struct store_stack *k,
			const struct spur_event *row)
{
	uint32_t cls[64];

	return k->n <= 64 && s->trace->format->stack(s->trace, row, cls, 64) == k->n &&
	       !memcmp(cls, k->labels, k->n * sizeof(*cls)) && k->ts == row->ts &&
	       k->track == row->track && k->self == (uint64_t)row->dur &&
	       k->calls == (row->id ? row->id : 1);
}

static uint64_t stacks_count(const struct subject *s)
{
	uint64_t n = 0;

	for (size_t i = 0; s->trace->format->stack && i < s->n; i++)
		n += s->rows[i].kind == SPUR_SAMPLE &&
		     s->trace->format->stack(s->trace, &s->rows[i], NULL, 0);
	return n;
}

/* SPEC store/stacks: those of the rows, in the order of tracks and times. */
static void stacks_compare(const struct subject *s, const struct store *store)
{
	struct store_stack k, last = { .ts = INT64_MIN };
	uint64_t n = 0;

	for (; store_stack(store, n, &k); n++) {
		bool found = false;

		assert_true(k.track > last.track || (k.track == last.track && k.ts >= last.ts));
		assert_true(store_stack_from(store, k.track, k.ts) <= n);
		for (size_t i = 0; i < s->n && !found; i++)
			found = s->rows[i].kind == SPUR_SAMPLE && is_stack_of(s, &k, &s->rows[i]);
		assert_true(found);
		last = k;
	}
	assert_int_equal(n, stacks_count(s));
	assert_int_equal(n != 0, (store_facts(store).facts & STORE_STACKS) != 0);
	stacks += n;
}

static void lists_compare(struct subject *s, const char *path)
{
	flows_compare(s->store, path);
	losses_compare(s);
	notes_compare(s);
	stacks_compare(s, s->store);
	/* The one that was written has the same lists. */
	stacks_compare(s, store_writer_view(s->writer));
	flows_compare(store_writer_view(s->writer), path);
}

static void test_lists(void **state)
{
	(void)state;
	assert_true(each_golden(lists_compare) >= 150);
	assert_true(steps >= 20 && losses >= 5 && notes >= 10 && timed >= 3 && stacks >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
