/** Tiles of lanes: which are here, which are on their way, which may go. */

/** @typedef {import("./types.js").Lane} Lane */
/** @typedef {import("./types.js").Source} Source */

/** Pixels that a tile is wide; a pixel of zoom z is 2^z ns. */
export const TILE = 1024;
/** Steps of a pixel in a rectangle's edges. */
export const SUB = 32;

/** Flags of a rectangle. */
export const MERGED = 1, CUT_LEFT = 2, CUT_RIGHT = 4, UNFINISHED = 8, HAS_ARGS = 16, INSTANT = 32, OFF_CPU = 64;

/**
 * The rectangles of a lane in a tile: `x[4k]` and `x[4k + 1]` are the edges of rectangle k, and
 * `word[2k + 1]` its label << 8 | flags.
 * @typedef {object} Tile
 * @property {number} n
 * @property {Uint16Array} x
 * @property {Uint32Array} word
 * @property {boolean} ready
 * @property {boolean} partial
 * @property {number} used
 */

const EMPTY16 = new Uint16Array(0), EMPTY32 = new Uint32Array(0);
const MOST_TILES = 20000, MOST_BYTES = 48 << 20, MOST_LANES = 256;

export class Tiles {
	/** @param {Source} source @param {(error: Error | null) => void} changed */
	constructor(source, changed) {
		this.source = source;
		this.changed = changed;
		/** @type {Map<string, Tile>} */
		this.tiles = new Map();
		this.clock = 0;
		this.waiting = 0;
		this.fetches = 0;
		this.bytes = 0;
		/** Bytes of the tiles that are here. */
		this.held = 0;
	}

	/** Tiles that were fetched while the store was being built are asked for again. */
	stale() {
		for (const [key, t] of this.tiles) if (t.partial) this.forget(key);
	}

	clear() {
		this.tiles.clear();
		this.held = 0;
	}

	/** @param {string} key */
	forget(key) {
		this.held -= (this.tiles.get(key)?.n ?? 0) * 8;
		this.tiles.delete(key);
	}

	/**
	 * The tiles of lanes, in their order. What is missing is asked for; `changed` is called when it
	 * has come.
	 * @param {number} z
	 * @param {number} i
	 * @param {Lane[]} lanes in order of tracks and depths
	 * @returns {Tile[]}
	 */
	get(z, i, lanes) {
		/** @type {Lane[]} */
		const missing = [];
		const out = lanes.map((lane) => {
			const key = `${z}/${i}/${lane.track}/${lane.depth}`;
			let t = this.tiles.get(key);
			if (!t) {
				t = { n: 0, x: EMPTY16, word: EMPTY32, ready: false, partial: false, used: 0 };
				this.tiles.set(key, t);
				missing.push(lane);
			}
			t.used = ++this.clock;
			return t;
		});
		for (let k = 0; k < missing.length; k += MOST_LANES) this.fetch(z, i, missing.slice(k, k + MOST_LANES));
		if (this.tiles.size > MOST_TILES || this.held > MOST_BYTES) this.drop();
		return out;
	}

	/** @param {number} z @param {number} i @param {Lane[]} lanes */
	async fetch(z, i, lanes) {
		this.waiting++;
		try {
			const { data, partial } = await this.source.tiles(z, i, lanes);
			this.fetches++;
			this.bytes += data.byteLength;
			this.take(z, i, lanes, data, partial);
			this.waiting--;
			this.changed(null);
		} catch (e) {
			this.waiting--;
			for (const l of lanes) this.tiles.delete(`${z}/${i}/${l.track}/${l.depth}`);
			this.changed(/** @type {Error} */ (e));
		}
	}

	/**
	 * An answer is u32 version, u32 number of lanes, u32 number of rectangles of each, and the
	 * rectangles, 8 bytes each.
	 * @param {number} z @param {number} i @param {Lane[]} lanes
	 * @param {ArrayBuffer} data @param {boolean} partial
	 */
	take(z, i, lanes, data, partial) {
		const head = new Uint32Array(data, 0, 2 + lanes.length);
		if (head[0] !== 1 || head[1] !== lanes.length) throw new Error("the server is of another version");
		let at = head.byteLength;
		lanes.forEach((l, k) => {
			const n = head[2 + k];
			const t = this.tiles.get(`${z}/${i}/${l.track}/${l.depth}`);
			if (t) {
				t.n = n;
				t.x = new Uint16Array(data, at, n * 4);
				t.word = new Uint32Array(data, at, n * 2);
				t.ready = true;
				t.partial = partial;
				this.held += n * 8;
			}
			at += n * 8;
		});
	}

	/** Lets a quarter go, those that were drawn longest ago. What the screen shows stays. */
	drop() {
		const old = [...this.tiles].filter(([, t]) => t.ready).sort((a, b) => a[1].used - b[1].used);
		const most = MOST_BYTES - MOST_BYTES / 4;
		for (const [key] of old.slice(0, -2 * MOST_LANES)) {
			if (this.tiles.size <= MOST_TILES * 0.75 && this.held <= most) break;
			this.forget(key);
		}
	}

	/** Resolves when nothing is on its way. */
	async settled() {
		while (this.waiting) await new Promise((done) => setTimeout(done, 2));
	}
}
