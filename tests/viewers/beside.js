/*
 * Shows a second trace below the first one, by keys: beside.js MODULES BROWSER SPUR BEFORE PAGE. PAGE is the page of the second trace
 * as one file. Prints as JSON what the page has of both, and how far rectangles of the second one are from where they belong.
 */
const path = require("path");

const [modules, browser, spur, trace, file, shot] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const { serve } = require("./common.js");

/** Sums of both by function, over everything. */
const sums = (page) => page.evaluate(async () => {
	const { source, labels, meta } = window.spur, out = {};
	for (const s of await source.sums({ from: 0, to: meta.length + 1, tracks: null })) {
		const name = labels[s.label].name, row = out[name] ??= [0, 0, 0, 0], at = s.label < source.label ? 0 : 2;
		row[at] += s.calls;
		row[at + 1] += s.self;
	}
	return out;
});

/** How far the rectangles of the longest calls of the second trace are from where their times say, in 1/32 pixel, at some zooms. */
const misplaced = (page) => page.evaluate(async () => {
	const { source, meta } = window.spur, calls = (await source.calls({ from: 0, to: meta.length + 1, tracks: null }, -1)).filter((s) => source.side(s.track));
	let worst = 0, seen = 0;
	for (const z of [6, 10, 13]) {
		const wide = 1024 * 2 ** z;
		for (const s of calls.filter((c) => c.dur >= 2 ** z).slice(0, 20)) {
			const i = Math.floor((s.ts + s.dur / 2) / wide), { data } = await source.tiles(z, i, [{ track: s.track, depth: s.depth }]);
			const n = new Uint32Array(data)[2], view = new DataView(data, 12), at = (t) => Math.min(32768, Math.max(0, ((t - i * wide) * 32) / 2 ** z));
			let best = Infinity;
			for (let k = 0; k < n; k++) {
				if (view.getUint32(8 * k + 4, true) >>> 8 !== s.label) continue;
				best = Math.min(best, Math.abs(view.getUint16(8 * k, true) - at(s.ts)) + Math.abs(view.getUint16(8 * k + 2, true) - at(s.ts + s.dur)));
			}
			worst = Math.max(worst, best);
			seen++;
		}
	}
	return { worst, seen };
});

async function main() {
	const { child, address } = serve(spur, trace);
	const b = await chromium.launch({ executablePath: browser, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });
	try {
		const page = await b.newPage({ viewport: { width: 1280, height: 800 } }), out = { errors: [] };
		page.setDefaultTimeout(30000);
		page.on("pageerror", (e) => out.errors.push(e.message));
		await page.goto(await address);
		await page.waitForFunction(() => document.documentElement.dataset.ready === "1" && window.spur.meta.done);
		await page.keyboard.press("x");
		await page.locator("#second").setInputFiles(file);
		await page.waitForFunction(() => window.spur.meta.second && document.querySelector("#tabbody table"));
		out.names = await page.evaluate(() => window.spur.meta.tracks.filter((t) => t.kind === "trace").map((t) => t.name));
		out.head = await page.locator("#tabbody th").allTextContents();
		out.rows = await page.locator("#tabbody tbody tr").count();
		out.command = await page.locator("#tabbody code").first().textContent();
		out.sums = await sums(page);
		out.begin = await misplaced(page);
		/* The longest call of each is picked; then both begin at the same time. */
		out.offset = await page.evaluate(async () => {
			const { source, meta } = window.spur, calls = await source.calls({ from: 0, to: meta.length + 1, tracks: null }, -1);
			const longest = [0, 1].map((side) => calls.filter((s) => source.side(s.track) === side && s.ts > 0)[0]);
			for (const s of longest) window.spur.pick(s);
			return longest[0].ts - longest[1].ts;
		});
		await page.keyboard.press("=");
		await page.waitForFunction((by) => window.spur.source.offset === by && !document.getElementById("message").hidden, out.offset);
		out.aligned = await misplaced(page);
		out.found = await page.evaluate(async () => {
			const { source, labels } = window.spur, seen = [], sides = new Set();
			for (let at = null, n = 0; n < 500; n++) {
				at = (await source.find("main", at, false)).hit;
				if (!at || seen.includes(JSON.stringify(at))) break;
				seen.push(JSON.stringify(at));
				sides.add(source.side(at.track));
				if (!labels[at.label].name.includes("main")) throw new Error(`${labels[at.label].name} was found`);
			}
			return { seen: seen.length, sides: sides.size, total: (await source.find("main", null, false)).total };
		});
		/* As if a span at the first one's begin and a later one of the second had been picked: the second one is moved to the left. */
		out.left = await page.evaluate(() => {
			const { chosen, source } = window.spur, later = chosen[1] ? chosen[1].ts : source.offset + 1000;
			window.spur.chosen = [{ ts: 0 }, { ts: later }];
			return source.offset - later;
		});
		await page.keyboard.press("=");
		await page.waitForFunction((by) => window.spur.source.offset === by, out.left);
		await page.waitForFunction(() => document.getElementById("message").textContent.includes("neither shown nor summed up"));
		if (shot) await page.screenshot({ path: shot });
		console.log(JSON.stringify(out));
	} finally {
		await b.close();
		child.removeAllListeners("exit");
		const ended = new Promise((done) => child.on("exit", done));
		child.kill("SIGINT");
		await ended;
	}
}

main().catch((error) => {
	console.error(String(error.stack || error));
	process.exit(1);
});
