/*
 * References of CTF 1.8 and 2 to fields, slots, shared classes, roles, stream clocks, limits:
 * meta_resolve().
 */
#include "unit/ctf_text.h"

#include "base/mem.h"

/* ---- where a reference leads */

static void test_relative(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/relative-path */
	field("u8 n; u8 a[n]; struct{u8 n; u8 b[n]; struct{u8 c[n];}t;}s; u8 d[n];",
	      "n: uint 8, le, align 8, saved in slot 0\n"
	      "      a: sequence by slot 0, align 8\n        element: uint 8, le, align 8\n"
	      "      s: struct, align 8\n"
	      "        n: uint 8, le, align 8, saved in slot 1\n"
	      "        b: sequence by slot 1, align 8\n          element: uint 8, le, align 8\n"
	      "        t: struct, align 8\n"
	      "          c: sequence by slot 1, align 8\n            element: uint 8, le, align 8\n"
	      "      d: sequence by slot 0, align 8\n");
	field("struct{struct{u8 n;}t;}s; u8 a[s.t.n], b[s->t.n];", "b: sequence by slot 0,");
	field("struct{u8 x; struct{u8 n;}t; u8 a[t.n];}s;", "a: sequence by slot 0,");
	/* A later one, the same, itself. */
	bad(HEAD U8 EVENT "u8 a[`n]; u8 n;" END, "expected a field before this, `n`, found none");
	bad(HEAD U8 EVENT "u8 n[`n];" END, "expected a field before this, `n`, found none");
	bad(HEAD U8 EVENT "u8 n[2][`n];" END, "expected a field before this, `n`, found none");
	bad(HEAD U8 EVENT "struct{u8 a[`s];}s;" END,
	    "expected a field before this, `s`, found none");
	bad(HEAD U8 EVENT "struct{u8 a[`s.n]; u8 n;}s;" END,
	    "expected a field before this, `s.n`, found one that is not decoded yet");
	bad(HEAD U8 EVENT "struct{u8 n;}s; u8 a[`s.m];" END,
	    "expected a field before this, `s.m`, found none");
	bad(HEAD U8 EVENT "u8 n; u8 a[`n.m];" END,
	    "expected a field before this, `n.m`, found one without fields on the way");
	/* Through itself to what stands before. */
	field("struct{u8 n; struct{u8 a[s.n];}t;}s;", "a: sequence by slot 0,");
}

static void test_static_scope(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/static-scope: the example of the specification. */
	field("enum:u8{a,b}x; typedef variant<x>{u8 a;string b;}v_t;"
	      "struct{enum:u8{a=7,b=8}x; v_t v; variant<x>{u8 a;string b;}w;}s[10];",
	      "x: uint 8, enum, le, align 8, saved in slot 0\n        \"a\" = 0\n        \"b\" = "
	      "1\n"
	      "      s: array of 10, align 8\n        element: struct, align 8\n"
	      "          x: uint 8, enum, le, align 8, saved in slot 1\n            \"a\" = 7\n    "
	      "        \"b\" = 8\n"
	      "          v: variant by slot 0\n            a [ 0 ]: uint 8, le, align 8\n          "
	      "  b [ 1 ]: string, align 8, utf-8\n"
	      "          w: variant by slot 1\n            a [ 7 ]: uint 8, le, align 8\n");
	field("u8 n; typedef u8 t[n]; struct{u8 n; t a;}s;",
	      "n: uint 8, le, align 8\n        a: sequence by slot 0,");
	/* Fields of a variant are not seen inside it. */
	bad(HEAD U8 EVENT "enum:u8{n,a}x; variant<x>{u8 n; u8 a[`n];}v;" END,
	    "expected a field before this, `n`, found none");
	field("u8 n; enum:u8{n,a}x; variant<x>{u8 n; u8 a[n];}v;",
	      "n: uint 8, le, align 8, saved in slot 1\n");
	/* Not where the type is written: then where it is used. */
	has(HEAD U8 "typedef u8 t[n]; variant v<x>{string a;};" EVENT
		    "u8 n; t a; struct{u8 n; t b;}s; enum:u8{a}x; variant v w;" END,
	    "n: uint 8, le, align 8, saved in slot 0\n      a: sequence by slot 0, align 8\n       "
	    " element: uint 8, le, align 8\n"
	    "      s: struct, align 8\n        n: uint 8, le, align 8, saved in slot 1\n        b: "
	    "sequence by slot 1,");
	/* An unused type need not lead anywhere. */
	has(HEAD U8 "typedef u8 t[nowhere];", "trace CTF 1.8");
}

static void test_dynamic_scopes(void **state)
{
	static const char all[] =
		U8 "trace{major=1;minor=8;byte_order=le;packet.header:=struct{u8 h;u8 "
		   "x[trace.packet.header.h];};};"
		   "stream{packet.context:=struct{u8 p;u8 x[trace.packet.header.h];};"
		   "event.header:=struct{struct{u8 e;}s;u8 x[stream.packet.context.p];};"
		   "event.context:=struct{u8 c;u8 x[stream.event.header.s.e];u8 "
		   "y[stream.event.context.c];};};"
		   "event{context:=struct{u8 k;u8 x[stream.event.context.c];};"
		   "fields:=struct{u8 f;u8 x[event.context.k];u8 y[event . fields . f];u8 "
		   "z[trace.packet.header.h];};};";

	(void)state;
	/* SPEC ctf-tsdl/dynamic-scope */
	has(all, "slots 6\n");
	has(all, "h: uint 8, le, align 8, saved in slot 0\n");
	has(all, "p: uint 8, le, align 8, saved in slot 1\n    x: sequence by slot 0,");
	has(all, "e: uint 8, le, align 8, saved in slot 2\n    x: sequence by slot 1,");
	has(all, "c: uint 8, le, align 8, saved in slot 3\n    x: sequence by slot 2, align 8\n    "
		 "  element: uint 8, le, align 8\n    y: sequence by slot 3,");
	has(all, "k: uint 8, le, align 8, saved in slot 4\n      x: sequence by slot 3,");
	has(all, "f: uint 8, le, align 8, saved in slot 5\n      x: sequence by slot 4, align 8\n  "
		 "      element: uint 8, le, align 8\n      y: sequence by slot 5,");
	bad(HEAD U8 "stream{event.header:=struct{u8 x[`event.fields.n];};};" EVENT "u8 n;" END,
	    "expected a field of a scope before this, `n`, found none");
	bad(HEAD U8 EVENT "u8 x[`event.context.n];" END,
	    "expected a field of a scope before this, `n`, found none");
	bad(HEAD U8 EVENT "u8 x[`stream.event.header];" END,
	    "expected the name of a field in that scope, found `stream.event.header`");
	bad(HEAD U8 EVENT "u8 x[`stream];" END, "expected the name of a field, found `stream`");
	bad(HEAD U8 EVENT "u8 n; u8 x[`event.payload.n];" END,
	    "expected a field before this, `event.payload.n`, found none");
	/* SPEC ctf-tsdl/upper-scope: the example of an event context that names the header's id. */
	has(HEAD U8 "stream{event.header:=struct{enum:u8{compact=0...30,extended=31}id;};};"
		    "event{id=1;context:=struct{variant<id>{struct{}compact;struct{u8 "
		    "missing;}extended;}v;};};",
	    "v: variant by slot 0\n        compact [ 0...30 ]: struct\n");
}

static void test_arrays(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/reference-array */
	bad(HEAD U8 EVENT "struct{u8 n;}s[1]; u8 a[`s.n];" END,
	    "expected a field before this, `s.n`, found an array's");
	bad(HEAD U8 EVENT "u8 n[2]; u8 a[`n];" END,
	    "expected a field before this, `n`, found an array's");
	field("u8 k; struct{u8 n; u8 a[event.fields.s.n];}s[k];",
	      "s: sequence by slot 0, align 8\n        element: struct, align 8\n          n: uint "
	      "8, le, align 8, saved in slot 1\n"
	      "          a: sequence by slot 1,");
}

static void test_variants(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/reference-variant, SPEC ctf-tsdl/one-slot */
	field("enum:u8{x,y}t; variant<t>{u8 x; integer{size=16;}y;}n; u8 a[n];",
	      "n: variant by slot 0\n        x [ 0 ]: uint 8, le, align 8, saved in slot 1\n       "
	      " y [ 1 ]: uint 16, le, align 8, saved in slot 1\n"
	      "      a: sequence by slot 1,");
	field("enum:u8{x,y}t; variant<t>{struct{u8 n; u8 b[n];}x; struct{variant<t>{u8 x; u8 y;}n; "
	      "u8 c[event.fields.v.n];}y;}v; u8 a[v.n];",
	      "slots 2\n");
	/* Only the option around counts inside. */
	field("enum:u8{x,y}t; variant<t>{struct{string n;}x; struct{u8 n; u8 "
	      "a[event.fields.v.n];}y;}v;",
	      "n: uint 8, le, align 8, saved in slot 1\n          a: sequence by slot 1,");
	bad(HEAD U8 EVENT "enum:u8{x,y}t; variant<t>{u8 x; string y;}n; u8 a[`n];" END,
	    "expected an unsigned integer as length `n`, found a string");
	bad(HEAD U8 EVENT "enum:u8{x,y}t; variant<t>{struct{u8 n;}x; string y;}v; u8 a[`v.n];" END,
	    "expected a field before this, `v.n`, found one without fields on the way");
	/* SPEC ctf-tsdl/variant-choice */
	field("enum:u8{x,_y,z=5,x=9}t; variant<t>{u8 x; u8 _y; u8 w; u8 _z;}v;",
	      "v: variant by slot 0\n        x [ 0, 9 ]: uint 8, le, align 8\n        y [ 1 ]: "
	      "uint 8, le, align 8\n"
	      "        w [ ]: uint 8, le, align 8\n        z [ 5 ]: uint 8");
	/* SPEC ctf-tsdl/tag-enum */
	bad(HEAD U8 EVENT "u8 t; variant<`t>{u8 x;}v;" END,
	    "expected an enumeration as tag `t`, found an unsigned integer");
	bad(HEAD U8 EVENT "struct{u8 a;}t; variant<`t>{u8 x;}v;" END,
	    "expected a field with a value as `t`, found a structure");
	field("enum:u8{x,y}t; variant<t>{enum:u8{a,b}x; enum:integer{size=16;}{a,b}y;}u; "
	      "variant<u>{u8 a; u8 b;}v;",
	      "v: variant by slot 1\n        a [ 0 ]: uint 8");
	bad(HEAD U8 EVENT "enum:u8{x,y}t; variant<t>{enum:u8{a,b}x; enum:u8{b,a}y;}u; "
			  "variant<`u>{u8 a; u8 b;}v;" END,
	    "expected one meaning of the tag `u`, found several that choose differently");
	field("enum:integer{size=8;signed=1;}{x=-3...-1,y}t; variant<t>{u8 x; u8 y;}v;",
	      "x [ -3...-1 ]: uint 8");
}

static void test_variant_syntax(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/variant-tag */
	has(HEAD U8 "variant n{u8 a;}; variant m<t>{u8 a;};" EVENT
		    "enum:u8{a}t; enum:u8{a=3}u; variant n<t> v; variant m<u> w; variant n<t> "
		    "x[2]; variant m y;" END,
	    "v: variant by slot 0\n        a [ 0 ]: uint 8, le, align 8\n      w: variant by slot "
	    "1\n        a [ 3 ]: uint 8, le, align 8\n"
	    "      x: array of 2\n        element: variant by slot 0\n          a [ 0 ]: uint 8, "
	    "le, align 8\n      y: variant by slot 0\n");
	bad(HEAD U8 EVENT "enum:u8{a}t; variant{u8 a;}`v;" END,
	    "expected `<` and the tag of the variant, found none");
	bad(HEAD U8 EVENT "enum:u8{a}t; `variant{u8 a;}v[2];" END,
	    "expected `<` and the tag of the variant, found none");
	bad(HEAD U8 EVENT "variant<`>{u8 a;}v;" END, "expected the tag of the variant, found `>`");
	bad(HEAD U8 EVENT "variant<`2>{u8 a;}v;" END, "expected the name of a field, found `2`");
	bad(HEAD U8 EVENT "variant<`\"t\">{u8 a;}v;" END,
	    "expected the name of a field, found `\"t\"`");
	bad(HEAD U8 EVENT "variant<`.t>{u8 a;}v;" END,
	    "expected the tag of the variant, found `.`");
	bad(HEAD U8 EVENT "variant<t.`>{u8 a;}v;" END, "expected a name behind `.`, found `>`");
	bad(HEAD U8 EVENT "`variant v w;" END,
	    "expected a type that is known here, found `variant v`");
	/* SPEC ctf-tsdl/variant-options */
	bad(HEAD U8 EVENT "`variant<t>{}v;" END,
	    "expected at least one option in the variant, found none");
}

static void test_lengths(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/length-unsigned */
	bad(HEAD EVENT "integer{size=8;signed=1;}n; string a[`n];" END,
	    "expected an unsigned integer as length `n`, found a signed integer");
	bad(HEAD EVENT "string n; string a[`n];" END,
	    "expected an unsigned integer as length `n`, found a string");
	bad(HEAD EVENT "integer{size=128;}n; string a[`n];" END,
	    "expected an unsigned integer as length `n`, found bits");
	field("enum:u8{a}n; string a[n];",
	      "a: sequence by slot 0, align 8\n        element: string");
}

/* ---- shared classes */

static void test_sharing(void **state)
{
	(void)state;
	/* One type at two places, one of which is referred to from outside too. */
	has(HEAD U8 "struct p{u8 n; u8 d[n];};" EVENT "struct p a, b; u8 x[a.n], y[b.n]; u8 z;" END,
	    "a: struct, align 8\n        n: uint 8, le, align 8, saved in slot 0\n        d: "
	    "sequence by slot 0, align 8\n"
	    "          element: uint 8, le, align 8\n"
	    "      b: struct, align 8\n        n: uint 8, le, align 8, saved in slot 1\n        d: "
	    "sequence by slot 1, align 8\n"
	    "          element: uint 8, le, align 8\n"
	    "      x: sequence by slot 0, align 8\n        element: uint 8, le, align 8\n      y: "
	    "sequence by slot 1, align 8\n"
	    "        element: uint 8, le, align 8\n      z: uint 8, le, align 8\n");
	/* One class as two scopes, with different meanings. */
	has(HEAD U8 "struct s{u8 n; u8 d[n];}; stream{event.header:=struct s;event.context:=struct "
		    "s;};event{context:=struct s;fields:=struct s;};",
	    "  event header: struct, align 8\n    n: uint 8, le, align 8, saved in slot 0\n    d: "
	    "sequence by slot 0, align 8\n      element: uint 8, le, align 8\n"
	    "  event context: struct, align 8\n    n: uint 8, le, align 8, saved in slot 1\n    d: "
	    "sequence by slot 1, align 8\n      element: uint 8, le, align 8\n"
	    "  event 0\n    context: struct, align 8\n      n: uint 8, le, align 8, saved in slot "
	    "2\n      d: sequence by slot 2, align 8\n        element: uint 8, le, align 8\n"
	    "    fields: struct, align 8\n      n: uint 8, le, align 8, saved in slot 3\n");
	/* A role for one of two streams' headers must not reach the payload of the same class. */
	has(HEAD U8 "struct s{u8 id;};stream{event.header:=struct s;};event{fields:=struct s;};",
	    "    id: uint 8, le, align 8, role event class id\n  event 0\n    fields: struct, "
	    "align 8\n      id: uint 8, le, align 8\n");
	/* Slots of events begin behind their stream's, each anew. */
	has(HEAD U8 "stream{event.header:=struct{u8 id;u8 a[id];};};event{fields:=struct{u8 n;u8 "
		    "a[n];u8 m;u8 b[m];};};event{id=1;fields:=struct{u8 k;u8 a[k];};};",
	    "slots 3\n");
	has(HEAD U8 "stream{event.header:=struct{u8 id;u8 a[id];};};event{fields:=struct{u8 n;u8 "
		    "a[n];u8 m;u8 b[m];};};event{id=1;fields:=struct{u8 k;u8 a[k];};};",
	    "k: uint 8, le, align 8, saved in slot 1\n");
}

/* ---- roles and clocks */

static void test_header_roles(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/header-roles */
	has("typealias integer{size=32;}:=u32;" U8
	    "trace{major=1;minor=8;byte_order=le;packet.header:=struct{u32 magic;u8 uuid[16];u32 "
	    "stream_id;u32 stream_instance_id;};};",
	    "  magic: uint 32, le, align 8, role magic\n  uuid: array of 16, align 8, role uuid\n  "
	    "  element: uint 8, le, align 8\n"
	    "  stream_id: uint 32, le, align 8, role stream class id\n  stream_instance_id: uint "
	    "32, le, align 8, role stream id\n");
	/* SPEC ctf-tsdl/role-type */
	has("trace{major=1;minor=8;byte_order=le;packet.header:=`struct{string magic;string "
	    "uuid;integer{size=8;signed=1;}stream_id;};};",
	    "~ ctf/reserved-name @: expected an unsigned integer as `magic`, found a string; taken "
	    "as any field\n");
	lacks("trace{major=1;minor=8;byte_order=le;packet.header:=struct{string "
	      "magic;integer{size=16;}uuid[16];integer{size=8;signed=1;}stream_id;};};",
	      "role");
	/* SPEC ctf-tsdl/magic */
	bad("trace{major=1;minor=8;byte_order=le;packet.header:=`struct{integer{size=8;}magic;};};",
	    "expected `magic` of 32 bits, found another size");
	bad("trace{major=1;minor=8;byte_order=le;packet.header:=`struct{string "
	    "a;integer{size=32;}magic;};};",
	    "expected `magic` first in the packet header, found it later");
	/* SPEC ctf-tsdl/stream-id-needed */
	bad(HEAD "stream{id=0;};`stream{id=1;};",
	    "expected `stream_id` in the packet header, as there are 2 streams, found none");
}

static void test_context_roles(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/context-roles */
	has(HEAD U8 "stream{packet.context:=struct{u8 "
		    "timestamp_begin,timestamp_end,content_size,packet_size,events_discarded,"
		    "packet_seq_num,stream_packet_count,cpu_id,compression_scheme,encryption_"
		    "scheme,checksum,checksum_scheme,x;};};",
	    "    timestamp_begin: uint 8, le, align 8, role timestamp\n    timestamp_end: uint 8, "
	    "le, align 8, role end time\n"
	    "    content_size: uint 8, le, align 8, role content size\n    packet_size: uint 8, "
	    "le, align 8, role packet size\n"
	    "    events_discarded: uint 8, le, align 8, role discarded\n    packet_seq_num: uint "
	    "8, le, align 8, role sequence\n"
	    "    stream_packet_count: uint 8, le, align 8, role sequence\n    cpu_id: uint 8, le, "
	    "align 8, role cpu\n"
	    "    compression_scheme: uint 8, le, align 8, role compression\n    encryption_scheme: "
	    "uint 8, le, align 8, role encryption\n"
	    "    checksum: uint 8, le, align 8, role checksum\n    checksum_scheme: uint 8, le, "
	    "align 8, role checksum scheme\n"
	    "    x: uint 8, le, align 8\n");
	has(HEAD "clock{name=c;};typealias "
		 "integer{size=8;map=clock.c.value;}:=t;stream{packet.context:=struct{t "
		 "ccnt_begin;t ccnt_end;t other;};};",
	    "stream 0, clock c\n  packet context: struct, align 8\n    ccnt_begin: uint 8, le, "
	    "align 8, clock c, role timestamp\n"
	    "    ccnt_end: uint 8, le, align 8, clock c, role end time\n    other: uint 8, le, "
	    "align 8, clock c\n");
	has(HEAD
	    "stream{packet.context:=struct{integer{size=8;signed=1;}cpu_id;string packet_size;};};",
	    "cpu_id: sint 8, le, align 8, role cpu\n    packet_size: string, align 8, utf-8\n");
}

static void test_event_roles(void **state)
{
	static const char lttng[] = HEAD U8
		"clock{name=c;};typealias integer{size=27;align=1;map=clock.c.value;}:=t;"
		"struct h{enum:integer{size=5;}{compact=0...30,extended=31}id;variant<id>{struct{t "
		"timestamp;}compact;"
		"struct{u8 id;t timestamp;}extended;}v;}align(8);stream{event.header:=struct "
		"h;};event{fields:=struct{struct h x;u8 id;};};";

	(void)state;
	/* SPEC ctf-tsdl/event-roles */
	has(lttng, "    id: uint 5, enum, le, role event class id, saved in slot 0\n");
	has(lttng, "        timestamp: uint 27, le, clock c, role timestamp\n      extended [ 31 "
		   "]: struct, align 8\n"
		   "        id: uint 8, le, align 8, role event class id\n        timestamp: uint "
		   "27, le, clock c, role timestamp\n");
	has(lttng,
	    "          compact [ 0...30 ]: struct\n            timestamp: uint 27, le, clock c\n");
	/* Whatever is mapped to a clock, where none is called timestamp. */
	has(HEAD
	    "clock{name=c;};stream{event.header:=struct{integer{size=8;map=clock.c.value;}now;};};",
	    "stream 0, clock c\n  event header: struct, align 8\n    now: uint 8, le, align 8, "
	    "clock c, role timestamp\n");
	has(HEAD "clock{name=c;};stream{event.header:=struct{integer{size=8;map=clock.c.value;}now,"
		 "timestamp;};};",
	    "now: uint 8, le, align 8, clock c\n    timestamp: uint 8, le, align 8, clock c, role "
	    "timestamp\n");
	/* SPEC ctf-tsdl/event-id-needed */
	bad(HEAD "event{fields:=struct{string a;};};`event{id=1;fields:=struct{string a;};};",
	    "expected `id` in the event header of stream 0, as it has 2 events, found none");
}

static void test_stream_clock(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/implicit-clock */
	has(HEAD U8 "stream{event.header:=struct{u8 timestamp;};};",
	    "clock default: 1000000000 Hz, offset 0 s 0 cycles\nstream 0, clock default\n");
	lacks(HEAD U8 "stream{event.header:=struct{u8 id;};};", "clock");
	/* SPEC ctf-tsdl/stream-clock */
	has(HEAD U8 "clock{name=c;freq=7;};stream{event.header:=struct{u8 timestamp;};};",
	    "stream 0, clock c\n");
	lacks(HEAD U8 "clock{name=c;freq=7;};stream{event.header:=struct{u8 timestamp;};};", "?");
	has(HEAD U8 "clock{name=c;};clock{name=d;};`stream{event.header:=struct{u8 timestamp;};};",
	    "? ctf/several-clocks @: expected time stamps of stream 0 that are mapped to one of 2 "
	    "clocks, found none; `c` is taken\n");
	has(HEAD "clock{name=c;};clock{name=d;};`stream{event.header:=struct{integer{size=8;map="
		 "clock.d.value;}timestamp;};"
		 "packet.context:=struct{integer{size=8;map=clock.c.value;}timestamp_begin;};};",
	    "? ctf/several-clocks @: expected one clock for the time stamps of stream 0, found "
	    "several; `d` is taken\n");
}

/* ---- limits */

static char *repeat(struct out *o, const char *front, const char *what, unsigned n,
		    const char *back)
{
	out_clear(o);
	out_str(o, front);
	for (unsigned i = 0; i < n; i++)
		out_str(o, what);
	out_str(o, back);
	out_char(o, '\0');
	return o->buf;
}

static void test_depth(void **state)
{
	struct out o;

	(void)state;
	out_to_memory(&o);
	has(repeat(&o, HEAD U8 "event{fields:=", "struct{", 63, "u8 x;"), "! ctf/metadata-cut");
	has(repeat(&o, HEAD U8 "event{fields:=", "struct{", 100000 / 16, ""),
	    "expected at most 64 types inside each other, found more");
	has(repeat(&o, HEAD U8 EVENT "u8 a", "[1]", 62, ";" END), "uint 8, le, align 8\n");
	has(repeat(&o, HEAD U8 EVENT "u8 a", "[1]", 63, ";" END),
	    "expected at most 64 field classes inside each other, found more");
	has(repeat(&o, HEAD U8 EVENT "u8 a", "[1]", 65, ";" END),
	    "expected at most 64 dimensions, found more");
	has(repeat(&o, HEAD U8 EVENT "u8 a[", "(", 65, "1];" END),
	    "expected at most 64 parentheses inside each other, found more");
	has(repeat(&o, HEAD U8 EVENT "u8 a[", "-(", 60, "2"), "! ctf/metadata-cut");
	has(repeat(&o, HEAD U8 EVENT "u8 ", "*", 300, "a;" END),
	    "expected fewer `*`, found more than");
	has(repeat(&o, HEAD U8 EVENT "u8 a[a", ".a", 200, "];" END),
	    "expected at most 128 names with dots, found more");
	out_free(&o);
}

static void test_growth(void **state)
{
	struct out o;

	(void)state;
	out_to_memory(&o);
	/* 2^60 fields of 60 lines: shared, never written out. */
	out_str(&o, HEAD U8 "struct s0{u8 n;u8 a[n];};");
	for (int i = 1; i < 60; i++)
		out_printf(&o, "struct s%d{struct s%d a,b;};", i, i - 1);
	out_str(&o, "event{fields:=struct s59;};");
	out_char(&o, '\0');
	has(o.buf, "expected at most 4194304 field classes, named ones as often as they are used, "
		   "found more");
	/* 2^12 copies are made, and each has a slot of its own. */
	out_clear(&o);
	out_str(&o, HEAD U8 "struct s0{u8 n;u8 a[n];};");
	for (int i = 1; i < 13; i++)
		out_printf(&o, "struct s%d{struct s%d a,b;};", i, i - 1);
	out_str(&o, "event{fields:=struct s12;};");
	out_char(&o, '\0');
	has(o.buf, "slots 4096\n");
	out_free(&o);
}

/* A chain of types that are never written inside each other. */
static void test_chain(void **state)
{
	struct out o;

	(void)state;
	out_to_memory(&o);
	out_str(&o, HEAD U8 "typedef u8 t0;");
	for (int i = 1; i < 1000; i++)
		out_printf(&o, "typedef t%d t%d[1];", i - 1, i);
	out_str(&o, EVENT "t62 a;" END);
	out_char(&o, '\0');
	has(o.buf, "uint 8, le, align 8\n");
	o.len -= strlen("t62 a;" END) + 1;
	out_str(&o, "t999 a;" END);
	out_char(&o, '\0');
	has(o.buf, "expected at most 64 field classes inside each other, found more");
	out_free(&o);
}

/* ---- CTF 2: locations, by hand */

struct hand {
	struct ctf_meta *m;
	struct ctf_field *root, *inner, *ref;
};

static struct ctf_field *hand_field(struct ctf_meta *m, enum ctf_kind kind)
{
	struct ctf_field *f = meta_field(m, kind, 0);

	assert_non_null(f);
	f->size = kind == CTF_UINT || kind == CTF_BOOL ? 8 : 0;
	return f;
}

static struct ctf_field *hand_struct(struct ctf_meta *m, const char *a, struct ctf_field *fa,
				     const char *b, struct ctf_field *fb)
{
	struct ctf_field *f = hand_field(m, CTF_STRUCT);

	f->members = arena_alloc(&m->arena, 2 * sizeof(*f->members));
	f->nmembers = 2;
	f->members[0] = (struct ctf_member){ .name = a, .shown = a, .field = fa };
	f->members[1] = (struct ctf_member){ .name = b, .shown = b, .field = fb };
	return f;
}

/* { n: uint, in: { k: uint, ref } } with a reference of the given kind and path. */
static void hand_make(struct hand *h, enum ctf_kind kind, const char *const *names, uint32_t nnames,
		      bool absolute)
{
	struct ctf_stream_class *s;
	struct ctf_event_class *e;
	struct ctf_meta *m = meta_new("metadata");

	assert_non_null(m);
	m->generation = CTF_2;
	s = arena_alloc(&m->arena, sizeof(*s));
	e = arena_alloc(&m->arena, sizeof(*e));
	assert_true(meta_add_stream(m, s) && meta_add_event(m, s, e));
	h->m = m;
	h->ref = hand_field(m, kind);
	h->ref->ref.names = names;
	h->ref->ref.nnames = nnames;
	h->ref->ref.absolute = absolute;
	h->ref->ref.scope = CTF_SCOPE_PAYLOAD;
	if (kind == CTF_OPTIONAL)
		h->ref->element = hand_field(m, CTF_STRING);
	h->inner = hand_struct(m, "k", hand_field(m, CTF_UINT), "ref", h->ref);
	h->root = hand_struct(m, "n", hand_field(m, kind == CTF_OPTIONAL ? CTF_BOOL : CTF_UINT),
			      "in", h->inner);
	e->payload = h->root;
}

/* The name that got the slot of the reference, or the message. */
static const char *hand_resolve(struct hand *h)
{
	static struct spur_error err;
	struct diag_log log;
	const char *got = "nothing";

	diag_init(&log);
	err.message[0] = '\0';
	if (meta_resolve(h->m, &log, &err) == SPUR_FAIL)
		got = err.message;
	else if (h->root->members[0].field->save == h->ref->ref.slot)
		got = "n";
	else if (h->inner->members[0].field->save == h->ref->ref.slot)
		got = "k";
	diag_free(&log);
	meta_free(h->m);
	return got;
}

static void check_location(enum ctf_kind kind, const char *const *names, uint32_t nnames,
			   bool absolute, const char *want)
{
	struct hand h;

	hand_make(&h, kind, names, nnames, absolute);
	assert_string_equal(hand_resolve(&h), want);
}

static void test_locations(void **state)
{
	const char *const k[] = { "k" }, *const up[] = { NULL, "n" }, *const n[] = { "n" };
	const char *const around[] = { "x", NULL, "y", NULL, NULL, "n" };
	const char *const out[] = { NULL, NULL, "n" }, *const in_k[] = { "in", "k" };

	(void)state;
	check_location(CTF_STRING_DYNAMIC, k, 1, false, "k");
	check_location(CTF_STRING_DYNAMIC, up, 2, false, "n");
	check_location(CTF_BLOB_DYNAMIC, around, 6, false, "n");
	check_location(CTF_BLOB_DYNAMIC, in_k, 2, true, "k");
	check_location(CTF_BLOB_DYNAMIC, n, 1, true, "n");
	check_location(CTF_OPTIONAL, up, 2, false, "n");
	/* Not outwards by itself. */
	check_location(
		CTF_STRING_DYNAMIC, n, 1, false,
		"metadata: fragment 0 (byte 0): expected a field before this, `n`, found none");
	check_location(CTF_STRING_DYNAMIC, out, 3, false,
		       "metadata: fragment 0 (byte 0): expected a field in its scope, "
		       "`null.null.n`, found a "
		       "path out of it");
	check_location(CTF_STRING_DYNAMIC, up, 2, true,
		       "metadata: fragment 0 (byte 0): expected a field in its scope, `null.n`, "
		       "found a path "
		       "out of it");
	check_location(CTF_OPTIONAL, k, 1, false,
		       "metadata: fragment 0 (byte 0): expected booleans as selector `k`, found an "
		       "unsigned "
		       "integer");
}

static void check_ranges(bool negative, struct ctf_range a, struct ctf_range b, const char *want)
{
	const char *const k[] = { "k" };
	struct ctf_range ranges[2] = { a, b };
	struct hand h;

	hand_make(&h, CTF_VARIANT, k, 1, false);
	h.ref->members = arena_alloc(&h.m->arena, 2 * sizeof(*h.ref->members));
	h.ref->nmembers = 2;
	for (int i = 0; i < 2; i++)
		h.ref->members[i] = (struct ctf_member){ .field = hand_field(h.m, CTF_STRING),
							 .ranges = &ranges[i],
							 .nranges = 1 };
	if (negative)
		h.inner->members[0].field->kind = CTF_SINT;
	assert_string_equal(hand_resolve(&h), want);
}

static void test_ranges(void **state)
{
	const uint64_t minus = UINT64_MAX;

	(void)state;
	check_ranges(false, (struct ctf_range){ 5, 9 }, (struct ctf_range){ 0, 4 }, "k");
	check_ranges(true, (struct ctf_range){ 0, 9 }, (struct ctf_range){ minus - 4, minus }, "k");
	check_ranges(false, (struct ctf_range){ 0, 5 }, (struct ctf_range){ 5, 9 },
		     "metadata: fragment 0 (byte 0): expected ranges apart from each other of the "
		     "selector "
		     "`k`, found two that meet");
	check_ranges(false, (struct ctf_range){ 3, 2 }, (struct ctf_range){ 5, 9 },
		     "metadata: fragment 0 (byte 0): expected rising ranges of the selector `k`, "
		     "found one "
		     "that falls");
	check_ranges(false, (struct ctf_range){ minus, 2 }, (struct ctf_range){ 5, 9 },
		     "metadata: fragment 0 (byte 0): expected rising ranges of the selector `k`, "
		     "found one "
		     "that falls");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_relative, seen_free),
		cmocka_unit_test_teardown(test_static_scope, seen_free),
		cmocka_unit_test_teardown(test_dynamic_scopes, seen_free),
		cmocka_unit_test_teardown(test_arrays, seen_free),
		cmocka_unit_test_teardown(test_variants, seen_free),
		cmocka_unit_test_teardown(test_variant_syntax, seen_free),
		cmocka_unit_test_teardown(test_lengths, seen_free),
		cmocka_unit_test_teardown(test_sharing, seen_free),
		cmocka_unit_test_teardown(test_header_roles, seen_free),
		cmocka_unit_test_teardown(test_context_roles, seen_free),
		cmocka_unit_test_teardown(test_event_roles, seen_free),
		cmocka_unit_test_teardown(test_stream_clock, seen_free),
		cmocka_unit_test_teardown(test_depth, seen_free),
		cmocka_unit_test_teardown(test_growth, seen_free),
		cmocka_unit_test_teardown(test_chain, seen_free),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
