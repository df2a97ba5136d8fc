/** Colours of spans: by name, module or duration; the same in every trace. */

/** @typedef {import("./types.js").Label} Label */
/** @typedef {"name" | "module" | "duration"} Mode */

export const MODES = /** @type {Mode[]} */ (["name", "module", "duration"]);

/** @param {string} s */
function hash(s) {
	let h = 2166136261;
	for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	h ^= h >>> 13;
	return Math.imul(h, 0x5bd1e995) >>> 0;
}

/**
 * The colour of a hue as the word that a pixel of an ImageData is on little-endian machines.
 * @param {number} hue 0 to 360
 * @param {number} saturation 0 to 1
 * @param {number} light 0 to 1
 */
function pixel(hue, saturation, light) {
	const f = (/** @type {number} */ n) => {
		const k = (n + hue / 30) % 12;
		const a = saturation * Math.min(light, 1 - light);
		return Math.round(255 * (light - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	};
	return ((255 << 24) | (f(4) << 16) | (f(8) << 8) | f(0)) >>> 0;
}

/** @param {number} p a pixel */
export function css(p) {
	return `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;
}

/** The colours of labels, as pixels; grows with the labels. */
export class Palette {
	constructor() {
		/** @type {Mode} */
		this.mode = "name";
		this.dark = true;
		/** Names for which this is false are faded. @type {((label: Label) => boolean) | null} */
		this.match = null;
		this.pixels = new Uint32Array(0);
		/** @type {Label[]} */
		this.labels = [];
	}

	/** @param {Label[]} labels all of them */
	update(labels) {
		this.labels = labels;
		const light = this.dark ? 0.62 : 0.72;
		const out = new Uint32Array(labels.length);
		labels.forEach((l, i) => {
			const faded = this.match && !this.match(l);
			const key = this.mode === "module" ? l.module || l.category : l.name;
			const h = hash(key);
			out[i] = faded ? pixel(0, 0, this.dark ? 0.25 : 0.88)
				: pixel(h % 360, 0.45 + ((h >>> 9) % 20) / 100, light - ((h >>> 17) % 12) / 100);
		});
		this.pixels = out;
	}

	/**
	 * The colour of one rectangle.
	 * @param {number} label
	 * @param {number} ns its width
	 * @param {number} screen ns that the screen is wide
	 */
	at(label, ns, screen) {
		if (this.mode !== "duration") return this.pixels[label] ?? 0xff808080;
		const heat = Math.max(0, Math.min(1, 1 + Math.log10(Math.max(ns, 1) / screen) / 4));
		return pixel(220 - 220 * heat, 0.6, this.dark ? 0.55 : 0.65);
	}
}

/** What a thread does, by the label of its state. */
export const STATES = ["running", "runnable", "blocked", "waiting for the disk", "stopped", "ended"];

/** @param {number} state @param {boolean} dark */
export function stateColour(state, dark) {
	const light = dark ? 0.45 : 0.6;
	return [pixel(130, 0.55, light), pixel(45, 0.8, light), pixel(0, 0, dark ? 0.32 : 0.82),
		pixel(15, 0.75, light), pixel(280, 0.4, light), pixel(0, 0, dark ? 0.2 : 0.92)][state] ?? 0xff808080;
}
