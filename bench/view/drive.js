/*
 * Measures the page of `spur view` as a user sees it, and prints the numbers as JSON:
 * drive.js MODULES BROWSER SPUR STEPS TRACE [OPTION...]. MODULES has playwright-core.
 */
const { spawn } = require("child_process");
const fs = require("fs");
const path = require("path");

const [modules, browser, spur, steps, trace, ...options] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const { settle } = require("../../tests/viewers/common.js");

const now = () => performance.now();
const at = (list, part) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))];
const shape = (list) => ({ p50: at(list, 0.5), p95: at(list, 0.95), max: Math.max(...list) });

/** Private memory and CPU seconds of a process. */
function usage(pid) {
	const field = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
	const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
	return { anon: field("RssAnon") / 1024, cpu: (Number(stat[11]) + Number(stat[12])) / 100 };
}

/** Zooms and places, the same ones for each trace: a step says how long the picture took to be complete. */
async function move(page, n) {
	let seed = 12345;
	const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
	const whole = [], frames = [];
	let rects = 0;
	for (let i = 0; i < n; i++) {
		const nearer = random() * Math.log2(1e6), place = random();
		const r = await page.evaluate(async ([z, x]) => {
			const length = spur.meta.length, wide = Math.max(1000, length / 2 ** z), from = x * (length - wide);
			spur.tiles.clear();
			spur.frames.length = 0;
			const begin = performance.now();
			spur.show(from, from + wide, false);
			spur.drawNow();
			for (let k = 0; k < 3 && spur.tiles.waiting; k++) {
				await spur.tiles.settled();
				spur.drawNow();
			}
			return { whole: performance.now() - begin, frames: [...spur.frames], rects: spur.picture.rects };
		}, [nearer, place]);
		whole.push(r.whole);
		frames.push(...r.frames);
		rects = Math.max(rects, r.rects);
	}
	return { whole: shape(whole), frame: shape(frames), rects };
}

async function measure(page, begun, child) {
	const out = {};
	await page.waitForFunction(() => window.spur && spur.picture.rects > 0, undefined, { timeout: 120000, polling: 20 });
	out.first = (now() - begun) / 1000;
	let peak = 0;
	const watch = setInterval(() => { try { peak = Math.max(peak, usage(child.pid).anon); } catch { /* it has ended */ } }, 50);
	await page.waitForFunction(() => spur.meta.done || spur.meta.error, undefined, { timeout: 600000, polling: 100 });
	out.built = (now() - begun) / 1000;
	out.error = await page.evaluate(() => spur.meta.error);
	out.cpu = usage(child.pid).cpu;
	Object.assign(out, await page.evaluate(() => ({ spans: spur.meta.spans, tracks: spur.meta.tracks.length, depth: Math.max(...spur.meta.tracks.map((t) => t.depth)) })));
	await page.evaluate(() => { spur.frames.length = 0; });
	await settle(page);
	out.moving = await move(page, Number(steps));
	const scroll = [];
	await page.evaluate(() => spur.showAll());
	await settle(page);
	for (let i = 0; i < 20; i++) {
		scroll.push(await page.evaluate(async () => {
			const begin = performance.now();
			spur.scroll(2000);
			spur.drawNow();
			await spur.tiles.settled();
			spur.drawNow();
			return performance.now() - begin;
		}));
	}
	out.scroll = shape(scroll);
	const name = await page.evaluate(() => spur.labels[spur.labels.length - 1].name);
	out.anon = Math.max(peak, usage(child.pid).anon);
	let begin = now();
	out.found = await page.evaluate(async (q) => (await spur.source.find(q, null, false)).total, name);
	out.find = now() - begin;
	begin = now();
	out.sums = await page.evaluate(() => spur.source.sums({ from: 0, to: spur.meta.length + 1, tracks: null }).then((s) => s.length, (e) => e.message));
	out.summing = now() - begin;
	const cdp = await page.context().newCDPSession(page);
	await cdp.send("HeapProfiler.collectGarbage");
	out.heap = (await cdp.send("Runtime.getHeapUsage")).usedSize / 2 ** 20;
	clearInterval(watch);
	out.after = Math.max(peak, usage(child.pid).anon);
	return out;
}

async function main() {
	const b = await chromium.launch({ executablePath: browser, headless: true,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
	const page = await b.newPage({ viewport: { width: 1280, height: 800 } });
	page.setDefaultTimeout(600000);
	const begun = now();
	const child = spawn(spur, ["view", "--no-open", ...options, trace], { stdio: ["ignore", "pipe", "inherit"] });
	try {
		const address = await new Promise((done, fail) => {
			let said = "";
			child.stdout.on("data", (data) => {
				said += data;
				const found = /http:\/\/\S+/.exec(said);
				if (found) done(found[0]);
			});
			child.on("exit", (code) => fail(new Error(`spur view ended with ${code}: ${said}`)));
		});
		const listening = (now() - begun) / 1000;
		await page.goto(address);
		console.log(JSON.stringify({ listening, ...await measure(page, begun, child) }));
	} finally {
		await b.close();
		child.removeAllListeners("exit");
		child.kill("SIGINT");
	}
}

main().catch((error) => {
	console.error(String(error.stack || error));
	process.exit(1);
});
