/*
 * Reads the four files of a directory with hyparquet: parquet.mjs MODULES DIRECTORY writes one JSON object with the rows of each
 * file and the metadata that a test looks at. Numbers of 64 bits are strings, bytes are hexadecimal digits.
 */
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, directory] = process.argv.slice(2);
const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await import(
	pathToFileURL(path.resolve(modules, "hyparquet", "src", "node.js")));
const plain = (key, v) => typeof v === "bigint" ? String(v) : v instanceof Uint8Array ? Buffer.from(v).toString("hex")
	: typeof v === "number" && !Number.isFinite(v) ? String(v) : v;
const parsers = { timestampFromNanoseconds: (v) => v };
const all = {};

for (const name of ["events", "spans", "arguments", "tracks"]) {
	const file = await asyncBufferFromFile(path.join(directory, `${name}.parquet`));
	const metadata = await parquetMetadataAsync(file, { parsers });
	all[name] = {
		rows: await parquetReadObjects({ file, metadata, parsers, utf8: false }),
		groups: metadata.row_groups.map((g) => ({
			rows: g.num_rows,
			columns: g.columns.map((c) => ({ name: c.meta_data.path_in_schema[0], statistics: c.meta_data.statistics })),
		})),
		schema: metadata.schema,
	};
}
process.stdout.write(JSON.stringify(all, plain));
