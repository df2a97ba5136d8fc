/** What the user sees and chose: kept in the URL, and in a file that can be sent. */

/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").SpanRef} SpanRef */

/**
 * @typedef {object} Note
 * @property {number} from
 * @property {number} to equal to `from`: a point in time
 * @property {string} text
 */

/**
 * @typedef {object} View
 * @property {number} start ns after the begin of the trace at the left edge
 * @property {number} nspp ns a pixel
 */

const VERSION = 1;

export class State {
	constructor() {
		/** @type {View} */
		this.view = { start: 0, nspp: 1 };
		/** Pixels that tracks are scrolled up. */
		this.top = 0;
		/** @type {SpanRef | null} */
		this.picked = null;
		/** @type {Range | null} */
		this.range = null;
		/** @type {number[]} in their order, above all others */
		this.pins = [];
		/** @type {Set<number>} */
		this.hidden = new Set();
		/** @type {Set<number>} */
		this.folded = new Set();
		/** Tracks that the user moved: they stand in this order, before their brothers. @type {number[]} */
		this.order = [];
		/** Only tracks with this in their name or number. */
		this.filter = "";
		/** @type {import("./colours.js").Mode} */
		this.colours = "name";
		/** @type {"" | "dark" | "light"} empty: as the browser prefers */
		this.theme = "";
		/** @type {Note[]} */
		this.notes = [];
		this.tab = "details";
		this.query = "";
		/** Views that were left, newest last. @type {View[]} */
		this.history = [];
	}

	/** Keeps the view, so that Backspace comes back to it. */
	leave() {
		const last = this.history[this.history.length - 1];
		if (last && last.start === this.view.start && last.nspp === this.view.nspp) return;
		this.history.push({ ...this.view });
		if (this.history.length > 100) this.history.shift();
	}

	/** The page's zero is earlier now: all times are `ns` later. @param {number} ns */
	shift(ns) {
		for (const v of [this.view, ...this.history]) v.start += ns;
		if (this.picked) this.picked = { ...this.picked, ts: this.picked.ts + ns };
		for (const r of [...(this.range ? [this.range] : []), ...this.notes]) {
			r.from += ns;
			r.to += ns;
		}
	}

	back() {
		const view = this.history.pop();
		if (view) this.view = view;
		return Boolean(view);
	}

	/** All of it as JSON: what a file has. */
	save() {
		return JSON.stringify({
			"spur-view": VERSION, view: this.view, top: Math.round(this.top), picked: this.picked, range: this.range,
			pins: this.pins, hidden: [...this.hidden], folded: [...this.folded], order: this.order,
			filter: this.filter, colours: this.colours, theme: this.theme, notes: this.notes, tab: this.tab,
			query: this.query,
		});
	}

	/**
	 * Takes over what `save` made. Unknown and wrong parts are left out; throws if it is nothing of
	 * the kind.
	 * @param {string} text
	 */
	load(text) {
		const from = JSON.parse(text);
		if (!from || from["spur-view"] !== VERSION) throw new Error("this is no state of `spur view`");
		const number = (/** @type {unknown} */ x) => typeof x === "number" && Number.isFinite(x);
		const numbers = (/** @type {unknown} */ x) => (Array.isArray(x) ? x.filter(number) : []);
		const string = (/** @type {unknown} */ x) => (typeof x === "string" ? x : "");
		if (from.view && number(from.view.start) && from.view.nspp > 0 && from.view.nspp < 1e15) {
			this.view = { start: from.view.start, nspp: from.view.nspp };
		}
		this.top = number(from.top) ? Math.max(0, from.top) : 0;
		this.picked = isSpan(from.picked) ? from.picked : null;
		this.range = isRange(from.range) ? from.range : null;
		this.pins = numbers(from.pins);
		this.hidden = new Set(numbers(from.hidden));
		this.folded = new Set(numbers(from.folded));
		this.order = numbers(from.order);
		this.filter = string(from.filter);
		this.colours = ["name", "module", "duration"].includes(from.colours) ? from.colours : "name";
		this.theme = ["dark", "light"].includes(from.theme) ? from.theme : "";
		this.notes = (Array.isArray(from.notes) ? from.notes : [])
			.filter((/** @type {any} */ n) => n && number(n.from) && number(n.to))
			.map((/** @type {any} */ n) => ({ from: n.from, to: n.to, text: string(n.text) }));
		this.tab = string(from.tab) || "details";
		this.query = string(from.query);
	}
}

/** @param {any} s */
function isSpan(s) {
	return Boolean(s) && ["track", "depth", "ts", "dur", "label"].every((k) => Number.isFinite(s[k])) &&
		(s.number === undefined || (Number.isSafeInteger(s.number) && s.number >= 0));
}

/** @param {any} r */
function isRange(r) {
	return Boolean(r) && Number.isFinite(r.from) && Number.isFinite(r.to) &&
		(r.tracks === null || Array.isArray(r.tracks));
}

/**
 * The token and the state of an address: `#TOKEN` or `#TOKEN&STATE`.
 * @param {string} hash
 */
export function readHash(hash) {
	const text = hash.replace(/^#/, "");
	const at = text.indexOf("&");
	if (at < 0) return { token: text, state: "" };
	try {
		return { token: text.slice(0, at), state: decodeURIComponent(text.slice(at + 1)) };
	} catch {
		return { token: text.slice(0, at), state: "?" };
	}
}

/** @param {string} token @param {string} state */
export function makeHash(token, state) {
	return `#${token}&${encodeURIComponent(state)}`;
}
