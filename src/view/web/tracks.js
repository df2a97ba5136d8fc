/** The rows of the picture: which tracks are shown, in which order, how high each is. */

/** @typedef {import("./types.js").Track} Track */
/** @typedef {import("./types.js").Series} Series */
/** @typedef {import("./types.js").Lane} Lane */
/** @typedef {import("./state.js").State} State */

export const LANE = 16, HEAD = 20, SERIES = 36, STRIP = 8;

/** Lanes that are shown of a track of which nothing was drawn yet. */
const FIRST = 6;
/** Of a track without counters. @type {Series[]} */
const NO_SERIES = [];

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
		/** What `family` was made of. @type {[Track[], number[]] | null} */
		this.of = null;
		this.family = new Family([], []);
	}

	/**
	 * @param {Track[]} tracks
	 * @param {Series[]} series
	 * @param {State} state
	 */
	update(tracks, series, state) {
		/* With very many tracks, this takes longer than all that follows. */
		if (this.of?.[0] !== tracks || this.of[1] !== state.order) this.family = new Family(tracks, state.order);
		this.of = [tracks, state.order];
		const { byId, children } = this.family, shown = state.filter ? filtered(tracks, byId, state.filter) : null;
		/** @type {Map<number, Series[]>} */
		const values = new Map();
		for (const s of series) values.set(s.track, [...(values.get(s.track) ?? []), s]);
		this.rows = [];
		this.byTrack.clear();
		this.height = 0;
		this.outdated = false;
		const add = (/** @type {Track} */ t, /** @type {number} */ level, /** @type {boolean} */ pinned) => {
			const folded = state.folded.has(t.id);
			const row = this.row(t, level, folded, values.get(t.id) ?? NO_SERIES);
			row.group = children.has(t.id);
			row.pinned = pinned;
			this.rows.push(row);
			this.byTrack.set(t.id, row);
		};
		for (const id of state.pins) {
			const t = byId.get(id);
			if (t && !state.hidden.has(id)) add(t, 0, true);
		}
		const pinned = new Set(state.pins);
		/** Tracks that are still to be shown, the next one last, and how many tracks each is in. @type {Track[]} */
		const todo = [], levels = /** @type {number[]} */ ([]);
		const push = (/** @type {number} */ parent, /** @type {number} */ level) => {
			const list = children.get(parent) ?? [];
			for (let i = list.length - 1; i >= 0; i--) {
				todo.push(list[i]);
				levels.push(level);
			}
		};
		push(-1, 0);
		while (todo.length) {
			const t = /** @type {Track} */ (todo.pop()), level = /** @type {number} */ (levels.pop());
			if (state.hidden.has(t.id) || (shown && !shown.has(t.id))) continue;
			if (!pinned.has(t.id)) add(t, level, false);
			if (!state.folded.has(t.id)) push(t.id, level + 1);
		}
	}

	/**
	 * @param {Track} track @param {number} level @param {boolean} folded @param {Series[]} series
	 * @returns {Row}
	 */
	row(track, level, folded, series) {
		const strip = track.states ? STRIP : 0;
		const depth = folded ? Math.min(track.depth, 1) : Math.min(track.depth, this.need.get(track.id) ?? FIRST);
		const shown = folded ? NO_SERIES : series;
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

/** Tracks by their ids, and which are in which. */
class Family {
	/** @param {Track[]} tracks @param {number[]} order of the user: tracks that are not in it follow, in the order of the trace */
	constructor(tracks, order) {
		/** @type {Map<number, Track>} */
		this.byId = new Map();
		for (const t of tracks) this.byId.set(t.id, t);
		/** The tracks of each parent. Those of none, of an unknown one, or below themselves, are at -1. @type {Map<number, Track[]>} */
		this.children = new Map();
		for (const t of tracks) {
			let up = t.parent, steps = 0;
			for (let above; up !== -1 && (above = this.byId.get(up)) && steps++ < 64;) up = above.parent;
			const parent = up === -1 ? t.parent : -1, list = this.children.get(parent);
			if (list) list.push(t); else this.children.set(parent, [t]);
		}
		if (!order.length) return;
		const place = new Map(order.map((id, i) => [id, i]));
		const rank = (/** @type {Track} */ t) => place.get(t.id) ?? order.length;
		for (const list of this.children.values()) list.sort((a, b) => rank(a) - rank(b));
	}
}

/**
 * The tracks whose name or number has the text, with those that they are in and that are in them.
 * @param {Track[]} tracks
 * @param {Map<number, Track>} byId
 * @param {string} text
 */
function filtered(tracks, byId, text) {
	const want = text.toLowerCase();
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
