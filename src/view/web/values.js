/** What counters of a store in the page had in a range, as src/view/counters.c tells. */

import { I64, U64 } from "./store.js";
import { valueOf } from "./walk.js";

/** @typedef {import("./store.js").Store} Store */

/** The exponent that makes every double a whole number. */
const SCALE = 1074n;

/** A finite double, times 2^1074. @param {number} v */
function scaled(v) {
	const view = new DataView(new ArrayBuffer(8));
	view.setFloat64(0, v);
	const bits = view.getBigUint64(0), exponent = (bits >> 52n) & 2047n, fraction = bits & 0xFFFFFFFFFFFFFn;
	const whole = exponent ? (fraction | 1n << 52n) << (exponent - 1n) : fraction;
	return bits >> 63n ? -whole : whole;
}

/** The double nearest to a / b, b > 0. @param {bigint} a @param {bigint} b */
function ratio(a, b) {
	const size = (/** @type {bigint} */ x) => x.toString(16).length * 4, m = a < 0n ? -a : a;
	/* More digits than a double has; what is left of the division is one more. */
	const shift = Math.max(0, 72 + size(b) - size(m)), q = (m << BigInt(shift)) / b, rest = (m << BigInt(shift)) % b ? 1n : 0n;
	const drop = Math.max(0, size(q) - 72), top = (q >> BigInt(drop)) | (q & ((1n << BigInt(drop)) - 1n) ? 1n : rest);
	const power = drop - shift;
	/* In two steps, as one of them may be beyond a double's range. */
	const v = Number(top) * 2 ** Math.trunc(power / 2) * 2 ** (power - Math.trunc(power / 2));
	return a < 0n ? -v : v;
}

/** A double as `spur counters` writes it: with an exponent from 15 digits before the point on, or as many as it needs. @param {number} v */
function text(v) {
	if (!Number.isFinite(v)) return Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf";
	if (Object.is(v, -0)) return "-0";
	const [digits, exponent] = v.toExponential().split("e"), x = Number(exponent);
	if (x >= -4 && x < Math.max(15, digits.replace(/\D/g, "").length)) return String(v);
	return `${digits}e${x < 0 ? "-" : "+"}${String(Math.abs(x)).padStart(2, "0")}`;
}

/** @param {Store} s @param {import("./types.js").Range} range @returns {import("./types.js").CounterSum[]} */
export function counters(s, range) {
	/** @type {import("./types.js").CounterSum[]} */
	const out = [];
	s.series.forEach((lanes, series) => {
		/** @type {{t: number, at: [number, number], v: bigint | number}[]} */
		const found = [];
		for (const lane of lanes) {
			const { kind } = s.lanes[lane];
			for (let n = s.seek(lane, range.from), i; (i = s.item(lane, n)) && i.start < range.to; n++) {
				if (i.start < range.from) continue;
				const bits = s.value(i.block, i.i), v = kind === I64 ? BigInt.asIntN(64, bits) : kind === U64 ? bits : valueOf(kind, bits);
				found.push({ t: i.start, at: s.at(i), v });
			}
		}
		if (lanes.length > 1) found.sort((a, b) => a.t - b.t || (a.at[0] === b.at[0] ? a.at[1] - b.at[1] : 0));
		if (found.length) out.push({ series, samples: found.length, ...sumUp(found.map((x) => x.v)) });
	});
	return out;
}

/** Least, greatest, mean and last of numbers of any type, in their order. @param {(bigint | number)[]} values */
function sumUp(values) {
	const shown = (/** @type {bigint | number} */ v) => (typeof v === "bigint" ? String(v) : text(v));
	const known = values.filter((v) => typeof v === "bigint" || !Number.isNaN(v)), last = shown(values[values.length - 1]);
	if (!known.length) return { min: "", max: "", mean: "", last };
	const least = known.reduce((a, v) => (v < a ? v : a)), most = known.reduce((a, v) => (a < v ? v : a)), count = BigInt(known.length);
	let whole = 0n, sum = 0n, odd = 0;
	for (const v of known) {
		if (typeof v === "bigint") whole += v;
		else if (Number.isFinite(v)) sum += scaled(v);
		else odd += v;
	}
	let mean = "";
	if (odd || Number.isNaN(odd)) mean = text(odd);
	else if (sum === 0n && whole % count === 0n) mean = String(whole / count);
	else mean = text(sum ? ratio((whole << SCALE) + sum, count << SCALE) : ratio(whole, count));
	return { min: shown(least), max: shown(most), mean, last };
}
