/*
 * Drives the page of `spur view` in a browser as a user does, by keys and mouse, and prints what it showed as JSON:
 * page.js MODULES BROWSER SPUR TRACE [SCREENSHOTS [PAGE]]. MODULES has playwright-core; PAGE is the page of the trace as one file, which
 * is opened instead.
 */
const path = require("path");

const [modules, browser, spur, trace, shots, saved] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const { serve, settle } = require("./common.js");

const view = (page) => page.evaluate(() => ({ ...spur.state.view, top: spur.state.top, width: spur.picture.width }));

async function key(page, ...names) {
	for (const name of names) await page.keyboard.press(name);
	await settle(page);
}

/** Where a span is on the screen. */
function place(page, span) {
	return page.evaluate((s) => {
		const p = spur.overlay.place(s), box = document.getElementById("overlay").getBoundingClientRect();
		return p && { x: box.x + Math.min(Math.max(p.x, 0) + Math.min(p.w, spur.picture.width) / 2, spur.picture.width - 2), y: box.y + p.y + 8 };
	}, span);
}

async function moving(page) {
	const out = {};
	/* Keys act as long as they are held, which is as long as this program and the browser wait for the CPU: the page says how long. */
	await page.evaluate(() => {
		window.held = {};
		for (const [type, sign] of [["keydown", -1], ["keyup", 1]]) {
			window.addEventListener(type, (e) => { window.held[e.key] = (window.held[e.key] ?? 0) + sign * performance.now(); }, { capture: true });
		}
	});
	await key(page, "0");
	out.whole = await view(page);
	await page.mouse.move(700, 300);
	await key(page, "w");
	out.near = await view(page);
	await key(page, "d");
	out.right = await view(page);
	await key(page, "a", "s");
	out.back = await view(page);
	out.held = await page.evaluate(() => window.held);
	/* From here on nothing depends on how long a key was held. */
	await key(page, "0");
	out.fit = await view(page);
	const axis = await page.locator("#axis").boundingBox();
	await page.mouse.move(axis.x + 100, axis.y + 5);
	await page.mouse.down();
	await page.mouse.move(axis.x + 300, axis.y + 5);
	await page.mouse.up();
	await settle(page);
	out.axis = await view(page);
	await page.mouse.move(700, 300);
	await page.keyboard.down("Control");
	await page.mouse.wheel(0, -200);
	await page.keyboard.up("Control");
	await settle(page);
	out.wheel = await view(page);
	await page.keyboard.down("Alt");
	await page.mouse.down();
	await page.mouse.move(600, 300, { steps: 4 });
	await page.mouse.up();
	await page.keyboard.up("Alt");
	await settle(page);
	out.dragged = await view(page);
	await key(page, "Backspace");
	out.history = await view(page);
	return out;
}

/** Finds, by the field, and by going on with Enter. */
async function finding(page, queries) {
	const out = [];
	for (const query of queries) {
		await page.keyboard.press("/");
		await page.keyboard.type(query);
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => /found|expected|unknown/.test(document.getElementById("hits").textContent), undefined, { timeout: 30000 });
		const first = await page.evaluate(() => spur.state.picked);
		const text = await page.locator("#hits").textContent();
		await page.keyboard.press("Enter");
		await page.waitForFunction((f) => JSON.stringify(spur.state.picked) !== f, JSON.stringify(first), { timeout: 3000 }).catch(() => {});
		out.push({ query, text, first, second: await page.evaluate(() => spur.state.picked) });
		await page.keyboard.press("Escape");
		await page.keyboard.press("Escape");
	}
	return out;
}

/** Picks the longest call and walks from it by arrows. */
async function picking(page) {
	await key(page, "0", "4");
	const row = page.locator("#tabbody tbody tr").first();
	await row.waitFor();
	await row.click();
	await page.waitForFunction(() => spur.state.picked && spur.found && spur.found.span.ts === spur.state.picked.ts && spur.found.span.depth === spur.state.picked.depth);
	await settle(page);
	const out = { longest: await page.evaluate(() => spur.found) };
	await key(page, "f");
	out.fitted = await view(page);
	const at = await place(page, out.longest.span);
	await page.keyboard.press("Escape");
	await page.mouse.click(at.x, at.y);
	await page.waitForFunction(() => spur.state.picked && spur.found && spur.found.span.ts === spur.state.picked.ts);
	out.clicked = await page.evaluate(() => spur.found.span);
	out.walk = {};
	for (const arrow of ["ArrowDown", "ArrowUp", "ArrowRight"]) {
		const before = await page.evaluate(() => JSON.stringify(spur.state.picked));
		await page.keyboard.press(arrow);
		await page.waitForFunction((b) => JSON.stringify(spur.state.picked) !== b && spur.found.span.ts === spur.state.picked.ts && spur.found.span.depth === spur.state.picked.depth, before, { timeout: 2000 }).catch(() => {});
		out.walk[arrow] = await page.evaluate(() => spur.state.picked);
	}
	out.details = await page.locator("#tabbody").innerText();
	await page.keyboard.press("Escape");
	return out;
}

/** How many levels of the flame graph, which has the longest call of each at its left edge, are painted there; all that are visible. */
async function painted(page) {
	await page.keyboard.press("3");
	await page.waitForFunction(() => document.querySelector("canvas.flame")?.style.height);
	return page.evaluate(() => {
		const canvas = document.querySelector("canvas.flame"), scale = window.devicePixelRatio || 1;
		const levels = Math.floor(canvas.clientHeight / 17), g = canvas.getContext("2d");
		const there = Array.from({ length: levels }, (_, i) => g.getImageData(0, Math.round((i * 17 + 8) * scale), 1, 1).data[3] > 0);
		return { levels, painted: there.filter(Boolean).length };
	});
}

/** Drags a range over all tracks; the table of functions, and the flame graph. */
async function ranges(page) {
	await key(page, "0");
	const box = await page.locator("#stage").boundingBox();
	await page.mouse.move(box.x + box.width * 0.25, box.y + 6);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.75, box.y + 8, { steps: 3 });
	await page.mouse.up();
	await page.keyboard.press("2");
	await page.waitForFunction(() => document.querySelector("#tabbody table") !== null);
	const out = { range: await page.evaluate(() => spur.state.range) };
	out.sums = await page.evaluate(async () => (await spur.source.sums(spur.panel.range())).map((s) => ({ ...s, name: spur.labels[s.label].raw ?? spur.labels[s.label].name })));
	out.rows = await page.locator("#tabbody tbody tr").count();
	out.cells = await page.locator("#tabbody tbody tr").evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
	out.command = await page.locator("#tabbody code").first().textContent();
	out.flame = await page.evaluate(() => spur.source.flame(spur.panel.range()));
	out.labels = await page.evaluate(() => spur.labels.map((l) => l.name));
	out.painted = await painted(page);
	await page.keyboard.press("2");
	await page.waitForFunction(() => document.querySelector("#tabbody table") !== null);
	await page.keyboard.press("Escape");
	await page.locator("#tabbody select").selectOption("module");
	await page.waitForFunction(() => document.querySelector("#tabbody th")?.textContent === "module");
	out.modules = await page.evaluate(async () => (await spur.source.sums({ from: 0, to: spur.meta.length + 1, tracks: null }, "module"))
		.map((s) => ({ ...s, module: spur.labels[s.label].module })));
	for (const by of ["thread", "process"]) {
		await page.locator("#tabbody select").selectOption(by);
		await page.waitForFunction((head) => document.querySelector("#tabbody th")?.textContent === head, by);
		out[by] = await page.evaluate(async (by) => (await spur.source.sums({ from: 0, to: spur.meta.length + 1, tracks: null }, by))
			.map((s) => ({ ...s, ...(({ tid, pid, name }) => ({ tid, pid, name }))(spur.meta.tracks.find((t) => t.id === s.track)) })), by);
		out[`${by}Command`] = await page.locator("#tabbody code").count() ? await page.locator("#tabbody code").first().textContent() : "";
	}
	await page.locator("#tabbody select").selectOption("function");
	return out;
}

/** The tab of counters, for the whole trace and for its first half. */
async function counters(page) {
	const out = [];
	for (const part of [1, 0.5]) {
		await page.evaluate((p) => { spur.state.range = { from: 0, to: Math.floor(spur.meta.length * p) + 1, tracks: null }; }, part);
		await key(page, "5");
		await page.waitForFunction(() => document.getElementById("tab-counters").ariaSelected === "true" && document.querySelector("#tabbody table") !== null);
		out.push(await page.evaluate(async () => ({
			range: spur.state.range,
			command: document.querySelector("#tabbody code").textContent,
			rows: document.querySelectorAll("#tabbody tbody tr").length,
			sums: (await spur.source.counters(spur.panel.range())).map((c) => {
				const s = spur.meta.series.find((x) => x.id === c.series);
				return { ...c, name: s.name, tid: spur.meta.tracks.find((t) => t.id === s.track).tid };
			}) })));
	}
	await page.evaluate(() => { spur.state.range = null; });
	return out;
}

/** Two fingers zoom, one pans, one that stays or taps picks. */
async function touching(page) {
	const out = {}, box = await page.locator("#stage").boundingBox();
	const cdp = await page.context().newCDPSession(page);
	const touch = (type, ...xs) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x, id) => ({ x: box.x + x, y: box.y + 100, id })) });
	await key(page, "0");
	out.whole = await view(page);
	await touch("touchStart", 400, 600);
	for (let i = 1; i <= 5; i++) await touch("touchMove", 400 - 20 * i, 600 + 20 * i);
	await touch("touchEnd");
	await settle(page);
	out.pinched = await view(page);
	await touch("touchStart", 500);
	for (let i = 1; i <= 5; i++) await touch("touchMove", 500 - 20 * i);
	await touch("touchEnd");
	await settle(page);
	out.panned = await view(page);
	await key(page, "0");
	/* A tap, and a finger that stays, on the widest span of the first lane that has one. */
	out.at = await page.evaluate(() => {
		const w = spur.picture.wide.slice().sort((a, b) => b.w - a.w)[0];
		return w && { x: Math.max(w.x, 0) + Math.min(w.w, spur.picture.width - Math.max(w.x, 0)) / 2, y: w.y + 8 };
	});
	if (!out.at) return out;
	const press = (type) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x: box.x + out.at.x, y: box.y + out.at.y }] });
	const picked = () => page.waitForFunction(() => spur.state.picked !== null, undefined, { timeout: 20000 }).then(() => page.evaluate(() => spur.state.picked));
	await page.keyboard.press("Escape");
	await press("touchStart");
	await press("touchEnd");
	out.tapped = await picked();
	await page.keyboard.press("Escape");
	await press("touchStart");
	out.pressed = await picked();
	await press("touchEnd");
	await page.keyboard.press("Escape");
	return out;
}

/** Folds, pins, hides, moves and filters tracks. */
async function tracks(page) {
	const rows = () => page.evaluate(() => spur.layout.rows.map((r) => r.track.id));
	const out = { all: await rows() };
	await key(page, "j");
	out.current = await page.evaluate(() => spur.gutter.current);
	await key(page, "Enter");
	out.folded = await rows();
	await key(page, "Enter", "j", "p");
	out.pinned = await rows();
	await key(page, "p", "h");
	out.hidden = await rows();
	await key(page, "Shift+H");
	out.shown = await rows();
	await key(page, "g");
	await page.keyboard.type("no such track");
	await settle(page);
	out.filtered = await rows();
	await page.locator("#filter").fill("");
	await page.keyboard.press("Escape");
	await settle(page);
	return out;
}

/** Notes, the ruler, colours, the theme; the state in the address after a reload. */
async function notes(page) {
	const out = {};
	await page.mouse.move(640, 300);
	await key(page, "m");
	out.note = await page.evaluate(() => spur.state.notes);
	/* A second mark near it is none: it takes the first one away. The tab lists what there is. */
	await page.mouse.move(642, 300);
	await key(page, "m");
	out.left = await page.evaluate(() => spur.state.notes.length);
	await key(page, "m", "7");
	await page.getByRole("button", { name: /^Mark at / }).waitFor();
	out.listed = await page.getByRole("button", { name: /^Remove the note at / }).count();
	await page.keyboard.down("t");
	await page.mouse.move(740, 300);
	out.ruler = await page.evaluate(() => spur.overlay.ruler);
	await page.keyboard.up("t");
	await key(page, "c", "l");
	out.colours = await page.evaluate(() => [spur.state.colours, spur.theme().name]);
	const saved = page.waitForEvent("download");
	await page.keyboard.press("e");
	out.file = (await saved).suggestedFilename();
	await page.waitForTimeout(600);
	const before = await page.evaluate(() => spur.state.save());
	await page.reload();
	await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
	out.kept = before === await page.evaluate(() => spur.state.save());
	return out;
}

/** A window of 300 pixels: how high the head is, how wide the picture and the names in a table are, and how far anything reaches. */
async function narrow(page) {
	const before = page.viewportSize();
	await page.setViewportSize({ width: 300, height: 600 });
	await page.keyboard.press("2");
	await page.waitForFunction(() => document.querySelector("#tabbody table") !== null);
	await settle(page);
	const out = await page.evaluate(() => ({
		head: document.querySelector("header").offsetHeight, stage: document.getElementById("stage").offsetWidth,
		name: document.querySelector("#tabbody th").offsetWidth,
		reach: Math.max(...[...document.querySelectorAll("header > *, #panel > *")].map((e) => e.getBoundingClientRect().right)) }));
	await page.setViewportSize(before);
	await settle(page);
	return out;
}

/** Keys have buttons, names and help. */
async function help(page) {
	await page.keyboard.press("?");
	const out = { lines: await page.locator("#help .key").count() };
	await page.keyboard.press("?");
	await page.waitForFunction(() => !document.getElementById("help").open);
	out.unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, canvas[role], [role=tab]")]
		.filter((e) => e.checkVisibility() && !(e.getAttribute("aria-label") || e.textContent || e.title || e.getAttribute("placeholder"))).length);
	return out;
}

async function main() {
	const { child, address } = saved ? { child: null, address: `file://${path.resolve(saved)}` } : serve(spur, trace);
	const b = await chromium.launch({ executablePath: browser, headless: true,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
	try {
		const page = await b.newPage({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
		const out = { errors: [], hosts: [] };
		page.setDefaultTimeout(30000);
		page.on("pageerror", (e) => out.errors.push(e.message));
		page.on("request", (r) => { const host = new URL(r.url()).hostname; if (!out.hosts.includes(host)) out.hosts.push(host); });
		await page.goto(await address);
		await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
		await page.waitForFunction(() => spur.meta.done);
		await settle(page);
		out.meta = await page.evaluate(() => spur.meta);
		out.rects = await page.evaluate(() => spur.picture.rects);
		if (shots) await page.screenshot({ path: `${shots}.png` });
		out.moving = await moving(page);
		if (out.meta.spans) {
			out.picking = await picking(page);
			out.ranges = await ranges(page);
			out.finding = await finding(page, [out.picking.longest && await page.evaluate((l) => spur.labels[l].name, out.picking.longest.span.label), "dur>1us", "dur > 1us && depth > 0"]);
		}
		if (out.meta.series.length) out.counters = await counters(page);
		out.touching = await touching(page);
		out.tracks = await tracks(page);
		out.markup = await page.evaluate(() => [window.hacked ?? null, document.querySelectorAll("#gutter img, #panel img, #tip img, #message img, b.evil").length,
			/[\u202a-\u202e\u2066\u2067]/.test(document.getElementById("gutter").outerHTML + document.getElementById("panel").outerHTML) || null]);
		out.help = await help(page);
		out.narrow = await narrow(page);
		out.notes = await notes(page);
		/* Numbers of any size. */
		console.log(JSON.stringify(out, (_, v) => (typeof v === "bigint" ? `#${v}` : v)).replace(/"#(-?\d+)"/g, "$1"));
	} finally {
		await b.close();
		child?.removeAllListeners("exit");
		child?.kill("SIGINT");
		if (child) await new Promise((done) => child.on("exit", done));
	}
}

main().catch((error) => {
	console.error(String(error.stack || error));
	process.exit(1);
});
