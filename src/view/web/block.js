/** Blocks of a store in memory: columns of values of one width (docs/formats/store.md). */

/** Columns of a block (enum store_column). */
export const C = { N_START: 0, N_END: 1, N_LABEL: 2, N_DUR: 3, START: 4, DUR: 5, LABEL: 6, MARKS: 7, NARGS: 8, FLAGS: 9, OFF: 10,
	STREAM: 12, ID: 13, CPU: 14, TIES: 15, END_LABEL: 17, VALUE: 23, OUTER: 24, INNER: 25, SELF: 26 };
const COLUMNS = 27;

/**
 * @typedef {object} Column
 * @property {number} at byte at which its values begin
 * @property {number} width
 * @property {number} shift
 * @property {number} lo base
 * @property {number} hi
 */

/**
 * The columns of a block of `n` items, of which level 1 has one value for each 16. The last column, SELF, has fewer.
 * @param {DataView} view @param {number} at @param {number} n @param {number} level1
 */
export function readColumns(view, at, n, level1) {
	const mask = view.getUint32(at, true);
	/** @type {(Column | null)[]} */
	const columns = [];
	let head = at + 8, data = at + view.getUint16(at + 4, true);
	for (let c = 0; c < COLUMNS; c++) {
		columns.push(null);
		if (!(mask >>> c & 1)) continue;
		const width = view.getUint8(head), more = view.getUint8(head + 1), bytes = more & 15;
		let lo = 0, hi = 0;
		for (let i = 0; i < Math.min(bytes, 4); i++) lo += view.getUint8(head + 2 + i) * 2 ** (8 * i);
		for (let i = 4; i < bytes; i++) hi += view.getUint8(head + 2 + i) * 2 ** (8 * (i - 4));
		columns[c] = { at: data, width, shift: more >> 4, lo, hi };
		head += 2 + bytes;
		data += (width * (c <= C.N_DUR ? level1 : n) + 7) >> 3;
	}
	return columns;
}

/** SPEC store/column: the first values of a column. @param {DataView} view @param {Column | null} c @param {number} n */
export function values(view, c, n) {
	const out = new Float64Array(n);
	if (!c) return out;
	const { width } = c, base = c.hi * 2 ** 32 + c.lo, by = 2 ** c.shift;
	const low = width >= 32 ? 2 ** 32 - 1 : 2 ** width - 1, high = width > 32 ? 2 ** (width - 32) - 1 : 0;
	for (let i = 0; i < n; i++) {
		const bit = i * width, o = c.at + Math.floor(bit / 8), s = bit & 7;
		let v = 0;
		if (width) {
			const a = view.getUint32(o, true), b = view.getUint32(o + 4, true);
			v = ((s ? (a >>> s) | (b << (32 - s)) : a) & low) >>> 0;
			if (high) v += (((b >>> s) & high) >>> 0) * 2 ** 32;
		}
		out[i] = base + v * by;
	}
	return out;
}

/** One value of 64 bits. @param {DataView} view @param {Column | null} c @param {number} i */
export function wide(view, c, i) {
	if (!c) return 0n;
	const base = BigInt(c.hi) << 32n | BigInt(c.lo), bit = i * c.width;
	const bits = c.width ? view.getBigUint64(c.at + Math.floor(bit / 8), true) >> BigInt(bit & 7) : 0n;
	return BigInt.asUintN(64, base + (BigInt.asUintN(c.width, bits) << BigInt(c.shift)));
}
