/** Expressions of --where for a page without a server: from text to a tree, as src/flow/where_parse.c makes it. */

import { bytesOf, posix } from "./query.js";

/**
 * @typedef {"ts" | "dur" | "name" | "cat" | "pid" | "tid" | "cpu" | "kind" | "thread" | "depth" | "module" | "arg"} Field
 * @typedef {"==" | "!=" | "<" | "<=" | ">" | ">=" | "=~"} Op
 *
 * @typedef {object} Leaf One comparison.
 * @property {Field} field
 * @property {Op} op
 * @property {string[]} path of arg.NAME.NAME
 * @property {bigint | number | string | null | RegExp | Set<number>} value of a kind: their numbers; a number is a double
 *
 * @typedef {{leaf: Leaf} | {not: Node} | {and: [Node, Node]} | {or: [Node, Node]}} Node
 *
 * @typedef {object} Known What is known of the trace.
 * @property {(ns: bigint) => bigint} moment the time of that many ns after the first event
 * @property {boolean} categories whether its functions and events have any
 *
 * @typedef {object} Token
 * @property {"end" | "word" | "number" | "string" | "op" | "other"} type
 * @property {string} text of a string its value
 * @property {string} source
 * @property {number} from
 */

const FIELDS = ["ts", "dur", "name", "cat", "pid", "tid", "cpu", "kind", "thread", "depth", "module", "arg"];
const KINDS = ["BEGIN", "END", "SPAN", "INSTANT", "COUNTER", "ASYNC_BEGIN", "ASYNC_INSTANT", "ASYNC_END", "FLOW_BEGIN", "FLOW_STEP", "FLOW_END", "LOG",
	"SWITCH", "WAKEUP", "SAMPLE", "OBJECT", "BLOB", "LOST", "NATIVE"];
const TURNED = /** @type {Record<string, Op>} */ ({ "==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "=~": "=~" });
const UNITS = /** @type {Record<string, bigint>} */ ({ ns: 1n, us: 1000n, ms: 1000000n, s: 1000000000n, m: 60000000000n, h: 3600000000000n });
const STEPS = 16, DEPTH = 64, SHOWN = 40;
const WORD = /[0-9A-Za-z_\x80-\xff]+/y;
/** All times fit in 63 bits. */
const MOST = (1n << 63n) - 1n;

/** A time with its unit in ns, or null. @param {string} text @returns {bigint | null} */
function time(text) {
	const m = /^(-?)(\d+)(?:\.(\d{1,18})\d*)?(ns|us|ms|s|m|h)$/.exec(text);
	if (!m) return null;
	const unit = UNITS[m[4]], ns = BigInt(m[2]) * unit + (BigInt((m[3] ?? "").padEnd(18, "0")) * unit) / 10n ** 18n;
	return ns > MOST ? null : m[1] ? -ns : ns;
}

/** @param {string} text @returns {bigint | null} */
function integer(text) {
	const m = /^(-?)(\d+|0[xX][0-9a-fA-F]+)$/.exec(text), n = m ? BigInt(m[2]) : 0n;
	return !m || n >= 1n << 64n || (m[1] && n > 1n << 63n) ? null : m[1] ? -n : n;
}

class Parser {
	/** @param {string} text its bytes @param {Known} known */
	constructor(text, known) {
		this.text = text;
		this.known = known;
		this.at = 0;
		this.depth = 0;
		this.token = this.next();
	}

	/** @param {number} from @param {string} expected @param {string} found @returns {Error} */
	error(from, expected, found) {
		const column = this.text.slice(0, from).replace(/[\x80-\xbf]/g, "").length + 1;
		const shown = found.slice(0, SHOWN), raw = Uint8Array.from(shown, (c) => c.charCodeAt(0));
		return new Error(`--where: column ${column}: expected ${expected}, found ${shown ? new TextDecoder().decode(raw) : "the end"}`);
	}

	/** @param {string} expected @param {Token} [t] */
	fail(expected, t = this.token) {
		return this.error(t.from, expected, t.source);
	}

	/** @returns {Token} */
	next() {
		const { text } = this;
		while (this.at < text.length && " \t\r\n".includes(text[this.at])) this.at++;
		const from = this.at, c = text[from];
		const made = (/** @type {Token["type"]} */ type, /** @type {number} */ end) => {
			this.at = end;
			const source = text.slice(from, end);
			return { type, text: source, source, from };
		};
		if (c === undefined) return made("end", from);
		if (c === '"' || c === "'") return this.string(from);
		if (/^-?\d/.test(text.slice(from, from + 2))) {
			const hex = text.startsWith("0x", from), m = hex ? /[\w.\x80-\xff]+/y : /-?(?:[eE][-+](?=.)|[\w.\x80-\xff])+/y;
			m.lastIndex = from;
			m.exec(text);
			return made("number", m.lastIndex);
		}
		WORD.lastIndex = from;
		if (WORD.test(text)) return made("word", WORD.lastIndex);
		const op = ["==", "!=", "<=", ">=", "=~", "<", ">", "&&", "||", "!", "(", ")"].find((o) => text.startsWith(o, from));
		return op ? made("op", from + op.length) : made("other", from + 1);
	}

	/** @param {number} from @returns {Token} */
	string(from) {
		const { text } = this, quote = text[from];
		let out = "", i = from + 1;
		for (; text[i] !== quote; i++) {
			if (i >= text.length) throw this.error(i, `${quote} that ends the string`, "");
			if (text[i] !== "\\") {
				out += text[i];
				continue;
			}
			const c = text[++i] ?? "", hex = c === "x" && /^[0-9a-fA-F]{2}/.test(text.slice(i + 1, i + 3));
			if (c === "n" || c === "t") out += c === "n" ? "\n" : "\t";
			else if (hex) out += String.fromCharCode(parseInt(text.slice(i + 1, i + 3), 16));
			else out += `"'\\`.includes(c) ? c : `\\${c}`;
			if (hex) i += 2;
		}
		this.at = i + 1;
		return { type: "string", text: out, source: text.slice(from, this.at), from };
	}

	step() {
		const t = this.token;
		this.token = this.next();
		return t;
	}

	/** @param {string} op */
	is(op) {
		return this.token.type === "op" && this.token.text === op;
	}

	/** The field at hand, or null. @returns {{field: Field, path: string[]} | null} */
	field() {
		const { type, text } = this.token;
		if (type !== "word" || !FIELDS.includes(text)) return null;
		if (text === "cat" && !this.known.categories) throw this.fail("another field, as this page has no categories");
		/** @type {string[]} */
		const path = [];
		for (; text === "arg" && this.text[this.at] === "." && path.length < STEPS;) {
			const from = ++this.at, c = this.text[from];
			if (c === '"' || c === "'") {
				path.push(this.string(from).text);
				continue;
			}
			WORD.lastIndex = from;
			if (!WORD.test(this.text)) {
				throw this.error(from, "the name of an argument, in quotes if it has other characters than letters, digits and _", c ?? "");
			}
			this.at = WORD.lastIndex;
			path.push(this.text.slice(from, this.at));
		}
		if (text === "arg" && (!path.length || this.text[this.at] === ".")) {
			throw this.error(this.at, path.length ? "at most 16 names" : "arg.NAME", this.text[this.at] ?? "");
		}
		this.token = this.next();
		return { field: /** @type {Field} */ (text), path };
	}

	/** @param {string} expected */
	constant(expected) {
		if (!["string", "number", "word"].includes(this.token.type)) throw this.fail(expected);
		return this.step();
	}

	/** @returns {Op} */
	op() {
		if (this.token.type !== "op" || !(this.token.text in TURNED)) throw this.fail("a comparison (== != < <= > >= =~)");
		return /** @type {Op} */ (this.step().text);
	}

	/** @returns {Node} */
	comparison() {
		const unknown = () => this.fail("ts, dur, name, cat, pid, tid, cpu, depth, kind, thread, module or arg.NAME");
		let f = this.field();
		if (f) {
			const op = this.op(), c = this.constant("a number or text in quotes");
			return { leaf: { ...f, op, value: this.value(f.field, op, c) } };
		}
		if (this.token.type !== "string" && this.token.type !== "number" && !/^(true|false|null)$/.test(this.token.text)) throw unknown();
		const c = this.step(), op = TURNED[this.op()];
		if (op === "=~") throw this.fail("a field on the left of =~", c);
		f = this.field();
		if (!f) throw unknown();
		return { leaf: { ...f, op, value: this.value(f.field, op, c) } };
	}

	/** What a field is compared with. @param {Field} field @param {Op} op @param {Token} c @returns {Leaf["value"]} */
	value(field, op, c) {
		if (field === "kind") return this.kinds(op, c);
		if (["ts", "dur", "pid", "tid", "cpu", "depth"].includes(field)) {
			if (op === "=~") throw this.fail("text on the left of =~", c);
			return field === "ts" ? this.when(c) : field === "dur" ? this.duration(c) : this.number(c);
		}
		if (op === "=~") return this.regex(c);
		if (field !== "arg" || c.type === "string") return this.quoted(c);
		if (c.type === "word" && c.text === "null") {
			if (op === "==" || op === "!=") return null;
			throw this.fail("a number or text (null goes with == and !=)", c);
		}
		if (c.type === "word" && c.text !== "true" && c.text !== "false") throw this.fail("a number, text in quotes, true, false or null", c);
		return this.number(c);
	}

	/** @param {Token} c */
	quoted(c) {
		if (c.type === "string") return c.text;
		throw this.fail(c.type === "word" ? `text in quotes ("${c.text}")` : "text in quotes", c);
	}

	/** @param {Token} c */
	regex(c) {
		const text = this.quoted(c);
		if (text.includes("\0")) throw this.fail("a regular expression without \\x00", c);
		return posix(text);
	}

	/** @param {Token} c @returns {bigint | number} */
	number(c) {
		if (c.type === "word" && /^(true|false)$/.test(c.text)) return c.text === "true" ? 1n : 0n;
		if (c.type !== "number") throw this.fail("a number", c);
		const n = integer(c.text) ?? time(c.text);
		if (n !== null) return n;
		if (!/^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(c.text) || !/\d$/.test(c.text)) throw this.fail("a number (3, -3, 0x1f, 1.5, 10us)", c);
		return Number(c.text);
	}

	/** @param {Token} c */
	duration(c) {
		const n = c.type === "number" ? time(c.text) ?? (integer(c.text) === 0n ? 0n : null) : null;
		if (n === null) throw this.fail("a time with its unit (5ns, 10us, 250ms, 1.5s, 2m, 1h)", c);
		return n;
	}

	/** @param {Token} c */
	when(c) {
		const own = /^@(.*)$/.exec(c.text), n = time(own ? own[1] : c.text);
		if (n === null || (!own && n < 0n)) throw this.fail("a time after the first event (1.5s, 250ms) or on the trace's clock (\"@5ms\"), as a page knows no others", c);
		return own ? n : this.known.moment(n);
	}

	/** @param {Op} op @param {Token} c */
	kinds(op, c) {
		const expected = "a kind of event (BEGIN, END, SPAN, INSTANT ...)";
		if (!["==", "!=", "=~"].includes(op)) throw this.fail("==, != or =~ before a kind", c);
		if (c.type === "number") throw this.fail(expected, c);
		const re = op === "=~" ? this.regex(c) : null, out = new Set(KINDS.flatMap((k, i) => ((re ? re.test(k) : k === c.text.toUpperCase()) ? [i] : [])));
		if (!out.size && !re) throw this.fail(expected, c);
		return out;
	}

	/** @returns {Node} */
	not() {
		const open = this.is("(");
		if (!open && !this.is("!")) return this.comparison();
		if (++this.depth > DEPTH) throw this.fail("at most 64 levels of ! and (");
		this.step();
		const node = open ? this.or() : { not: this.not() };
		if (open && !this.is(")")) throw this.fail("&&, || or )");
		if (open) this.step();
		this.depth--;
		return node;
	}

	/** @returns {Node} */
	and() {
		let node = this.not();
		while (this.is("&&")) {
			this.step();
			node = { and: [node, this.not()] };
		}
		return node;
	}

	/** @returns {Node} */
	or() {
		let node = this.and();
		while (this.is("||")) {
			this.step();
			node = { or: [node, this.and()] };
		}
		return node;
	}

	all() {
		const node = this.or();
		if (this.token.type !== "end") throw this.fail("&& or || or the end");
		return node;
	}
}

/** @param {string} text @param {Known} known @returns {Node} */
export function parseWhere(text, known) {
	return new Parser(bytesOf(text), known).all();
}
