/*
 * Opens Chrome JSON files in speedscope and saves what it made of them: speedscope.js MODULES BROWSER FILE...
 * writes FILE.speedscope for each, its own format, which has every call that it shows. MODULES has playwright-core and
 * speedscope; one browser opens all files.
 */
const fs = require("fs");
const http = require("http");
const path = require("path");

const [modules, browser, ...files] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(modules), "playwright-core"));
const site = path.join(modules, "speedscope", "dist", "release");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };

/* The release's files, and the traces as /trace/N.json. */
function answer(request, response) {
	const name = new URL(request.url, "http://localhost").pathname;
	const trace = name.match(/^\/trace\/(\d+)\.json$/);
	const file = trace ? files[trace[1]] : path.join(site, path.normalize(name === "/" ? "/index.html" : name));

	fs.readFile(file, (error, data) => {
		response.writeHead(error ? 404 : 200, { "Content-Type": types[path.extname(trace ? ".json" : file)] || "application/octet-stream" });
		response.end(data);
	});
}

async function open(page, address, i) {
	await page.goto("about:blank");
	await page.goto(`${address}/index.html#profileURL=${encodeURIComponent(`${address}/trace/${i}.json`)}`);
	/* The toolbar with the list of views comes when the trace is read. */
	await page.getByText("Time Order").first().waitFor();
	const saved = page.waitForEvent("download");
	await page.keyboard.press("Control+s");
	await (await saved).saveAs(`${files[i]}.speedscope`);
}

async function main() {
	const server = http.createServer(answer).listen(0, "127.0.0.1");
	await new Promise((done) => server.once("listening", done));
	const b = await chromium.launch({
		executablePath: browser,
		headless: true,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
	});
	const page = await b.newPage({ acceptDownloads: true });
	page.setDefaultTimeout(30000);
	for (let i = 0; i < files.length; i++) {
		try {
			await open(page, `http://127.0.0.1:${server.address().port}`, i);
		} catch (error) {
			console.log(`${files[i]}: ${String(error).split("\n")[0]}`);
		}
	}
	await b.close();
	server.close();
}

main().catch((error) => {
	console.error(String(error));
	process.exit(1);
});
