/** The page as one file, without a server (`spur convert --to html`): its data stands in the file itself. */

import { byId } from "./dom.js";
import { inside, unpack } from "./inside.js";
import { run } from "./start.js";

run(async () => {
	const element = byId("data"), text = element.textContent ?? "";
	element.textContent = "";
	return inside(await unpack(text, element.dataset.coding ?? ""));
});
