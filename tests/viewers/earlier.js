/*
 * The page of a trace that is being written, to which an earlier event comes: earlier.js MODULES BROWSER URL. It prints a line of
 * JSON with what the page keeps of times when it has three spans, and another one when it has four.
 */
const path = require("path");

const [modules, browser, address] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const { settle } = require("./common.js");

async function told(page) {
	await settle(page);
	console.log(JSON.stringify(await page.evaluate(() => {
		const { view, history, picked, range, notes } = spur.state;
		return { start: spur.meta.start, times: [view.start, history[0].start, picked.ts, range.from, range.to, notes[0].from, notes[0].to] };
	})));
}

async function main() {
	const b = await chromium.launch({ executablePath: browser, headless: true,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
	try {
		const page = await b.newPage({ viewport: { width: 1280, height: 800 } });
		page.setDefaultTimeout(60000);
		await page.goto(address);
		await page.waitForFunction(() => document.documentElement.dataset.ready === "1" && spur.meta.spans === 3);
		await page.evaluate(() => {
			const track = spur.meta.tracks.find((t) => t.depth);
			spur.follow.on = false;
			Object.assign(spur.state, { view: { start: 1000, nspp: 1 }, history: [{ start: 10, nspp: 2 }],
				picked: { track: track.id, depth: 0, ts: 6500, dur: 100, label: 0 }, range: { from: 20, to: 30 }, notes: [{ from: 40, to: 50, text: "" }] });
		});
		await told(page);
		await page.waitForFunction(() => spur.meta.spans === 4);
		await told(page);
	} finally {
		await b.close();
	}
}

main().catch((error) => {
	console.error(String(error.stack || error));
	process.exit(1);
});
