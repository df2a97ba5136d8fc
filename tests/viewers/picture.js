/*
 * A screenshot of a page that is one file: picture.js MODULES BROWSER PAGE OUT.png WIDTH HEIGHT dark|light. The longest call that calls
 * others is picked, and shown with what is around it.
 */
const path = require("path");

const [modules, browser, file, out, width, height, theme] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));

async function main() {
	const b = await chromium.launch({ executablePath: browser, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });
	try {
		const page = await b.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: theme === "dark" ? "dark" : "light" });
		await page.goto(`file://${path.resolve(file)}`);
		await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
		await page.evaluate(async () => {
			const { meta, source } = spur, all = { from: 0, to: meta.length + 1, tracks: null };
			const calls = await source.calls(all, -1), deepest = calls.filter((s) => s.depth > 1);
			const span = deepest[Math.floor(deepest.length / 3)] ?? calls[0];
			if (!span) return;
			const parent = (await source.span(span, span.ts)).parents[0] ?? span;
			spur.show(parent.ts - parent.dur * 0.1, parent.ts + parent.dur * 1.1);
			spur.pick(span);
		});
		await page.evaluate(async () => {
			for (let i = 0; i < 5; i++) {
				await spur.tiles.settled();
				spur.drawNow();
				await new Promise((done) => setTimeout(done, 50));
			}
		});
		await page.screenshot({ path: out });
	} finally {
		await b.close();
	}
}

main().catch((error) => {
	console.error(String(error.stack || error));
	process.exit(1);
});
