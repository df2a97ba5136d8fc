/** The state as a file that can be sent to others who have the trace. */

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./search.js").Search} Search */

/** @param {App} app */
export function exportState(app) {
	const url = URL.createObjectURL(new Blob([`${app.state.save()}\n`], { type: "application/json" }));
	const a = document.createElement("a");
	a.href = url;
	a.download = `${app.meta.name.replace(/[^\w.-]+/g, "_")}.view.json`;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Takes a state over and shows it. @param {App} app @param {Search} search @param {string} text */
export function takeState(app, search, text) {
	app.state.load(text);
	search.input.value = app.state.query;
	search.changed();
	app.relayout();
	app.recolour();
	app.panel.open(app.state.tab);
	if (app.state.picked) app.pick(app.state.picked);
}

/** @param {App} app @param {Search} search */
export function importState(app, search) {
	const input = document.createElement("input");
	input.type = "file";
	input.accept = ".json,application/json";
	input.addEventListener("change", async () => {
		const file = input.files?.[0];
		if (!file) return;
		try {
			takeState(app, search, await file.text());
		} catch (e) {
			app.say(`${file.name}: ${/** @type {Error} */ (e).message}`);
		}
	});
	input.click();
}
