/* What the library and a trace are: names, versions, facts. */
#include "api/api.h"
#include "format/format.h"

const char *spur_format_name(const struct spur_trace *t)
{
	return api_given(NULL, "spur_format_name", t, "a trace") ? t->format->name : "";
}

const char *spur_format_version(const struct spur_trace *t)
{
	return api_given(NULL, "spur_format_version", t, "a trace") && t->version ? t->version : "";
}

const char *spur_byte_order(const struct spur_trace *t)
{
	return api_given(NULL, "spur_byte_order", t, "a trace") ? t->byte_order : "";
}

size_t spur_info_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_info_count", t, "a trace") ? t->ninfo : 0;
}

bool spur_info(const struct spur_trace *t, size_t i, struct spur_info *out)
{
	if (!api_given(NULL, "spur_info", t, "a trace") ||
	    !api_given(t, "spur_info", out, "a place for the fact"))
		return false;
	*out = (struct spur_info){ 0 };
	if (i >= t->ninfo)
		return false;
	*out = (struct spur_info){ t->info[i].key, t->info[i].value, t->info[i].len };
	return true;
}

const char *spur_version(void)
{
	return SPUR_VERSION;
}
