/*
 * The page while its store is being built: building.js MODULES BROWSER URL. Prints what it shows when the first spans are drawn as a line
 * of JSON; when a line comes, waits for the end, and prints the same again.
 */
const path = require("path");
const readline = require("readline");

const [modules, browser, address] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const { settle } = require("./common.js");

const shown = (page) => page.evaluate(() => ({ spans: spur.meta.spans, done: spur.meta.done, drawn: spur.picture.rects,
	status: document.getElementById("status").textContent }));

async function main() {
	const b = await chromium.launch({ executablePath: browser, headless: true,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
	try {
		const page = await b.newPage({ viewport: { width: 1280, height: 800 } });
		page.setDefaultTimeout(60000);
		await page.goto(address);
		await page.waitForFunction(() => document.documentElement.dataset.ready === "1" && spur.meta.spans && spur.picture.rects);
		await settle(page);
		console.log(JSON.stringify(await shown(page)));
		await readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]().next();
		await page.waitForFunction(() => spur.meta.done && !document.getElementById("status").textContent.startsWith("reading"));
		await settle(page);
		console.log(JSON.stringify(await shown(page)));
	} finally {
		await b.close();
	}
}

main().catch((error) => {
	console.error(String(error.stack || error));
	process.exit(1);
});
