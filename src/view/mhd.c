#include "view/mhd.h"

#include <dlfcn.h>
#include <string.h>

enum spur_status mhd_open(struct mhd *m, struct spur_error *err)
{
	static const char name[] = "libmicrohttpd.so.12";
	void *function;

	memset(m, 0, sizeof(*m));
	m->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!m->library)
		return err_set(err, SPUR_ERR_IO,
			       "the viewer needs %s (Debian: apt install libmicrohttpd12): %s",
			       name, dlerror());
#define MHD_FIND(NAME)                                                             \
	function = dlsym(m->library, "MHD_" #NAME);                                \
	if (!function) {                                                           \
		mhd_close(m);                                                      \
		return err_set(err, SPUR_ERR_IO, "%s: expected MHD_" #NAME, name); \
	}                                                                          \
	memcpy(&m->NAME, &function, sizeof(function));
	MHD_FUNCTIONS(MHD_FIND)
#undef MHD_FIND
	return SPUR_OK;
}

void mhd_close(struct mhd *m)
{
	if (m->library)
		dlclose(m->library);
	memset(m, 0, sizeof(*m));
}
