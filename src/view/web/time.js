/** Times and durations as text. */

/** @typedef {import("./types.js").Ns} Ns */
/** @typedef {import("./types.js").Whole} Whole */

const UNITS = /** @type {const} */ ([["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]]);
/** The units of durations, each from how many ns on. @type {[bigint, string, bigint][]} */
const LONG = [[60000000000000n, "h", 3600000000000n], [1000000000000n, "m", 60000000000n], [1000000000n, "s", 1000000000n],
	[1000000n, "ms", 1000000n], [1000n, "us", 1000n]];

/**
 * A duration as tables of `spur` show it: cut to three decimals; in minutes from 1,000 s on, in hours from 1,000 minutes on.
 * @param {Ns} ns
 */
export function duration(ns) {
	const whole = typeof ns === "bigint" ? ns : BigInt(Math.round(ns)), sign = whole < 0n ? "-" : "", size = whole < 0n ? -whole : whole;
	for (const [from, unit, one] of LONG) {
		if (size < from) continue;
		const thousandths = (size * 1000n) / one, decimals = String(thousandths % 1000n).padStart(3, "0");
		return `${sign}${thousandths / 1000n}${thousandths < 1000000n ? `.${decimals}` : ""} ${unit}`;
	}
	return `${sign}${size} ns`;
}

/** A duration that may not be known. @param {Ns | null} ns */
export function known(ns) {
	return ns === null ? "" : duration(ns);
}

/** A bigint as a number if that is exact. @param {bigint} n @returns {Ns} */
function narrow(n) {
	return n <= BigInt(Number.MAX_SAFE_INTEGER) && n >= BigInt(Number.MIN_SAFE_INTEGER) ? Number(n) : n;
}

/** The exact sum of two whole numbers: a number up to 2^53, else a bigint. @param {Ns} a @param {Ns} b @returns {Ns} */
export function plus(a, b) {
	if (typeof a === "number" && typeof b === "number" && Number.isSafeInteger(a + b)) return a + b;
	return narrow(BigInt(a) + BigInt(b));
}

/** @param {Ns} a @param {Ns} b @returns {Ns} */
export function minus(a, b) {
	return plus(a, -b);
}

/** The whole number at or below a quotient of numbers that are not negative. @param {Ns} a @param {Whole} b @returns {Ns} */
export function over(a, b) {
	return typeof a === "number" && typeof b === "number" ? Math.floor(a / b) : narrow(BigInt(a) / BigInt(b));
}

/**
 * Reads JSON that has no texts but names of members, with whole numbers of any size.
 * @param {string} text
 */
export function parseExact(text) {
	const wide = text.replace(/([:,[])(-?\d{16,})(?=[,}\]])/g, (all, before, n) => (Number.isSafeInteger(Number(n)) ? all : `${before}"${n}"`));
	return JSON.parse(wide, (_, v) => (typeof v === "string" ? BigInt(v) : v));
}

/**
 * A number with its thousands apart.
 * @param {Ns} n
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
	return `${BigInt(Math.round(ns))}ns`;
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
