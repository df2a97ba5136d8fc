/** The colours of everything but spans. `back` is that of the picture as a pixel. */

/** @typedef {object} Theme
 * @property {"dark" | "light"} name
 * @property {number} back
 * @property {string} backCss
 * @property {string} panelCss
 * @property {string} text
 * @property {string} line
 * @property {string} onSpan text on spans
 * @property {string} accent
 * @property {string} accentCss
 * @property {string} shade over what is not chosen
 * @property {string} instant
 * @property {string} series
 * @property {string} arrow
 * @property {string} damage
 * @property {string} lost
 * @property {string} found
 */

/** @type {Record<"dark" | "light", Theme>} */
export const THEMES = {
	dark: {
		name: "dark", back: 0xff221d1b, backCss: "#1b1d22", panelCss: "#24272e", text: "#d6d9e0", line: "#353944",
		onSpan: "#101114", accent: "#7fb4ff", accentCss: "#9cc5ff", shade: "#0008", instant: "#e8e2b0",
		series: "#5a88b8", arrow: "#ffc66d", damage: "#ff5a5a", lost: "#ff9f43", found: "#f5e663",
	},
	light: {
		name: "light", back: 0xfffcfbfb, backCss: "#fbfbfc", panelCss: "#eef0f4", text: "#22252b", line: "#d4d8e0",
		onSpan: "#101114", accent: "#1f5fbf", accentCss: "#1f5fbf", shade: "#8a92a233", instant: "#6b5d00",
		series: "#7ea6d3", arrow: "#b35c00", damage: "#c61f1f", lost: "#c26a00", found: "#b39b00",
	},
};
