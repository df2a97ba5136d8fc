/*
 * Loads a library, closes it by a call that no recorder sees, and loads it again: at the same place,
 * since nothing else was mapped.
 *
 *	reloaded PATH
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	int (*close_unseen)(void *) = (int (*)(void *))dlsym(libc, "dlclose");
	void *places[2];

	(void)argc;
	for (int i = 0; i < 10; i++) {
		void *module = dlopen(argv[1], RTLD_NOW);
		long (*plug)(long) = (long (*)(long))dlsym(module, "plug");

		places[i & 1] = (void *)plug;
		plug(i);
		close_unseen(module);
	}
	puts(places[0] == places[1] ? "same place" : "another place");
	return 0;
}
