/* See name.h. */
#include "style/llvm-xray/name/name.h"

#include "model/symbol/demangle.h"
#include "style/llvm-xray/options.h"

enum llvm_xray_naming llvm_xray_naming(const struct event_class *c)
{
	if (!(c->flags & CLASS_UNKNOWN))
		return NAME_KNOWN;
	return c->module ? NAME_ADDRESS : NAME_NUMBER;
}

void llvm_xray_name(struct out *o, const struct pass_env *env, const struct event_class *c,
		    uint64_t id)
{
	size_t len;
	const char *raw = trace_string(env->trace, c->raw ? c->raw : c->name, &len);

	if (llvm_xray_naming(c) == NAME_ADDRESS)
		out_printf(o, "@(%llx)", (unsigned long long)c->addr);
	else if (llvm_xray_naming(c) == NAME_NUMBER)
		out_printf(o, "#%llu", (unsigned long long)id);
	else if (env->opt->demangle == DEMANGLE_NONE)
		out_bytes(o, raw, len);
	else
		demangle_llvm(o, raw, len, llvm_version(llvm_xray_options(env)->version));
}
