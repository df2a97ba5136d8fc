/* What a track belongs to: its thread, its process, its process id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/fake_trace.h"

static uint32_t add(struct spur_trace *t, uint32_t parent, enum spur_track_kind kind, int64_t pid,
		    int64_t tid)
{
	return trace_add_track(
		t, (struct spur_track){
			   .parent = parent, .kind = kind, .pid = pid, .tid = tid, .cpu = -1 });
}

static void belonging(void **state)
{
	struct spur_trace *t = fake_trace_new();
	uint32_t top, process, thread, lane, cpu, orphan, counter, beside;

	(void)state;
	assert_non_null(t);
	top = add(t, SPUR_NONE, SPUR_TRACK_OTHER, -1, -1);
	process = add(t, top, SPUR_TRACK_PROCESS, 5, -1);
	thread = add(t, process, SPUR_TRACK_THREAD, -1, 6);
	lane = add(t, thread, SPUR_TRACK_LANE, -1, -1);
	cpu = add(t, top, SPUR_TRACK_CPU, -1, -1);
	orphan = add(t, SPUR_NONE, SPUR_TRACK_THREAD, 9, 9);
	beside = add(t, process, SPUR_TRACK_LANE, -1, -1);
	counter = add(t, process, SPUR_TRACK_COUNTER, -1, -1);

	assert_int_equal(trace_process_of(t, lane), process);
	assert_int_equal(trace_process_of(t, thread), process);
	assert_int_equal(trace_process_of(t, process), process);
	assert_int_equal(trace_process_of(t, beside), process);
	assert_int_equal(trace_process_of(t, counter), process);
	assert_int_equal(trace_process_of(t, cpu), top);
	assert_int_equal(trace_process_of(t, top), top);
	assert_int_equal(trace_process_of(t, orphan), orphan);

	assert_int_equal(trace_pid_of(t, lane), 5);
	assert_int_equal(trace_pid_of(t, thread), 5);
	assert_int_equal(trace_pid_of(t, counter), 5);
	assert_int_equal(trace_pid_of(t, cpu), -1);
	assert_int_equal(trace_pid_of(t, orphan), 9);
	assert_int_equal(trace_pid_of(t, SPUR_NONE), -1);

	assert_int_equal(trace_thread_of(t, thread), thread);
	assert_int_equal(trace_thread_of(t, cpu), SPUR_NONE);
	assert_int_equal(trace_thread_of(t, counter), SPUR_NONE);
	fake_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(belonging),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
