/* See target.h. */
#include "cli/target.h"

#include "pass/convert.h"

const char *target_word(size_t i)
{
	return spur_writers[i] ? spur_writers[i]->name : NULL;
}

bool target_take(struct values *v, const char *text)
{
	const struct spur_writer *writer = writer_find(text);
	struct convert_options *own = v->own;

	if (writer)
		own->to = writer->name;
	return writer;
}
