/*
 * Makes a CTF 1.8 trace of any size as LTTng writes it: the same bytes for the same options, on
 * every machine.
 *
 *	gen-ctf [-m] [-n EVENTS] [-s SEED] DIR
 *
 * Metadata in packets; streams of 1 MiB packets with LTTng's large event header, times, sizes,
 * sequence numbers, counts of discarded events and processors in the packet context. Without -m
 * three channels on two processors, six streams: one of pairs of integers, one with a quarter of
 * text and sequences, one with enumerations and arrays too; no contexts. With -m one channel, two
 * streams, three classes at random, with thread, program and process of each event. Time steps are
 * random, so the streams interleave event by event.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PACKET = 1 << 20,
	META_PACKET = 4096,
	META_HEAD = 37,
	META_ROOM = 1 << 16,
	EVENT_ROOM = 128, /* the largest event */
	HEAD = 84, /* packet header and context */
	CPUS = 2,
	CHANNELS = 3,
	STREAMS_MAX = CPUS * CHANNELS,
	THREADS = 8,
	PID = 4000,
};

static const uint64_t start_time = 1000000000000, clock_offset = 1700000000000000000;
static const uint8_t uuid[16] = { 0x5E, 0xED, 0x5E, 0xED, 0x00, 0x01, 0x40, 0x02,
				  0x80, 0x03, 0x00, 0x04, 0x00, 0x05, 0x00, 0x06 };
static const char *const words[] = {
	"open", "hello world", "request done", "cache miss, reload", "x", "state of the queue"
};

enum class { TWO_INTS, STR_SEQ, MIXED, CLASSES };

struct stream {
	FILE *out;
	uint32_t channel, cpu;
	uint64_t rng;
	uint64_t left; /* events to write */
	uint64_t now, begin;
	uint64_t packets, events;
	uint8_t *p; /* the packet, PACKET bytes */
	size_t at;
};

struct gen {
	const char *dir;
	bool mixed; /* one channel, with contexts */
	uint64_t events, seed;
	struct stream streams[STREAMS_MAX];
	uint32_t nstreams;
};

static void die(const char *what)
{
	fprintf(stderr, "gen-ctf: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t next(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

/* Little-endian, as the metadata says. */
static void put(struct stream *s, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		s->p[s->at++] = (uint8_t)(v >> (8 * i));
}

static void put_bytes(struct stream *s, const void *p, size_t size)
{
	memcpy(s->p + s->at, p, size);
	s->at += size;
}

static void put_double(struct stream *s, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put(s, bits, 8);
}

static void put_float(struct stream *s, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put(s, bits, 4);
}

/* --- packets --- */

static void packet_begin(struct stream *s)
{
	s->at = HEAD;
	s->begin = s->now;
}

static void packet_end(struct stream *s)
{
	const size_t content = s->at;

	memset(s->p + content, 0, PACKET - content);
	s->at = 0;
	put(s, 0xC1FC1FC1, 4);
	put_bytes(s, uuid, sizeof(uuid));
	put(s, s->channel, 4);
	put(s, s->cpu, 8);
	put(s, s->begin, 8);
	put(s, s->now, 8);
	put(s, 8 * content, 8);
	put(s, 8 * (uint64_t)PACKET, 8);
	put(s, s->packets++, 8);
	put(s, 0, 8);
	put(s, s->cpu, 4);
	if (fwrite(s->p, 1, PACKET, s->out) != PACKET)
		die("stream");
}

/* --- events --- */

static void put_context(struct stream *s, uint64_t r)
{
	static const char name[17] = "bench-app";

	put(s, PID + r % THREADS, 4);
	put_bytes(s, name, sizeof(name));
	put(s, PID, 4);
}

static void put_two_ints(struct stream *s)
{
	put(s, s->events, 4);
	put(s, s->cpu, 4);
}

static void put_str_seq(struct stream *s, uint64_t r)
{
	const char *word = words[r % (sizeof(words) / sizeof(words[0]))];
	const unsigned n = r >> 8 & 4;

	put_bytes(s, word, strlen(word) + 1);
	put(s, n, 8);
	for (unsigned i = 0; i < n; i++)
		put(s, i + 1, 2);
	put_double(s, (double)s->events / 8);
	put(s, 0x7F0000000000 + (r >> 16 & 0xFFFFF0), 8);
}

static void put_mixed(struct stream *s, uint64_t r)
{
	static const char text[] = "some text byte";
	const unsigned n = r >> 8 & 7;

	put(s, r % 5, 4);
	put(s, n, 8);
	put_bytes(s, text, n);
	put_bytes(s, "some", 4);
	put_bytes(s, "\0P", 2);
	put(s, ~s->events, 8);
	put_float(s, (float)(r & 1023) / 4);
}

static enum class choose(const struct gen *g, const struct stream *s, uint64_t r) {
	const unsigned dice = r >> 32 & 7;

	if (g->mixed) return (enum class)((r >> 32 & 0xFFFF) % CLASSES);
	if (s->channel == 0 || dice > 3) return TWO_INTS;
	if (s->channel == 1) return dice < 2 ? STR_SEQ : TWO_INTS;
	return dice < 2	  ? STR_SEQ
	       : dice < 3 ? MIXED
			  : TWO_INTS;
}

static void put_event(const struct gen *g, struct stream *s)
{
	const uint64_t r = next(&s->rng);
	const enum class class = choose(g, s, r);

	s->now += 100 + (r >> 48) % 1800;
	put(s, class, 2);
	put(s, s->now, 4);
	if (g->mixed)
		put_context(s, r >> 40);
	if (class == TWO_INTS)
		put_two_ints(s);
	else if (class == STR_SEQ)
		put_str_seq(s, r);
	else
		put_mixed(s, r);
	s->events++;
	s->left--;
}

static void stream_write(const struct gen *g, struct stream *s)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/chan%u_%u", g->dir, s->channel, s->cpu);
	s->out = fopen(path, "wb");
	s->p = malloc(PACKET);
	if (!s->out || !s->p)
		die(path);
	while (s->left) {
		packet_begin(s);
		while (s->left && s->at + EVENT_ROOM <= PACKET)
			put_event(g, s);
		packet_end(s);
	}
	free(s->p);
	if (fclose(s->out) != 0)
		die(path);
}

/* --- metadata --- */

static const char meta_types[] =
	"/* CTF 1.8 */\n\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n";

static const char meta_trace[] =
	"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"5eed5eed-0001-4002-8003-000400050006\";\n"
	"\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t "
	"uuid[16];\n"
	"\t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n\t};\n};\n\n"
	"env {\n\tdomain = \"ust\";\n\ttracer_name = \"lttng-ust\";\n\ttracer_major = 2;\n"
	"\ttracer_minor = 13;\n\thostname = \"bench\";\n};\n\n";

static const char meta_clock[] =
	"clock {\n\tname = \"monotonic\";\n\tuuid = \"5eed5eed-0007-4008-8009-000a000b000c\";\n"
	"\tdescription = \"Monotonic Clock\";\n\tfreq = 1000000000;\n\toffset = %" PRIu64
	";\n};\n\n"
	"typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } "
	":= "
	"uint32_clock_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } "
	":= "
	"uint64_clock_t;\n\n";

static const char meta_structs[] =
	"struct packet_context {\n\tuint64_clock_t timestamp_begin;\n\tuint64_clock_t "
	"timestamp_end;\n"
	"\tuint64_t content_size;\n\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n"
	"\tuint64_t events_discarded;\n\tuint32_t cpu_id;\n};\n\n"
	"struct event_header_large {\n\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 "
	"} "
	"id;\n\tvariant <id> {\n\t\tstruct {\n\t\t\tuint32_clock_t timestamp;\n\t\t} compact;\n"
	"\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_t timestamp;\n\t\t} extended;\n\t} "
	"v;\n"
	"} align(8);\n\n";

#define META_INT(size, sign, base)                                                               \
	"integer { size = " size "; align = 8; signed = " sign "; encoding = none; base = " base \
	"; }"
#define META_CHAR "integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; }"

static const char meta_context[] = "\tevent.context := struct {\n\t\t" META_INT(
	"32", "1", "10") " _vtid;\n\t\t" META_CHAR
			 " _procname[17];\n\t\t" META_INT("32", "1", "10") " _vpid;\n\t};\n";

static const char *const meta_fields[CLASSES] = {
	[TWO_INTS] = META_INT("32", "1", "10") " _a;\n\t\t" META_INT("32", "1", "10") " _b;\n",
	[STR_SEQ] =
		"string _name;\n\t\t" META_INT("64", "0", "10") " __vals_length;\n\t\t" META_INT(
			"16", "0",
			"10") " _vals[ __vals_length ];\n\t\tfloating_point { exp_dig = 11; "
			      "mant_dig = 53; align = 8; } _d;\n\t\t" META_INT("64", "0",
									       "16") " _addr;\n",
	[MIXED] = "enum : " META_INT(
		"32", "1",
		"10") " { \"idle\" = 0, \"running\" = 1 ... 3 } "
		      "_state;\n\t\t" META_INT(
			      "64", "0",
			      "10") " __text_length;\n\t\t" META_CHAR
				    " _text[ __text_length ];\n\t\t" META_INT(
					    "8", "0",
					    "10") " _first4[4];\n\t\t"
						  "integer { size = 16; align = 8; signed = 0; "
						  "encoding = none; base = 10; "
						  "byte_order = be; } _port;\n\t\t" META_INT(
							  "64", "0",
							  "10") " _u64;\n\t\t"
								"floating_point { exp_dig = 8; "
								"mant_dig = 24; align = 8; } _f;\n",
};

static size_t meta_text(const struct gen *g, char *to)
{
	static const char *const names[CLASSES] = { "two_ints", "str_seq", "mixed" };
	const unsigned channels = g->mixed ? 1 : CHANNELS;
	char *p = to;

	p += sprintf(p, "%s%s", meta_types, meta_trace);
	p += sprintf(p, meta_clock, clock_offset);
	p += sprintf(p, "%s", meta_structs);
	for (unsigned i = 0; i < channels; i++) {
		p += sprintf(p,
			     "stream {\n\tid = %u;\n\tevent.header := struct event_header_large;\n"
			     "\tpacket.context := struct packet_context;\n%s};\n\n",
			     i, g->mixed ? meta_context : "");
		for (unsigned k = 0; k < CLASSES; k++)
			p += sprintf(
				p,
				"event {\n\tname = \"bench:%s\";\n\tid = %u;\n\tstream_id = %u;\n"
				"\tloglevel = 13;\n\tfields := struct {\n\t\t%s\t};\n};\n\n",
				names[k], k, i, meta_fields[k]);
	}
	return (size_t)(p - to);
}

static void meta_packet(FILE *out, const char *text, size_t len)
{
	uint8_t packet[META_PACKET] = { 0 };
	struct stream s = { .p = packet };

	put(&s, 0x75D11D57, 4);
	put_bytes(&s, uuid, sizeof(uuid));
	put(&s, 0, 4);
	put(&s, 8 * (META_HEAD + len), 4);
	put(&s, 8 * META_PACKET, 4);
	put(&s, 0x0801000000, 5); /* no compression, encryption, checksum; 1.8 */
	put_bytes(&s, text, len);
	if (fwrite(packet, 1, sizeof(packet), out) != sizeof(packet))
		die("metadata");
}

static void meta_write(const struct gen *g)
{
	static char text[META_ROOM];
	const size_t len = meta_text(g, text), most = META_PACKET - META_HEAD;
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/metadata", g->dir);
	out = fopen(path, "wb");
	if (!out)
		die(path);
	for (size_t at = 0; at < len; at += most)
		meta_packet(out, text + at, len - at < most ? len - at : most);
	if (fclose(out) != 0)
		die(path);
}

/* --- */

static uint64_t number(const char *s)
{
	char *end;
	const uint64_t n = strtoull(s, &end, 10);

	if (*end || end == s) {
		fprintf(stderr, "gen-ctf: expected a number, found \"%s\"\n", s);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct gen g = { .seed = 1 };
	int c;

	while ((c = getopt(argc, argv, "mn:s:")) != -1) {
		if (c == 'm')
			g.mixed = true;
		else if (c == 'n')
			g.events = number(optarg);
		else if (c == 's')
			g.seed = number(optarg);
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: gen-ctf [-m] [-n EVENTS] [-s SEED] DIR\n");
		return 2;
	}
	g.dir = argv[optind];
	if (!g.events)
		g.events = g.mixed ? 5000000 : 36000000;
	if (mkdir(g.dir, 0777) != 0 && errno != EEXIST)
		die(g.dir);
	g.nstreams = g.mixed ? CPUS : STREAMS_MAX;
	for (uint32_t i = 0; i < g.nstreams; i++) {
		struct stream *s = &g.streams[i];

		*s = (struct stream){ .channel = i / CPUS,
				      .cpu = i % CPUS,
				      .rng = (g.seed + 1) * 0x9E3779B97F4A7C15u + i + 1,
				      .left = g.events / g.nstreams,
				      .now = start_time };
		s->left += i < g.events % g.nstreams;
		stream_write(&g, s);
	}
	meta_write(&g);
	return 0;
}
