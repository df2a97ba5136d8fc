/*
 * Compares a page that is one file with the server: saved.mjs WEB SPUR TRACE PAGE. WEB has the page's modules. Requests of all kinds
 * are answered by `spur view`, out of a store that is kept in $XDG_CACHE_HOME, and by the modules out of the page's data. Prints as
 * JSON how many there were, and the first answers that differ.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";

const [web, spur, trace, file] = process.argv.slice(2);

/** The modules in a directory that says that they are modules. */
async function modules() {
	const dir = mkdtempSync(path.join(tmpdir(), "spur-saved-"));
	try {
		for (const name of readdirSync(web)) if (name.endsWith(".js")) copyFileSync(path.join(web, name), path.join(dir, name));
		writeFileSync(path.join(dir, "package.json"), '{"type":"module"}');
		const { inside } = await import(path.join(dir, "inside.js")), { remote } = await import(path.join(dir, "remote.js"));
		return { inside, remote };
	} finally {
		rmSync(dir, { recursive: true });
	}
}

/** The data of a page, unpacked. */
function dataOf(html) {
	const m = /<script id="data" type="application\/octet-stream" data-coding="(gzip|none)">([\w+/=]*)<\/script>/.exec(html);
	const packed = Buffer.from(m[2], "base64"), bytes = m[1] === "gzip" ? gunzipSync(packed) : packed;
	return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
}

function serve() {
	const child = spawn(spur, ["view", "--no-open", "--threads=1", trace], { stdio: ["ignore", "pipe", "pipe"] });
	const address = new Promise((done, fail) => {
		let said = "";
		const take = (data) => {
			said += data;
			const found = /(http:\/\/\S+\/)#(\w{32})/.exec(said);
			if (found) done({ url: found[1], token: found[2] });
		};
		child.stdout.on("data", take);
		child.stderr.on("data", take);
		child.on("exit", (code) => fail(new Error(`spur view ended with ${code}: ${said}`)));
	});
	return { child, address };
}

const plain = (x) => (x instanceof ArrayBuffer ? Buffer.from(x).toString("hex") : ArrayBuffer.isView(x) ? Array.from(x) : x);

/** A small generator of numbers, the same in each run. */
function* numbers(seed) {
	for (let x = seed; ;) {
		x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
		yield x / 2 ** 32;
	}
}

/** What is asked: [name, arguments of the source's function]. */
async function questions(source) {
	const meta = await source.meta(), labels = await source.labels(0), random = numbers(7), next = () => random.next().value;
	const states = meta.tracks.filter((t) => t.states).map((t) => ({ track: t.id, depth: -1 }));
	const lanes = meta.tracks.flatMap((t) => Array.from({ length: Math.min(t.depth, 40) }, (_, depth) => ({ track: t.id, depth })))
		.sort((a, b) => a.track - b.track || a.depth - b.depth).slice(0, 200);
	const pick = (list) => list[Math.floor(next() * list.length)], length = Math.max(1, meta.length), out = [];
	const most = Math.min(50, Math.ceil(Math.log2(length)) + 1), sometime = () => Math.floor(next() * (length + 2));
	out.push(["overview"], ["labels", 0], ["labels", 3]);
	if (lanes.length) for (let z = 0; z <= most; z++) {
		for (const t of [0, length, sometime(), sometime()]) out.push(["tiles", z, Math.floor(t / (1024 * 2 ** z)), lanes]);
	}
	for (let z = 0; z <= most && states.length; z += 2) out.push(["tiles", z, Math.floor(sometime() / (1024 * 2 ** z)), states], ["tiles", z, 0, states]);
	for (const s of meta.series.slice(0, 20)) {
		for (let z = 0; z <= most; z += 3) out.push(["counter", z, Math.floor(sometime() / (1024 * 2 ** z)), s.id]);
		out.push(["counter", most, 0, s.id]);
	}
	const ranges = [{ from: 0, to: length + 1, tracks: null }];
	for (let i = 0; i < 8; i++) {
		const from = sometime(), to = from + Math.floor(next() * (length - from + 2));
		const tracks = i % 2 && lanes.length ? [pick(lanes).track, pick(lanes).track] : null;
		ranges.push({ from, to, tracks: tracks && [...new Set(tracks)] });
	}
	for (const r of ranges) {
		out.push(["sums", r], ["sums", r, "module"], ["sums", r, "thread"], ["sums", r, "process"], ["flame", r], ["calls", r, -1], ["calls", r, 0], ["counters", { ...r, tracks: null }]);
		if (labels.length > 1) out.push(["calls", r, 1 + Math.floor(next() * (labels.length - 1))]);
	}
	for (const { from, to } of ranges) for (let i = 0; lanes.length && i < 4; i++) out.push(["begins", pick(lanes), from, i % 2 ? to : from + 1 + i * 1000]);
	const spans = [];
	for (let i = 0; i < (lanes.length ? 60 : 0); i++) {
		const lane = pick(lanes), t = sometime();
		out.push(["span", lane, t]);
		const { span } = await source.span(lane, t).catch(() => ({ span: null }));
		if (span) spans.push(span);
	}
	for (const s of spans) out.push(["span", s, s.ts], ["flows", s], ["why", s], ["critical", s]);
	for (const { track } of states) for (let i = 0; i < 12; i++) out.push(["state", track, sometime()]);
	const names = labels.map((l) => l.name).filter(Boolean), word = names.length ? pick(names) : "x";
	/* Arguments of some spans, as expressions that hold for them, and for others. */
	const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&")}"`, expressions = [];
	for (const span of spans.slice(0, 12)) {
		for (const [name, value] of (await source.span(span, span.ts, span.dur)).args.slice(0, 3)) {
			const path = name ? `arg.${quoted(name)}` : "arg.arg1", text = /^"([^"\\]*)"$/.exec(value);
			expressions.push(`${path} != null`, text ? `${path} == ${quoted(text[1])}` : /^-?(0x)?[0-9a-f.]+$/.test(value) ? `${path} >= ${value}` : `${path} =~ "[a-m]"`);
		}
	}
	const where = ["dur > 1us && depth > 0", "depth == 1 || !(depth <= 2)", `name == ${quoted(word)}`, `name =~ "^[a-m]" && dur < 10us`, `${quoted(word)} < name`,
		"kind == SPAN || kind == begin", 'kind =~ "^[A-H]"', "kind != INSTANT && dur >= 0", "tid > 0 && pid != 1", 'thread =~ "[a-z]"', "thread >= 'm'",
		'module =~ "."', `module != "x"`, ...(labels.some((l) => l.category) ? ['cat != "" && cat < "m"'] : []), "ts < 1us || ts > 1ms", "cpu == 0", "arg.arg1 >= 0", "arg.retval != 5", "arg.retval > 1.5",
		"arg.arg1 =~ '.'", "dur == 1us", "dur > 5", "arg. == 3", "name == 5", "depth =~ 'x'", "(dur > 1us", "dur > 1us extra", "foo == 3 && dur > 1us", "kind == NOTHING",
		"name == \"open", "arg.x == null", "arg.arg1 == true"];
	const samples = (await source.find("kind == SAMPLE", null, false)).total > 0;
	for (const q of [...where.filter((x) => !samples || !/dur/.test(x)), ...new Set(expressions)]) out.push(["find", q, null, false], ["walk", q, false], ["walk", q, true]);
	const queries = [word, word.slice(0, 3).toUpperCase(), "nothing at all", "dur>1us", "dur >= 10us", "dur>0.5ms", "dur>5", `/^${word[0]}/`.replace("^(", "^\\("),
		"/[[:digit:]]$/", "/(a|e)+[^[:space:]]*/", "/\\<[a-m]\\w*\\>/", "/[]x-]/", "/x{0,1}o{1}/"];
	for (const q of queries) {
		out.push(["find", q, null, false], ["find", q, null, true]);
		if (spans.length) out.push(["find", q, pick(spans), false], ["find", q, pick(spans), true]);
	}
	for (const q of [word, word.slice(0, 1), "instant", "/./", "kind == INSTANT"]) out.push(["round", q, false], ["round", q, true]);
	return out;
}

const { inside, remote } = await modules(), ask = globalThis.fetch;

/** Calls `use` with the server as a source, once it has the whole store. */
async function withServer(use) {
	const { child, address } = serve();
	try {
		const { url, token } = await address, there = remote(token);
		globalThis.fetch = (at, options) => ask(new URL(at, url), options);
		for (let i = 0; !(await there.meta()).done && i < 3000; i++) await new Promise((done) => setTimeout(done, 10));
		await use(there);
	} finally {
		child.removeAllListeners("exit");
		const ended = new Promise((done) => child.on("exit", done));
		child.kill("SIGINT");
		await ended;
	}
}

const here = inside(dataOf(readFileSync(file, "latin1"))), differ = [];
let asked = 0;

/** When the first events begin that an expression finds, one after the other: those of one time may come in any order. */
async function walk(source, query, back) {
	const out = [];
	for (let at = null, n = 0; n < 6; n++) {
		at = (await source.find(query, at, back)).hit;
		out.push(at && at.ts);
	}
	return out;
}

/** How many of the events that a query finds are found one after the other, and how many there are to find so: 150 at most. */
async function round(source, query, back) {
	const seen = new Set();
	let at = null, most = 1;
	for (let n = 0; n < most; n++) {
		const { hit, total } = await source.find(query, at, back);
		if (!hit) break;
		most = Math.min(total, 150);
		at = hit;
		seen.add(`${hit.track} ${hit.depth} ${hit.ts} ${hit.dur} ${hit.number}`);
	}
	return at && { most, seen: seen.size };
}

async function answer(source, [name, ...args], without) {
	try {
		const a = await (name === "walk" ? walk(source, ...args) : name === "round" ? round(source, ...args) : source[name](...args));
		for (const key of without) if (a && typeof a === "object") delete a[key];
		/* Which of the events of one time an expression finds first is not told. */
		if (name === "find" && a.hit && /[=<>]/.test(args[0]) && !/^(dur\s*>=?\s*[\w.]+$|\/)/.test(args[0])) a.hit = a.hit.ts;
		return name === "tiles" ? plain(a.data) : plain(a);
	} catch (e) {
		return { refused: /regex|repetitions|bracket|Invalid|Unmatched|expression|--where/.test(e.message) ? "a wrong query" : e.message };
	}
}

/** Asks both; leaves out what a server does not know that has a store of an earlier run. */
async function compare(there, wanted, without) {
	const mine = await here.meta();
	for (const [key, value] of Object.entries(await there.meta())) {
		if (!["generation", ...without].includes(key) && !isDeepStrictEqual(value, mine[key])) differ.push(["meta", key, value, mine[key]]);
	}
	for (const q of (await questions(there)).filter(wanted)) {
		const a = await answer(there, q, without), b = await answer(here, q, without);
		asked++;
		if (!isDeepStrictEqual(a, b) || (q[0] === "round" && a && a.most !== a.seen)) differ.push([q, a, b]);
	}
}

/* While a store is written, its lanes are in another order. */
await withServer((there) => compare(there, ([name]) => name === "span", ["series"]));
await withServer((there) => compare(there, () => true, ["marks"]));
const exact = (_, v) => (typeof v === "bigint" ? String(v) : v);
console.log(JSON.stringify({ questions: asked, differ: differ.length, first: JSON.stringify(differ.slice(0, 5), exact).slice(0, 5000) }));
