/** A trace that is being written: the picture stays at its end, until the user moves elsewhere. */

/** @typedef {import("./app.js").App} App */

/** What is shown of a longer trace, in ns. */
const WINDOW = 10e9;
/** Where the end of the trace is on the screen. */
const PLACE = 0.95;

export class Follow {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		this.on = app.meta.growing;
	}

	/** The user has moved. */
	stop() {
		if (!this.on || !this.app.meta.growing) return;
		this.on = false;
		this.app.status();
	}

	toggle() {
		const { app } = this;
		if (!app.meta.growing) {
			app.say("Nothing writes the trace: it is complete.");
			return;
		}
		this.on = !this.on;
		this.advance(false);
		app.status();
	}

	/** The trace has grown. @param {boolean} whole whether all of it was on the screen */
	advance(whole) {
		const { app } = this, { length } = app.meta, wide = app.state.view.nspp * app.picture.width;
		if (whole && (!this.on || length < WINDOW)) {
			app.show(-length * 0.005, length * 1.005, false);
		} else if (this.on) {
			const shown = whole ? WINDOW : wide;
			app.show(length - shown * PLACE, length + shown * (1 - PLACE), false);
		}
	}

	/** The button says what it does. */
	label() {
		const button = document.getElementById("do-Follow");
		if (!button) return;
		button.hidden = !this.app.meta.growing;
		button.setAttribute("aria-pressed", String(this.on));
	}
}
