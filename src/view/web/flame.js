/** A flame graph of the range: widths are times, a click shows a part alone. */

import { css } from "./colours.js";
import { byId } from "./dom.js";
import { alone } from "./shown.js";
import { duration } from "./time.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").FlameNode} FlameNode */

/**
 * @typedef {object} Box A node on the screen; `level` counts from the root.
 * @property {FlameNode} node
 * @property {Box | null} up
 * @property {number} level
 * @property {number} x
 * @property {number} w
 */

const HEIGHT = 17, LEAST = 0.5;

/**
 * The boxes of a part: those above it are as wide as it is. Parts narrower than half a pixel are
 * left out.
 * @param {Box} top what is shown alone @param {number} width
 */
function layout(top, width) {
	/** @type {Box[]} */
	const boxes = [];
	/** @type {Box | null} */
	let above = null;
	/** @type {Box[]} */
	const line = [];
	for (let b = /** @type {Box | null} */ (top); b; b = b.up) line.push(b);
	for (const b of line.reverse()) {
		above = { node: b.node, up: above, level: b.level, x: 0, w: width };
		boxes.push(above);
	}
	const todo = [/** @type {Box} */ (above)];
	while (todo.length) {
		const up = /** @type {Box} */ (todo.pop());
		let x = up.x;
		for (const node of up.node.children.slice().sort((a, b) => (a.total < b.total ? 1 : a.total > b.total ? -1 : 0))) {
			const w = (Number(node.total) / Math.max(1, Number(up.node.total))) * up.w;
			if (w >= LEAST) {
				const b = { node, up, level: up.level + 1, x, w };
				boxes.push(b);
				todo.push(b);
			}
			x += w;
		}
	}
	return boxes;
}

/**
 * Draws into a canvas, of which only what can be seen is drawn: it stays where it is while the box
 * around it, which is as high as the graph is deep, is scrolled below it.
 * @param {HTMLCanvasElement} canvas @param {App} app @param {FlameNode} root
 */
export function drawFlame(canvas, app, root) {
	const around = /** @type {HTMLElement} */ (canvas.parentElement), pane = byId("tabbody");
	let top = /** @type {Box} */ ({ node: root, up: null, level: 0, x: 0, w: 0 });
	/** @type {Box[]} */
	let boxes = [];
	/** What is above the canvas, whose offset counts from the box around it. */
	const hidden = () => canvas.offsetTop;
	const paint = () => {
		const scale = window.devicePixelRatio || 1, from = hidden(), height = canvas.clientHeight;
		const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), theme = app.theme();
		g.setTransform(scale, 0, 0, scale, 0, 0);
		g.clearRect(0, 0, canvas.clientWidth, height);
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		for (const b of boxes) {
			const y = b.level * HEIGHT - from;
			if (y <= -HEIGHT || y >= height) continue;
			g.fillStyle = b.node.label < 0 ? theme.line : css(app.palette.pixels[b.node.label] ?? 0xff808080);
			g.fillRect(b.x, y, Math.max(LEAST, b.w - 0.5), HEIGHT - 1);
			if (b.w < 30) continue;
			g.fillStyle = b.node.label < 0 ? theme.text : theme.onSpan;
			g.fillText(app.picture.fit(nameOf(app, b.node), b.w - 6), b.x + 3, y + HEIGHT / 2);
		}
	};
	const show = (/** @type {Box} */ b) => {
		top = b;
		boxes = layout(top, around.clientWidth);
		const scale = window.devicePixelRatio || 1, levels = boxes.reduce((n, x) => Math.max(n, x.level), 0) + 1;
		const height = Math.min(levels * HEIGHT, Math.max(pane.clientHeight, 10 * HEIGHT));
		around.style.height = `${levels * HEIGHT}px`;
		canvas.style.height = `${height}px`;
		canvas.width = Math.round(around.clientWidth * scale);
		canvas.height = Math.round(height * scale);
		paint();
	};
	const hit = (/** @type {MouseEvent} */ e) => boxes.find((b) => e.offsetX >= b.x && e.offsetX < b.x + b.w &&
		Math.floor((e.offsetY + hidden()) / HEIGHT) === b.level);
	const scrolled = () => {
		if (canvas.isConnected) paint();
		else pane.removeEventListener("scroll", scrolled);
	};
	pane.addEventListener("scroll", scrolled);
	canvas.addEventListener("click", (e) => {
		const b = hit(e);
		if (b) show(b);
	});
	canvas.addEventListener("mousemove", (e) => {
		const b = hit(e);
		canvas.title = b ? `${alone(nameOf(app, b.node))}\ntotal ${duration(b.node.total)}, self ${duration(b.node.self)}, ${b.node.calls} calls` : "";
	});
	canvas.addEventListener("keydown", (e) => {
		if (e.key === "Backspace" && top.up) {
			show(top.up);
			e.stopPropagation();
		}
	});
	show(top);
}

/** @param {App} app @param {FlameNode} n */
function nameOf(app, n) {
	return n.label === -2 ? "others" : n.label < 0 ? "all" : app.labels[n.label]?.name ?? "?";
}
