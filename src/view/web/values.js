/** What counters of a store in the page had in a range, as src/view/counters.c tells. */

import { I64, SPANS, STATES, U64 } from "./store.js";
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

/** @param {number} v */
function text(v) {
	return Number.isNaN(v) ? "nan" : v === Infinity ? "inf" : v === -Infinity ? "-inf" : Object.is(v, -0) ? "-0" : String(v);
}

/** @param {Store} s @param {import("./types.js").Range} range @returns {import("./types.js").CounterSum[]} */
export function counters(s, range) {
	/** @type {import("./types.js").CounterSum[]} */
	const out = [];
	s.lanes.forEach(({ kind }, lane) => {
		if (kind === SPANS || kind === STATES) return;
		const whole = kind === I64 || kind === U64;
		/** @type {(bigint | number)[]} */
		const values = [];
		for (let n = s.seek(lane, range.from), i; (i = s.item(lane, n)) && i.start < range.to; n++) {
			const bits = s.value(i.block, i.i);
			if (i.start >= range.from) values.push(!whole ? valueOf(kind, bits) : kind === I64 ? BigInt.asIntN(64, bits) : bits);
		}
		if (!values.length) return;
		const shown = (/** @type {bigint | number} */ v) => (typeof v === "bigint" ? String(v) : text(v));
		const known = values.filter((v) => typeof v === "bigint" || !Number.isNaN(v)), last = shown(values[values.length - 1]);
		if (!known.length) {
			out.push({ series: lane, samples: values.length, min: "", max: "", mean: "", last });
			return;
		}
		const least = known.reduce((a, v) => (v < a ? v : a)), most = known.reduce((a, v) => (a < v ? v : a)), count = BigInt(known.length);
		let mean = "", sum = 0n, odd = 0;
		for (const v of known) {
			if (typeof v === "bigint") sum += v;
			else if (Number.isFinite(v)) sum += scaled(v);
			else odd += v;
		}
		if (odd || Number.isNaN(odd)) mean = text(odd);
		else mean = whole && sum % count === 0n ? String(sum / count) : text(ratio(sum, whole ? count : count << SCALE));
		out.push({ series: lane, samples: values.length, min: shown(least), max: shown(most), mean, last });
	});
	return out;
}
