/** Starts the page, wherever its data comes from. */

import { actions } from "./actions.js";
import { App } from "./app.js";
import { byId, element } from "./dom.js";
import { openHelp } from "./help.js";
import { listen } from "./input.js";
import { Search } from "./search.js";
import { shownLabels, shownMeta } from "./shown.js";
import { readHash } from "./state.js";

/** When a store that is being built, or a trace that grows, is looked at again. */
const POLL_MS = 300;
/** With very many tracks a look takes long: for so many times as long, nothing is asked again, so that the page can be used. */
const POLL_REST = 3;

/** @param {App} app @param {number} [took] how long the last look took, in ms */
function watch(app, took = 0) {
	if (app.meta.error || (app.meta.done && !app.meta.growing)) return;
	window.setTimeout(async () => {
		const begin = performance.now();
		try {
			await app.grow(shownMeta(await app.source.meta()));
		} catch (e) {
			app.failed(/** @type {Error} */ (e));
			return;
		}
		watch(app, performance.now() - begin);
	}, Math.max(POLL_MS, took * POLL_REST));
}

/** The buttons above the picture. @param {import("./actions.js").Action[]} list */
function toolbar(list) {
	const wanted = { "w": "+", "s": "−", "a": "◀", "d": "▶", "0": "All", "Backspace": "Back", "End": "Follow", "f": "Fit", "r": "Range",
		"m": "Mark", "c": "Colours", "l": "Dark/light", "e": "Save", "o": "Open", "?": "?" };
	byId("tools").append(...Object.entries(wanted).map(([key, sign]) => {
		const a = list.find((x) => x.keys.includes(key));
		return element("button", { type: "button", id: `do-${sign}`, title: `${a?.text} (${key})`, "aria-label": a?.text ?? key,
			click: () => a?.run() }, sign);
	}));
}

/** @param {import("./types.js").Source} source @param {string} token @param {string} saved */
async function start(source, token, saved) {
	const meta = shownMeta(await source.meta());
	const app = new App(source, meta, token), search = new Search(app);
	const dialog = /** @type {HTMLDialogElement} */ (byId("help"));
	const list = actions(app, search, () => openHelp(dialog, list));
	document.title = `${meta.name} - Spur`;
	app.picture.resize();
	app.labels = shownLabels(await source.labels(0));
	app.show(-meta.length * 0.005, meta.length * 1.005, false);
	if (saved) {
		try {
			app.state.load(saved);
			search.input.value = app.state.query;
		} catch {
			app.say("The state in the address could not be read.");
		}
	}
	const filter = /** @type {HTMLInputElement} */ (byId("filter"));
	filter.value = app.state.filter;
	filter.addEventListener("input", () => { app.state.filter = filter.value; app.relayout(); });
	filter.addEventListener("keydown", (e) => { if (e.key === "Escape") filter.blur(); });
	toolbar(list);
	listen(app, list);
	app.relayout();
	search.changed();
	app.recolour();
	app.status();
	app.panel.open(app.state.tab);
	if (app.state.picked) app.pick(app.state.picked);
	app.overview.load().then(() => app.redraw(), (e) => app.failed(e));
	byId("marks").addEventListener("click", () => app.panel.open("trace", true));
	watch(app);
	return app;
}

/**
 * Shows what the source has, in the state that the address says.
 * @param {(token: string) => Promise<import("./types.js").Source>} open makes the source
 */
export async function run(open) {
	const { token, state } = readHash(location.hash);
	try {
		const app = await start(await open(token), token, state);
		Object.assign(window, { spur: app });
		document.documentElement.dataset.ready = "1";
	} catch (e) {
		const { status, message } = /** @type {Error & {status?: number}} */ (e), box = byId("message");
		box.textContent = status === 403 ? "The address lacks the token that `spur view` printed." : message;
		box.hidden = false;
	}
}
