/*
 * libmicrohttpd, loaded when a server is started: it brings libraries for TLS with it, which no
 * other command should wait for, and the program runs where it is not installed.
 */
#ifndef SPUR_VIEW_MHD_H
#define SPUR_VIEW_MHD_H

#include <microhttpd.h>

#include "base/err.h"

#define MHD_FUNCTIONS(X)                                                                  \
	X(start_daemon)                                                                   \
	X(stop_daemon)                                                                    \
	X(get_daemon_info) X(get_connection_info) X(http_unescape) X(queue_response)      \
		X(create_response_from_buffer) X(add_response_header) X(destroy_response) \
			X(get_connection_values)

/* The functions of the library without their prefix MHD_. */
struct mhd {
#define MHD_MEMBER(NAME) __typeof__(&MHD_##NAME) NAME;
	MHD_FUNCTIONS(MHD_MEMBER)
#undef MHD_MEMBER
	void *library;
};

/* Loads it. Returns SPUR_FAIL, with the error set, if it is not installed, or too old. */
enum spur_status mhd_open(struct mhd *m, struct spur_error *err);
void mhd_close(struct mhd *m);

#endif
