/** All that is known of the picked span. */

import { copyButton, element } from "./dom.js";
import { alone, visible } from "./shown.js";
import { count, duration } from "./time.js";
import { trackName } from "./types.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").SpanRef} SpanRef */
/** @typedef {import("./types.js").SpanDetail} SpanDetail */

/** @param {App} app @returns {Promise<(Node | string)[]>} */
export async function details(app) {
	const { picked } = app.state;
	if (!picked) return [element("p", {}, "Click a span to see its details. Drag over tracks to choose a range. Press ? for all keys.")];
	const d = await app.source.span(picked, picked.ts, picked.dur, picked.number);
	/* Answers may come in another order than they were asked for. */
	if (app.state.picked === picked) app.found = d;
	const name = (/** @type {SpanRef} */ s) => app.labels[s.label]?.name ?? "?";
	const link = (/** @type {SpanRef} */ s) => element("button", { type: "button", class: "span",
		click: () => app.pick(s, true) }, `${alone(name(s))} ${duration(s.dur)}`);
	const track = app.meta.tracks.find((t) => t.id === d.span.track);
	const label = app.labels[d.span.label];
	/** @type {[string, Node | string][]} */
	const facts = [["begin", `${duration(d.span.ts)} (${d.time})`],
		["duration", d.unfinished ? `${duration(d.span.dur)}, never ended` : `${duration(d.span.dur)} (${count(BigInt(d.length))} ns)`],
		["self", duration(d.self)], ["track", trackName(track)]];
	if (label?.module) facts.push(["module", label.module]);
	if (label?.category) facts.push(["category", label.category]);
	if (d.source) facts.push(["source", visible(d.source)]);
	if (d.place) facts.push(["record", visible(d.place)]);
	if (d.previous) facts.push(["before it", link(d.previous)]);
	if (d.next) facts.push(["after it", link(d.next)]);
	const block = (/** @type {string} */ title, /** @type {Node} */ content) =>
		element("section", {}, element("h3", {}, title), content);
	const rows = (/** @type {[string, Node | string][]} */ list) =>
		element("table", {}, ...list.map(([k, v]) => element("tr", {}, element("th", { scope: "row" }, k), element("td", {}, v))));
	const out = [element("h2", {}, name(d.span)), element("div", { class: "columns" },
		block("Span", rows(facts)),
		...(d.args.length ? [block("Arguments", rows(d.args.map(([k, v]) => [visible(k), visible(v)])))] : []),
		...(d.parents.length ? [block("Called by", list(d.parents.slice().reverse(), link))] : []),
		...(d.calls ? [block(`Calls ${count(d.calls)}`, list(d.children, link))] : []),
		...(app.arrows.length ? [block("Flows", list(app.arrows.flatMap((f) => [f.from, f.to]), link))] : []))];
	if (d.changed) out.push(element("p", { role: "note" }, "The trace has changed since it was read: arguments are not shown. Start the viewer again."));
	if (d.command) out.push(element("p", { class: "range" }, element("code", {}, d.command), copyButton(d.command)));
	return out;
}

/** @param {SpanRef[]} spans @param {(s: SpanRef) => Node} link */
function list(spans, link) {
	return element("ul", {}, ...spans.map((s) => element("li", {}, link(s))));
}
