/** The page of `spur view`: a server has the data. */

import { remote } from "./remote.js";
import { run } from "./start.js";

run(async (token) => remote(token));
