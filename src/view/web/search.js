/** Finding spans: text, /regular expression/, dur>1ms, arg.NAME=VALUE, conditions of --where. */

import { byId } from "./dom.js";
import { nameTest } from "./query.js";
import { count } from "./time.js";

/** @typedef {import("./app.js").App} App */

export class Search {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		this.input = /** @type {HTMLInputElement} */ (byId("query"));
		this.output = byId("hits");
		/** The last span that was found. @type {import("./types.js").SpanRef | null} */
		this.at = null;
		this.turn = 0;
		this.input.addEventListener("input", () => this.changed());
		this.input.addEventListener("keydown", (e) => {
			if (e.key === "Enter") this.next(e.shiftKey);
			if (e.key === "Escape") this.leave();
			e.stopPropagation();
		});
	}

	open() {
		this.input.focus();
		this.input.select();
	}

	/** Puts a query in as if it was typed. @param {string} query */
	set(query) {
		this.input.value = query;
		this.changed();
	}

	leave() {
		this.set("");
		this.input.blur();
	}

	changed() {
		const { app } = this;
		app.state.query = this.input.value.trim();
		this.at = null;
		app.overview.hits = [];
		app.palette.match = nameTest(app.state.query);
		this.output.textContent = "";
		app.recolour();
	}

	/** @param {boolean} back to the one before */
	async next(back) {
		const { app } = this, query = app.state.query, turn = ++this.turn;
		if (!query) return;
		this.output.textContent = "searching";
		try {
			const found = await app.source.find(query, this.at, back);
			if (turn !== this.turn) return;
			this.at = found.hit;
			this.output.textContent = `${count(found.total)}${found.partial ? " or more" : ""} found`;
			app.overview.hits = found.marks ?? [];
			if (found.hit) app.pick(found.hit, true);
			else app.redraw();
		} catch (e) {
			if (turn === this.turn) this.output.textContent = /** @type {Error} */ (e).message;
		}
	}
}
