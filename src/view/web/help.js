/** The dialog with all keys. Each line is a button too. */

import { element } from "./dom.js";

/** @typedef {import("./actions.js").Action} Action */

/** What a key is called on keyboards. @param {string} key */
function shown(key) {
	return key.replace("Arrow", "").replace("+", " + ").replace(/\b[a-z]$/, (c) => c.toUpperCase());
}

/** @param {HTMLDialogElement} dialog @param {Action[]} list */
export function openHelp(dialog, list) {
	const groups = [...new Set(list.map((a) => a.group))];
	dialog.replaceChildren(element("h2", {}, "Keys"),
		element("p", {}, "The wheel scrolls tracks; with Ctrl it zooms, with Shift it pans. Drag on the axis to zoom to a range, " +
			"over tracks to choose one; with Alt, to move the picture. Hold W, S, A or D to move on, with Shift faster. Hold T to measure. " +
			"A click picks a call, a double click fits it to the screen. Two fingers zoom, one moves, a tap or a long press picks."),
		element("div", { class: "columns" }, ...groups.map((group) => element("section", {}, element("h3", {}, group),
			...list.filter((a) => a.group === group).map((a) => element("button", { type: "button", class: "key",
				click: () => { dialog.close(); a.run(); } },
			...a.keys.map((k) => element("kbd", {}, shown(k))), ` ${a.text}`))))),
		element("form", { method: "dialog" }, element("button", {}, "Close")));
	/* The key that opened it; the list of actions, which hears keys behind this, would open it again. */
	dialog.onkeydown = (e) => {
		if (e.key !== "?") return;
		e.stopPropagation();
		dialog.close();
	};
	dialog.showModal();
}
