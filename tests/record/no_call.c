/*
 * Runs a program in which a call of the system fails with EPERM: no_call NUMBER[,NUMBER] PROGRAM
 * [ARG...]. Exit code 77: filters are not available.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *const other = argc > 2 ? strchr(argv[1], ',') : NULL;
	const unsigned first = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	const unsigned second = other ? (unsigned)atoi(other + 1) : first;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	execv(argv[2], argv + 2);
	return 1;
}
