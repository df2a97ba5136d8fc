/*
 * Drives the page of `spur view` over a trace with states of threads, and prints what it showed of them and of critical paths as JSON:
 * lanes.js MODULES BROWSER SPUR TRACE [SCREENSHOT [PAGE]]. MODULES has playwright-core; PAGE is the page of the trace as one file, which
 * is opened instead.
 */
const path = require("path");

const [modules, browser, spur, trace, shot, saved] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const { serve, settle } = require("./common.js");

/** The place of a time in the strip of a thread's states, on the screen. */
function stripAt(page, tid, t) {
	return page.evaluate(([tid, t]) => {
		const track = spur.meta.tracks.find((x) => x.tid === tid), row = spur.layout.byTrack.get(track.id);
		const box = document.getElementById("overlay").getBoundingClientRect();
		return { x: box.x + (t - spur.state.view.start) / spur.state.view.nspp, y: box.y + row.y - spur.state.top + row.spansAt - 4 };
	}, [tid, t]);
}

/** How high the strip is drawn at a time: the lines of pixels that are not those of the background. */
function heightAt(page, tid, t) {
	return page.evaluate(([tid, t]) => {
		const track = spur.meta.tracks.find((x) => x.tid === tid), row = spur.layout.byTrack.get(track.id);
		const scale = spur.picture.scale, back = spur.theme().backCss.slice(1).match(/../g).map((h) => parseInt(h, 16));
		const x = Math.round(((t - spur.state.view.start) / spur.state.view.nspp) * scale), y = Math.round((row.y - spur.state.top) * scale);
		const { data } = document.getElementById("picture").getContext("2d").getImageData(x, y, 1, Math.round(7 * scale));
		let n = 0;
		for (let i = 0; i < data.length; i += 4) n += back.some((c, k) => Math.abs(c - data[i + k]) > 3) ? 1 : 0;
		return n / scale;
	}, [tid, t]);
}

async function tip(page, tid, t) {
	const at = await stripAt(page, tid, t);
	await page.mouse.move(at.x, at.y);
	await page.waitForFunction(() => !document.getElementById("tip").hidden && /,.*(CPU|woken|blocked|[0-9])/.test(document.getElementById("tip").textContent));
	/* The answer of the server completes what is there at once. */
	await page.waitForTimeout(0);
	await page.waitForFunction(async ([tid, t]) => {
		const track = spur.meta.tracks.find((x) => x.tid === tid);
		const d = await spur.source.state(track.id, t);
		const text = document.getElementById("tip").textContent;
		return d && (d.waker < 0 || text.includes("woken by"));
	}, [tid, t]);
	return page.evaluate(() => document.getElementById("tip").textContent);
}

async function main() {
	const { child, address } = saved ? { child: null, address: `file://${path.resolve(saved)}` } : serve(spur, trace);
	const out = { errors: [] };
	let chrome;
	try {
		const url = await address;
		chrome = await chromium.launch({ executablePath: browser, args: ["--no-sandbox", "--disable-gpu"] });
		const page = await chrome.newPage({ viewport: { width: 1280, height: 800 } });
		page.on("pageerror", (e) => out.errors.push(String(e)));
		await page.goto(url);
		await page.waitForFunction(() => window.spur && spur.meta && spur.meta.done, null, { timeout: 30000 });
		await page.keyboard.press("0");
		await settle(page);
		out.meta = await page.evaluate(() => ({ tracks: spur.meta.tracks, marks: spur.meta.marks, length: spur.meta.length }));
		out.heights = {};
		for (const [what, tid, t] of [["running", "11", 500], ["blocked", "11", 3000], ["runnable", "12", 4300]]) out.heights[what] = await heightAt(page, tid, t);
		out.tips = { woken: await tip(page, "12", 4300), running: await tip(page, "11", 500), blocked: await tip(page, "11", 3000) };
		await page.evaluate(() => {
			const track = spur.meta.tracks.find((x) => x.tid === "11");
			spur.pick({ track: track.id, depth: 0, ts: 100, dur: 5900, label: spur.labels.findIndex((l) => l.name === "request") });
		});
		await page.keyboard.press("6");
		await page.waitForFunction(() => document.querySelector("#tabbody h3") && spur.path);
		await settle(page);
		out.table = await page.evaluate(() => {
			const tables = document.querySelectorAll("#tabbody table");
			return [...tables[tables.length - 1].querySelectorAll("tr")].map((r) => [...r.children].map((c) => c.textContent));
		});
		out.sums = await page.evaluate(() => document.querySelector("#tabbody h3 + p").textContent);
		out.parts = await page.evaluate(() => [...document.querySelectorAll("#tabbody li")].map((l) => l.textContent));
		/* The path over the tracks: pixels of its colour in the rows of the three threads. */
		out.path = await page.evaluate(() => {
			const canvas = document.getElementById("overlay"), scale = window.devicePixelRatio;
			const want = spur.theme().arrow.slice(1).match(/../g).map((h) => parseInt(h, 16));
			return ["11", "12", "13"].map((tid) => {
				const row = spur.layout.byTrack.get(spur.meta.tracks.find((x) => x.tid === tid).id);
				const y = Math.round((row.y - spur.state.top + row.spansAt - 4) * scale);
				const { data } = canvas.getContext("2d").getImageData(0, y, canvas.width, 1);
				let n = 0;
				for (let i = 0; i < data.length; i += 4) n += data[i + 3] > 200 && want.every((c, k) => Math.abs(c - data[i + k]) < 8) ? 1 : 0;
				return n / canvas.width * spur.picture.width * spur.state.view.nspp;
			});
		});
		if (shot) await page.screenshot({ path: shot });
	} finally {
		if (chrome) await chrome.close();
		child?.kill("SIGINT");
	}
	console.log(JSON.stringify(out));
}

main().catch((e) => { console.error(e); process.exit(1); });
