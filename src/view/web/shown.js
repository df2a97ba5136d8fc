/** What names of the trace look like: one way for the page, for tables of `spur` and for the terminal (out_safe() in src/base/out.c). */

/** @typedef {import("./types.js").Label} Label */
/** @typedef {import("./types.js").Meta} Meta */

/** Control characters, those that change the direction of writing, and bytes that are no UTF-8, which a lone surrogate stands for. */
const HIDDEN = /[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udcff]/gu;

/** @param {string} c */
function escape(c) {
	if (c === "\n") return "\\n";
	if (c === "\t") return "\\t";
	const byte = (/** @type {number} */ b) => `\\x${b.toString(16).padStart(2, "0")}`;
	return c >= "\ud800" && c <= "\udfff" ? byte(c.charCodeAt(0) & 255) : Array.from(new TextEncoder().encode(c), byte).join("");
}

/** A text in which all that would do something to the text around it is written as an escape. @param {string} text */
export function visible(text) {
	return text.replace(HIDDEN, escape);
}

/**
 * A name of the trace beside other text, which it must not turn: that it is written from right to left holds in the name only.
 * @param {string} name
 */
export function alone(name) {
	const text = visible(name);
	return /[\u0590-\u08ff\u200e\u200f\ufb1d-\ufdff\ufe70-\ufeff]/.test(text) ? `\u2068${text}\u2069` : text;
}

/** Labels as they are shown: `raw` is what is found. @param {Label[]} labels @returns {Label[]} */
export function shownLabels(labels) {
	return labels.map((l) => {
		const name = visible(l.name), module = visible(l.module), category = visible(l.category);
		return { ...l, name, module, category, ...(name === l.name ? {} : { raw: l.name }) };
	});
}

/** The last part of a path. @param {string} path */
export function lastPart(path) {
	const at = path.lastIndexOf("/") + 1;
	return at < path.length ? path.slice(at) : path;
}

/** The name of a function where another one has it too, as tables of `spur` write it. @param {string} name @param {Label} label */
export function nameApart(name, { module, category }) {
	return `${name}${module && ` [${lastPart(module)}]`}${category && ` [${category}]`}`;
}

/**
 * The names of functions in a table in which several may have one.
 * @param {number[]} ids @param {Label[]} labels @returns {Map<number, string>}
 */
export function namesApart(ids, labels) {
	/** @type {Map<string, number>} */
	const times = new Map(), known = ids.filter((id) => labels[id]);
	for (const id of known) times.set(labels[id].name, (times.get(labels[id].name) ?? 0) + 1);
	return new Map(known.map((id) => [id, times.get(labels[id].name) === 1 ? labels[id].name : nameApart(labels[id].name, labels[id])]));
}

/** @template {{name: string, trace?: string}} T @param {T} t @returns {T} */
function shownName(t) {
	const name = visible(t.name), trace = t.trace && visible(t.trace);
	return name === t.name && trace === t.trace ? t : { ...t, name, trace };
}

/** What is known of a trace, as it is shown. @param {Meta} meta @returns {Meta} */
export function shownMeta(meta) {
	return { ...shownName(meta), tracks: meta.tracks.map(shownName), series: meta.series.map(shownName),
		facts: meta.facts.map(([k, v]) => [visible(k), visible(v)]), marks: meta.marks.map((m) => ({ ...m, text: visible(m.text) })) };
}
