/* The last error of a trace. */
#include "api/api.h"

bool spur_last_error(const struct spur_trace *t, struct spur_error *err)
{
	struct api_state *s;

	if (!api_given(NULL, "spur_last_error", t, "a trace") ||
	    !api_given(t, "spur_last_error", err, "a place for the error"))
		return false;
	*err = (struct spur_error){ .offset = DIAG_NO_OFF };
	s = __atomic_load_n(&t->api, __ATOMIC_ACQUIRE);
	if (s) {
		pthread_mutex_lock(&s->lock);
		if (s->last.code)
			*err = s->last;
		pthread_mutex_unlock(&s->lock);
	}
	/* If even the record of the error did not fit into memory. */
	if (!err->code && trace_short_of_memory(t))
		err_set(err, SPUR_ERR_MEMORY, "out of memory");
	return err->code;
}
