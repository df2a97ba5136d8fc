/* What those who drive the page of `spur view` in a browser share. */
const { spawn } = require("child_process");

/** Starts the viewer; `address` resolves with its address. @param {string} spur @param {string} trace */
function serve(spur, trace) {
	const child = spawn(spur, ["view", "--no-open", "--no-cache", trace], { stdio: ["ignore", "pipe", "pipe"] });
	const address = new Promise((done, fail) => {
		let said = "";
		const take = (data) => {
			said += data;
			const found = /http:\/\/\S+\/#\w{32}/.exec(said);
			if (found) done(found[0]);
		};
		child.stdout.on("data", take);
		child.stderr.on("data", take);
		child.on("exit", (code) => fail(new Error(`spur view ended with ${code}: ${said}`)));
	});
	return { child, address };
}

/** Waits until all that the page asked for is drawn. */
const settle = (page) => page.evaluate(async () => {
	for (let i = 0; i < 3; i++) {
		await spur.tiles.settled();
		spur.drawNow();
	}
});

module.exports = { serve, settle };
