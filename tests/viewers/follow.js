/*
 * The page of a trace that is being written: follow.js MODULES BROWSER URL. For each line that comes, the number of spans to wait for
 * (-1: the end), it prints what the page shows then as a line of JSON.
 */
const path = require("path");
const readline = require("readline");

const [modules, browser, address] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const { settle } = require("./common.js");

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** What the page shows, once all tiles have come. */
async function shown(page) {
	await settle(page);
	return page.evaluate(async () => {
		const track = spur.meta.tracks.find((t) => t.depth), button = document.getElementById("do-Follow");
		const { data } = await spur.source.tiles(10, 0, [{ track: track.id, depth: 0 }]);
		return { spans: spur.meta.spans, growing: spur.meta.growing, done: spur.meta.done, on: spur.follow.on, length: spur.meta.length,
			start: spur.state.view.start, end: spur.state.view.start + spur.state.view.nspp * spur.picture.width,
			status: document.getElementById("status").textContent, button: button.checkVisibility(),
			pressed: button.getAttribute("aria-pressed"), rects: new Uint32Array(data, 0, 3)[2], drawn: spur.picture.rects };
	});
}

async function main() {
	const b = await chromium.launch({ executablePath: browser, headless: true,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
	try {
		const page = await b.newPage({ viewport: { width: 1280, height: 800 } });
		const errors = [];
		page.setDefaultTimeout(60000);
		page.on("pageerror", (e) => errors.push(e.message));
		await page.goto(address);
		await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
		for (const key of ["", "", "a", "End", ""]) {
			const wanted = Number((await lines.next()).value);
			if (key) await page.keyboard.press(key);
			await page.waitForFunction((n) => (n < 0 ? spur.meta.done : spur.meta.spans >= n), wanted);
			await page.waitForTimeout(100);
			console.log(JSON.stringify({ ...await shown(page), errors }));
		}
	} finally {
		await b.close();
	}
}

main().catch((error) => {
	console.error(String(error.stack || error));
	process.exit(1);
});
