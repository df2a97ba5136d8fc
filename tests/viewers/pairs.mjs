/*
 * What the page says of functions of two traces: pairs.mjs WEB BEFORE AFTER. WEB has the page's modules, BEFORE and AFTER are pages of
 * one file each. Prints as JSON the calls and times that each function has in both.
 */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const [web, ...files] = process.argv.slice(2), dir = mkdtempSync(path.join(tmpdir(), "spur-pairs-"));
for (const name of readdirSync(web)) if (name.endsWith(".js")) copyFileSync(path.join(web, name), path.join(dir, name));
writeFileSync(path.join(dir, "package.json"), '{"type":"module"}');
const { inside, unpack } = await import(path.join(dir, "inside.js")), { Beside } = await import(path.join(dir, "beside.js"));
const { paired } = await import(path.join(dir, "compare.js")), { shownLabels } = await import(path.join(dir, "shown.js"));
rmSync(dir, { recursive: true });

const sources = [];
for (const file of files) {
	const [, coding, text] = /<script id="data" type="application\/octet-stream" data-coding="(gzip|none)">([\w+/=]*)<\/script>/.exec(readFileSync(file, "utf8"));
	sources.push(inside(await unpack(text, coding)));
}
const [a, b] = sources, labels = [await a.labels(0), await b.labels(0)];
const source = new Beside(a, b, { a: await a.meta(), b: await b.meta(), labels }), { length } = await source.meta();
const app = { source, labels: shownLabels(await source.labels(0)) };
const rows = paired(app, await source.sums({ from: 0, to: length + 1, tracks: null }));
console.log(JSON.stringify(rows.map((r) => [r.name, ...[r.a, r.b].flatMap((s) => [s.calls, s.total, s.self].map(String))])));
