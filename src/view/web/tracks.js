/** The rows of the picture: which tracks are shown, in which order, how high each is. */

/** @typedef {import("./types.js").Track} Track */
/** @typedef {import("./types.js").Series} Series */
/** @typedef {import("./types.js").Lane} Lane */
/** @typedef {import("./state.js").State} State */

export const LANE = 16, HEAD = 20, SERIES = 36, STRIP = 8;

/** Lanes that are shown of a track of which nothing was drawn yet. */
const FIRST = 6;

/**
 * A track in the picture. `y` counts from the top of all rows.
 * @typedef {object} Row
 * @property {Track} track
 * @property {number} level how many tracks it is in
 * @property {boolean} group whether tracks are in it
 * @property {boolean} folded
 * @property {boolean} pinned
 * @property {number} y
 * @property {number} height
 * @property {number} spansAt y of its first lane, from the top of the row
 * @property {number} depth lanes that are shown
 * @property {Series[]} series
 * @property {number} seriesAt y of its first series, from the top of the row
 */

export class Layout {
	constructor() {
		/** @type {Row[]} */
		this.rows = [];
		this.height = 0;
		/** @type {Map<number, Row>} of the unpinned place, or the pinned one */
		this.byTrack = new Map();
		/** Lanes that a track needs at the time that the screen shows. @type {Map<number, number>} */
		this.need = new Map();
		/** Whether `need` has changed since the last update. */
		this.outdated = false;
	}

	/**
	 * @param {Track[]} tracks
	 * @param {Series[]} series
	 * @param {State} state
	 */
	update(tracks, series, state) {
		const children = childrenOf(tracks, state.order);
		const shown = filtered(tracks, state.filter);
		/** @type {Map<number, Series[]>} */
		const values = new Map();
		for (const s of series) values.set(s.track, [...(values.get(s.track) ?? []), s]);
		const byId = new Map(tracks.map((t) => [t.id, t]));
		this.rows = [];
		this.byTrack.clear();
		this.height = 0;
		this.outdated = false;
		const add = (/** @type {Track} */ t, /** @type {number} */ level, /** @type {boolean} */ pinned) => {
			const folded = state.folded.has(t.id);
			const row = this.row(t, level, folded, values.get(t.id) ?? []);
			row.group = (children.get(t.id) ?? []).length > 0;
			row.pinned = pinned;
			this.rows.push(row);
			this.byTrack.set(t.id, row);
		};
		for (const id of state.pins) {
			const t = byId.get(id);
			if (t && !state.hidden.has(id)) add(t, 0, true);
		}
		const pinned = new Set(state.pins);
		/** @type {[Track, number][]} */
		const todo = (children.get(-1) ?? []).map((t) => /** @type {[Track, number]} */ ([t, 0])).reverse();
		while (todo.length) {
			const [t, level] = /** @type {[Track, number]} */ (todo.pop());
			if (state.hidden.has(t.id) || !shown.has(t.id)) continue;
			if (!pinned.has(t.id)) add(t, level, false);
			if (state.folded.has(t.id)) continue;
			for (const c of (children.get(t.id) ?? []).slice().reverse()) todo.push([c, level + 1]);
		}
	}

	/**
	 * @param {Track} track @param {number} level @param {boolean} folded @param {Series[]} series
	 * @returns {Row}
	 */
	row(track, level, folded, series) {
		const strip = track.states ? STRIP : 0;
		const depth = folded ? Math.min(track.depth, 1) : Math.min(track.depth, this.need.get(track.id) ?? FIRST);
		const shown = folded ? [] : series;
		const lanes = strip + depth * LANE;
		const height = Math.max(HEAD, lanes + shown.length * SERIES) + 4;
		const row = { track, level, group: false, folded, pinned: false, y: this.height, height,
			spansAt: strip, depth, series: shown, seriesAt: lanes };
		this.height += height;
		return row;
	}

	/** The same rows, as high as their tracks need now: much less work than `update`, with many tracks. */
	refit() {
		this.height = 0;
		this.outdated = false;
		for (const row of this.rows) {
			const { y, height, depth, seriesAt } = this.row(row.track, row.level, row.folded, row.series);
			Object.assign(row, { y, height, depth, seriesAt });
		}
	}

	/**
	 * Learns from what was drawn how many lanes each track needs: one more than the deepest lane
	 * with something in it, so that deeper ones are noticed when they come.
	 * @param {Lane[]} lanes @param {Uint8Array} full which of them have something in them
	 */
	fit(lanes, full) {
		for (let i = 0; i < lanes.length;) {
			const row = this.byTrack.get(lanes[i].track), first = lanes[i].depth;
			let n = 0, deepest = -1;
			for (; i + n < lanes.length && lanes[i + n].track === lanes[i].track; n++) {
				if (full[i + n] && lanes[i + n].depth >= 0) deepest = lanes[i + n].depth;
			}
			i += n;
			if (!row || row.folded) continue;
			const last = lanes[i - 1].depth;
			let need = row.depth;
			if (deepest === row.depth - 1) need = Math.min(row.track.depth, row.depth * 2);
			else if (last === row.depth - 1 && (deepest >= 0 || first <= 0)) need = deepest + 2;
			need = Math.max(Math.min(need, row.track.depth), Math.min(row.track.depth, 1));
			if (need === row.depth) continue;
			this.need.set(row.track.id, need);
			this.outdated = true;
		}
	}

	/**
	 * The first row that reaches below y.
	 * @param {number} y
	 */
	at(y) {
		let lo = 0, hi = this.rows.length;
		while (lo < hi) {
			const m = (lo + hi) >> 1;
			if (this.rows[m].y + this.rows[m].height <= y) lo = m + 1; else hi = m;
		}
		return lo;
	}

	/**
	 * What is at a place of the picture.
	 * @param {number} y from the top of all rows
	 * @returns {{row: Row, lane: Lane | null, series: Series | null} | null}
	 */
	pick(y) {
		const row = this.rows[this.at(y)];
		if (!row || y < row.y) return null;
		const in_ = y - row.y;
		const depth = Math.floor((in_ - row.spansAt) / LANE);
		if (in_ < row.spansAt) return { row, lane: { track: row.track.id, depth: -1 }, series: null };
		if (depth < row.depth) return { row, lane: { track: row.track.id, depth }, series: null };
		const series = row.series[Math.floor((in_ - row.seriesAt) / SERIES)] ?? null;
		return { row, lane: null, series };
	}
}

/**
 * The tracks of each parent (-1: of none), in the order of the user, then of the trace. A track
 * whose parent is unknown, or is below itself, stands at the top.
 * @param {Track[]} tracks
 * @param {number[]} order
 */
function childrenOf(tracks, order) {
	const place = new Map(order.map((id, i) => [id, i]));
	const parents = new Map(tracks.map((t) => [t.id, t.parent]));
	/** @type {Map<number, Track[]>} */
	const out = new Map();
	for (const t of tracks) {
		let up = t.parent, steps = 0;
		while (up !== -1 && parents.has(up) && steps++ < 64) up = /** @type {number} */ (parents.get(up));
		const parent = up === -1 && parents.has(t.parent) ? t.parent : -1;
		const list = out.get(parent);
		if (list) list.push(t); else out.set(parent, [t]);
	}
	if (place.size) {
		const rank = (/** @type {Track} */ t) => place.get(t.id) ?? Infinity;
		for (const list of out.values()) {
			const was = new Map(list.map((t, i) => [t, i]));
			list.sort((a, b) => {
				const x = rank(a), y = rank(b);
				return x === y ? /** @type {number} */ (was.get(a)) - /** @type {number} */ (was.get(b)) : x - y;
			});
		}
	}
	return out;
}

/**
 * The tracks whose name or number has the text, with those that they are in and that are in them.
 * @param {Track[]} tracks
 * @param {string} text
 */
function filtered(tracks, text) {
	const all = new Set(tracks.map((t) => t.id));
	if (!text) return all;
	const want = text.toLowerCase();
	const byId = new Map(tracks.map((t) => [t.id, t]));
	const fits = (/** @type {Track} */ t) => t.name.toLowerCase().includes(want) || t.tid === want || t.pid === want ||
		Boolean(t.trace?.toLowerCase().includes(want));
	/** @type {Set<number>} */
	const out = new Set();
	for (const t of tracks) {
		/** @type {number[]} */
		const line = [];
		let up = /** @type {Track | undefined} */ (t);
		for (let steps = 0; up && steps < 64; steps++) {
			line.push(up.id);
			if (fits(up)) {
				for (let u = byId.get(up.parent), n = 0; u && n < 64; u = byId.get(u.parent), n++) line.push(u.id);
				for (const id of line) out.add(id);
				break;
			}
			up = byId.get(up.parent);
		}
	}
	return out;
}
