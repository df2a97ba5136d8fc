/** Times and durations as text. */

const UNITS = /** @type {const} */ ([["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]]);

/**
 * A duration with three decimals in the largest unit that fits.
 * @param {number} ns
 */
export function duration(ns) {
	const size = Math.abs(ns);
	for (const [unit, one] of UNITS) {
		if (size >= one || one === 1) {
			return one === 1 ? `${Math.round(ns)} ns` : `${(ns / one).toFixed(3)} ${unit}`;
		}
	}
	return "";
}

/**
 * A number with its thousands apart.
 * @param {number} n
 */
export function count(n) {
	return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/**
 * A number of things.
 * @param {number} n @param {string} what one of them
 */
export function some(n, what) {
	return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
}

/**
 * An exact number of nanoseconds in the form that options of `spur` take.
 * @param {number} ns
 */
export function exact(ns) {
	return `${Math.round(ns)}ns`;
}

/**
 * The distance between the marks of an axis: 1, 2 or 5 times a power of ten, at least `px` apart.
 * @param {number} nspp nanoseconds a pixel
 * @param {number} px
 */
export function step(nspp, px) {
	const least = Math.max(1, nspp * px);
	const ten = 10 ** Math.floor(Math.log10(least));
	for (const n of [1, 2, 5, 10]) {
		if (n * ten >= least) return n * ten;
	}
	return 10 * ten;
}

/**
 * The text of a mark: no more decimals than the distance between marks needs.
 * @param {number} ns
 * @param {number} distance
 */
export function tick(ns, distance) {
	if (ns === 0) return "0";
	for (const [unit, one] of UNITS) {
		if (Math.abs(ns) >= one || one === 1) {
			const decimals = Math.max(0, Math.ceil(Math.log10(one / distance) - 1e-9));
			return `${(ns / one).toFixed(Math.min(decimals, 9))} ${unit}`;
		}
	}
	return "";
}

/**
 * Reads a time that a user types: a number with a unit. Returns NaN if it is not one.
 * @param {string} text
 */
export function parse(text) {
	const m = /^\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|m)\s*$/.exec(text);
	if (!m) return NaN;
	const one = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 6e10 }[/** @type {"ns"} */ (m[2])];
	return Number(m[1]) * one;
}
