/** Making elements. Text from traces becomes text nodes, never markup. */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | boolean | ((event: any) => void)>} [attributes] functions are
 *        listeners, by the name of the event
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === "function") e.addEventListener(name, value);
		else if (value === true) e.setAttribute(name, "");
		else if (value !== false) e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}

/**
 * An element that the page has.
 * @param {string} id
 */
export function byId(id) {
	const e = document.getElementById(id);
	if (!e) throw new Error(`the page has no element "${id}"`);
	return e;
}

/**
 * A table. A click on the head of a column sorts by that column; another click reverses the order.
 * @template T
 * @param {{name: string, text: (row: T) => string, value?: (row: T) => number | bigint | string, number?: boolean}[]} columns
 * @param {T[]} rows
 * @param {{sort: number, down: boolean}} order the caller keeps it between calls
 * @param {(row: T) => void} [chosen] a row was clicked
 */
export function table(columns, rows, order, chosen) {
	const body = element("tbody");
	const head = element("tr");
	const fill = () => {
		const by = columns[order.sort].value ?? columns[order.sort].text;
		const sorted = rows.slice().sort((a, b) => {
			const x = by(a), y = by(b), c = x < y ? -1 : x > y ? 1 : 0;
			return order.down ? -c : c;
		});
		body.replaceChildren(...sorted.slice(0, 2000).map((row) => line(row)));
		if (sorted.length > 2000) body.append(element("tr", {}, element("td", { colspan: String(columns.length) },
			`${sorted.length - 2000} more rows are not shown`)));
		[...head.children].forEach((th, i) =>
			th.setAttribute("aria-sort", i !== order.sort ? "none" : order.down ? "descending" : "ascending"));
	};
	const line = (/** @type {T} */ row) => {
		const tr = element("tr", {}, ...columns.map((c) => element("td", c.number ? { class: "n" } : {}, c.text(row))));
		if (chosen) {
			tr.tabIndex = 0;
			tr.addEventListener("click", () => chosen(row));
			tr.addEventListener("keydown", (e) => { if (e.key === "Enter") chosen(row); });
		}
		return tr;
	};
	columns.forEach((c, i) => {
		const sort = () => {
			order.down = order.sort === i ? !order.down : Boolean(c.number);
			order.sort = i;
			fill();
		};
		head.append(element("th", { scope: "col", class: c.number ? "n" : "" },
			element("button", { type: "button", click: sort }, c.name)));
	});
	fill();
	return element("table", {}, element("thead", {}, head), body);
}

/** A button that copies a command. @param {string} text */
export function copyButton(text) {
	return element("button", { type: "button", class: "copy", title: "Copy the command", click: async (e) => {
		const button = e.currentTarget;
		try {
			await navigator.clipboard.writeText(text);
			button.textContent = "copied";
		} catch {
			/* The browser does not let pages do that: the user can. */
			getSelection()?.selectAllChildren(button.previousElementSibling ?? button);
			button.textContent = "selected";
		}
	} }, "copy");
}
