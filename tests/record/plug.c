/* Loads and unloads libraries in turn; the second has the first one's base name. */
#include <dlfcn.h>
#include <stdio.h>

static int use(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*entry)(int);
	int r;

	if (!lib)
		return puts(dlerror());
	*(void **)&entry = dlsym(lib, "entry");
	r = entry(2);
	dlclose(lib);
	return r;
}

int main(void)
{
	return use("./libone.so") + use("./other/libone.so") + use("./libtwo.so") == 0;
}
