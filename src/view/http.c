/* The server: libmicrohttpd on the loopback interface. gate.c says which requests it answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/mem.h"
#include "base/os.h"
#include "view/gate.h"
#include "view/mhd.h"
#include "view/view.h"

enum {
	CONNECTIONS_MOST = 64,
	TIMEOUT_S = 10,
	TOKEN_BYTES = VIEW_TOKEN / 2,
	MEMORY = 65536, /* of a connection */
	TARGET_MOST = MEMORY / 2 - 1024, /* bytes of a request's path and parameters */
};

struct view_server {
	struct mhd mhd;
	struct view *view;
	struct MHD_Daemon *daemon;
	struct view_gate gate;
	char url[96];
	int64_t last; /* atomic */
};

static int64_t now_s(void)
{
	struct timespec t;

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* --- answers --- */

/* Everything that the page loads is its own; frames are forbidden. */
#define POLICY                                                                            \
	"default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " \
	"frame-ancestors 'none'"

static enum MHD_Result queue(const struct view_server *s, struct MHD_Connection *c, unsigned status,
			     const char *type, struct MHD_Response *r)
{
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	s->mhd.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	s->mhd.add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	s->mhd.add_response_header(r, "Content-Security-Policy", POLICY);
	s->mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
	s->mhd.add_response_header(r, "Referrer-Policy", "no-referrer");
	s->mhd.add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	result = s->mhd.queue_response(c, status, r);
	s->mhd.destroy_response(r);
	return result;
}

static enum MHD_Result refuse(const struct view_server *s, struct MHD_Connection *c,
			      unsigned status, const char *text)
{
	return queue(s, c, status, "text/plain; charset=utf-8",
		     s->mhd.create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
							MHD_RESPMEM_PERSISTENT));
}

/* --- files of the page --- */

static const char *file_type(const char *name)
{
	const char *const dot = strrchr(name, '.');

	if (dot && !strcmp(dot, ".js"))
		return "text/javascript; charset=utf-8";
	return dot && !strcmp(dot, ".css") ? "text/css; charset=utf-8" : "text/html; charset=utf-8";
}

static enum MHD_Result send_file(const struct view_server *s, struct MHD_Connection *c,
				 const char *name)
{
	for (const struct view_file *f = view_files; f->name; f++)
		if (!strcmp(f->name, name))
			return queue(s, c, MHD_HTTP_OK, file_type(name),
				     s->mhd.create_response_from_buffer((size_t)(f->end - f->begin),
									(void *)(uintptr_t)f->begin,
									MHD_RESPMEM_PERSISTENT));
	return refuse(s, c, MHD_HTTP_NOT_FOUND, "The viewer has no such file.\n");
}

/* --- requests --- */

struct header_reader {
	const struct view_gate *gate;
	struct view_headers headers;
};

static enum MHD_Result add_header(void *cls, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	struct header_reader *const h = cls;

	(void)kind;
	view_gate_header(h->gate, name, value, &h->headers);
	return MHD_YES;
}

/*
 * Names and values that the library took apart of the request that the thread is at, which it does
 * for one at a time: from check_target() to handle() or an error.
 */
static _Thread_local size_t parts;

/*
 * Called for each name and value, in place of the library's own function.
 *
 * What a zero byte in the request's line hides from check_target() is taken apart too. If there are
 * too many parameters in it, the connection ends before its memory is full (see check_target()).
 */
static size_t unescape(void *cls, struct MHD_Connection *c, char *text)
{
	enum { PARTS_MOST = 2 * VIEW_ARGS_MOST + 1 }; /* the path is one, too */
	const struct view_server *const s = cls;
	const union MHD_ConnectionInfo *info;

	parts++;
	if (parts > PARTS_MOST) {
		info = s->mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			os_shutdown(info->connect_fd, SHUT_RDWR);
	}
	return s->mhd.http_unescape(text);
}

/*
 * Called with the path and the parameters of a request before the library takes them apart. Returns
 * why the request is to be refused, or NULL.
 *
 * The library keeps a record of each parameter in the connection's memory. If that is full, version
 * 0.9.75 never answers: the request of too many parameters goes on without them. The memory that is
 * left by a target of TARGET_MOST bytes has room for VIEW_ARGS_MOST of them.
 */
static void *check_target(void *cls, const char *target, struct MHD_Connection *c)
{
	static const char long_target[] = "The request is too long.\n",
			  many[] = "The request has too many parameters.\n";
	const char *const args = strchr(target, '?');
	const char *why = NULL;
	size_t nargs = 0;

	(void)cls;
	(void)c;
	parts = 0;
	for (const char *p = args; p; p = strchr(p + 1, '&'))
		nargs++;
	if (strlen(target) > TARGET_MOST)
		why = long_target;
	else if (nargs > VIEW_ARGS_MOST)
		why = many;
	/* The text is the library's own, which it is about to write zeros into too. */
	if (why && args)
		((char *)(uintptr_t)args)[1] = '\0';
	return (void *)(uintptr_t)why;
}

static enum MHD_Result add_argument(void *cls, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct view_request *const r = cls;

	(void)kind;
	if (r->nargs == VIEW_ARGS_MOST)
		return MHD_NO;
	r->names[r->nargs] = name;
	r->values[r->nargs++] = value;
	return MHD_YES;
}

static enum MHD_Result send_answer(struct view_server *s, struct MHD_Connection *c,
				   const char *path)
{
	struct view_request r = { .path = path };
	struct view_answer a = { 0 };
	struct MHD_Response *response;

	s->mhd.get_connection_values(c, MHD_GET_ARGUMENT_KIND, add_argument, &r);
	out_to_memory(&a.out);
	view_answer(s->view, &r, &a);
	if (a.out.error) {
		out_free(&a.out);
		return refuse(s, c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
	}
	response = s->mhd.create_response_from_buffer(a.out.len, a.out.buf ? a.out.buf : "",
						      MHD_RESPMEM_MUST_COPY);
	out_free(&a.out);
	if (response && a.partial)
		s->mhd.add_response_header(response, "X-Spur-Partial", "1");
	return queue(s, c, a.status, a.type, response);
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **state)
{
	struct view_server *const s = cls;
	struct header_reader h = { .gate = &s->gate };
	struct view_decision d;

	(void)version;
	(void)data;
	(void)size;
	/* It is called once for each request: the answer is given before a body is read. */
	s->mhd.get_connection_values(c, MHD_HEADER_KIND, add_header, &h);
	d = view_gate_decide(method, url, &h.headers);
	if (d.way == VIEW_REFUSED)
		return refuse(s, c, d.status, d.path);
	if (*state)
		return refuse(s, c, MHD_HTTP_URI_TOO_LONG, *state);
	if (d.way == VIEW_SEND_FILE)
		return send_file(s, c, d.path);
	__atomic_store_n(&s->last, now_s(), __ATOMIC_RELAXED);
	return send_answer(s, c, d.path);
}

/* --- beginning and end --- */

static bool make_token(char token[VIEW_TOKEN + 1])
{
	uint8_t bytes[TOKEN_BYTES];

	if (os_getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

enum spur_status view_server_start(struct view_server **out, struct view *v,
				   const struct view_server_options *o, struct spur_error *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(o->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct view_server *const s = mem_alloc(sizeof(*s));
	const union MHD_DaemonInfo *info;
	char token[VIEW_TOKEN + 1];

	*out = NULL;
	if (!s)
		return err_nomem(err);
	if (mhd_open(&s->mhd, err) == SPUR_FAIL) {
		mem_free(s);
		return SPUR_FAIL;
	}
	if (!make_token(token)) {
		view_server_stop(s);
		return err_set(err, SPUR_ERR_IO, "cannot make a token: %s", strerror(errno));
	}
	s->view = v;
	s->last = now_s();
	errno = 0;
	s->daemon = s->mhd.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle, s,
		MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_THREAD_POOL_SIZE, o->threads,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
		MHD_OPTION_URI_LOG_CALLBACK, check_target, NULL, MHD_OPTION_UNESCAPE_CALLBACK,
		unescape, s, MHD_OPTION_END);
	info = s->daemon ? s->mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		err_set(err, SPUR_ERR_IO, "cannot listen on 127.0.0.1:%u: %s", o->port,
			strerror(errno ? errno : EADDRINUSE));
		view_server_stop(s);
		return SPUR_FAIL;
	}
	view_gate_init(&s->gate, info->port, token);
	snprintf(s->url, sizeof(s->url), "http://%s/#%s", s->gate.host[0], s->gate.token);
	*out = s;
	return SPUR_OK;
}

const char *view_server_url(const struct view_server *s)
{
	return s->url;
}

int64_t view_server_last(const struct view_server *s)
{
	return __atomic_load_n(&s->last, __ATOMIC_RELAXED);
}

void view_server_stop(struct view_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		s->mhd.stop_daemon(s->daemon);
	mhd_close(&s->mhd);
	mem_free(s);
}
