/* The flame graph as SVG. See svg.h. */
#include "pass/flame/svg.h"

#include <math.h>

#include "base/text.h"
#include "render/cell.h"

enum {
	PAGE = 1200, /* width before the script fits it to the window; all in px */
	SIDE = 10,
	TOP = 64,
	FOOT = 30,
	ROW = 18,
	BAR = 17,
	LEVELS = 512, /* drawn */
	LEAST = 10, /* of a drawn frame, hundredths of a px */
	LETTER = 662, /* of the font, hundredths of a px */
};

/* The page's fixed parts stand between these. */
static const char style[] =
	"<style>\n"
	"svg{background:#fdfdfb;font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans "
	"Mono',monospace;font-size:11px}\n"
	"text{fill:#1c1c1c;pointer-events:none;white-space:pre}\n"
	"#title{font-size:16px;font-weight:bold}\n"
	"#sub,#keys{fill:#666}\n"
	"#found{fill:#a0208c}\n"
	"#frames g{cursor:pointer}\n"
	"#frames rect{stroke:#fdfdfb;stroke-width:.5}\n"
	"#frames g:hover rect,#frames g.sel rect{stroke:#000;stroke-width:1.2}\n"
	"#frames g.hit rect{fill:#e06ad8}\n"
	"#frames g.up{opacity:.55}\n"
	"#frames g.off{display:none}\n"
	"</style>\n";

static const char script[] =
	"<script><![CDATA[\n"
	"'use strict';\n"
	"const svg = document.documentElement, id = n => document.getElementById(n);\n"
	"const SIDE = 10, LETTER = 6.62, BASE = +svg.getAttribute('width') - 2 * SIDE, EPS = "
	"1e-6;\n"
	"let width = BASE + 2 * SIDE, zoom = null, sel = null, typing = null, term = '';\n"
	"const frames = [...document.querySelectorAll('#frames > g')].map(g => {\n"
	"	const r = g.querySelector('rect'), tip = g.querySelector('title').textContent;\n"
	"	return { g, r, t: g.querySelector('text'), tip, name: tip.split('\\n')[0], y: "
	"+r.getAttribute('y'),\n"
	"		 x: (+r.getAttribute('x') - SIDE) / BASE, w: +r.getAttribute('width') / "
	"BASE };\n"
	"});\n"
	"const holds = (a, b) => a.y > b.y && a.x <= b.x + EPS && a.x + a.w >= b.x + b.w - EPS;\n"
	"const tell = f => { id('info').textContent = f ? f.tip.replace(/\\n/g, '  |  ') : ''; };\n"
	"function place(f, x, w, up) {\n"
	"	const fit = Math.floor((w - 6) / LETTER);\n"
	"	f.g.classList.remove('off');\n"
	"	f.g.classList.toggle('up', up);\n"
	"	f.r.setAttribute('x', x);\n"
	"	f.r.setAttribute('width', Math.max(w, 0));\n"
	"	f.t.setAttribute('x', x + 3);\n"
	"	f.t.textContent = fit < 3 ? '' : f.name.length <= fit ? f.name : f.name.slice(0, "
	"fit - 2) + '..';\n"
	"}\n"
	"function layout() {\n"
	"	const inner = width - 2 * SIDE, z = zoom || { x: 0, w: 1 };\n"
	"	for (const f of frames) {\n"
	"		if (zoom && holds(f, zoom))\n"
	"			place(f, SIDE, inner, true);\n"
	"		else if ((zoom && f !== zoom && !holds(zoom, f)) || f.w / z.w * inner < "
	"0.1)\n"
	"			f.g.classList.add('off');\n"
	"		else\n"
	"			place(f, SIDE + (f.x - z.x) / z.w * inner, f.w / z.w * inner, "
	"false);\n"
	"	}\n"
	"	id('reset').style.display = zoom ? '' : 'none';\n"
	"}\n"
	"function focusOn(f) { zoom = f && f.w < 1 - EPS ? f : null; layout(); }\n"
	"function search(s) {\n"
	"	let sum = 0, end = 0, count = 0, test;\n"
	"	term = s;\n"
	"	try { const re = new RegExp(s, 'i'); test = n => re.test(n); }\n"
	"	catch (e) { test = n => n.toLowerCase().includes(s.toLowerCase()); }\n"
	"	const hits = frames.filter(f => { const h = s !== '' && test(f.name); "
	"f.g.classList.toggle('hit', h); return h; });\n"
	"	hits.sort((a, b) => a.x - b.x || b.w - a.w);\n"
	"	for (const f of hits) {\n"
	"		count++;\n"
	"		if (f.x + f.w > end) { sum += f.x + f.w - Math.max(f.x, end); end = f.x + "
	"f.w; }\n"
	"	}\n"
	"	const now = typing !== null ? '/' + typing + '_' : s && '/' + s;\n"
	"	id('found').textContent = now + (s ? '   ' + count + ' frames, ' + (100 * "
	"sum).toFixed(2) + ' % of the time' : '');\n"
	"}\n"
	"function select(f) {\n"
	"	if (!f) return;\n"
	"	if (sel) sel.g.classList.remove('sel');\n"
	"	sel = f; f.g.classList.add('sel'); tell(f);\n"
	"}\n"
	"function move(key) {\n"
	"	const shown = frames.filter(f => !f.g.classList.contains('off'));\n"
	"	if (!sel || sel.g.classList.contains('off')) return select(zoom || shown[0]);\n"
	"	const row = shown.filter(f => f.y === sel.y).sort((a, b) => a.x - b.x), at = "
	"row.indexOf(sel);\n"
	"	if (key === 'ArrowLeft') select(row[at - 1]);\n"
	"	else if (key === 'ArrowRight') select(row[at + 1]);\n"
	"	else if (key === 'ArrowDown') select(shown.filter(f => holds(f, sel)).sort((a, b) "
	"=> a.y - b.y)[0]);\n"
	"	else select(shown.filter(f => holds(sel, f) && sel.y - f.y < 20).sort((a, b) => "
	"b.w - a.w)[0]);\n"
	"}\n"
	"function type(e) {\n"
	"	if (e.key === 'Enter') typing = null;\n"
	"	else if (e.key === 'Escape') { typing = null; term = ''; }\n"
	"	else if (e.key === 'Backspace') term = typing = typing.slice(0, -1);\n"
	"	else if (e.key.length === 1) term = typing += e.key;\n"
	"	search(term);\n"
	"}\n"
	"addEventListener('keydown', e => {\n"
	"	const find = e.key === '/' || ((e.ctrlKey || e.metaKey) && e.key === 'f');\n"
	"	if (typing === null && !find && (e.ctrlKey || e.metaKey || e.altKey)) return;\n"
	"	if (typing !== null) type(e);\n"
	"	else if (find) { typing = ''; search(''); }\n"
	"	else if (e.key.startsWith('Arrow')) move(e.key);\n"
	"	else if (e.key === 'Enter') focusOn(sel);\n"
	"	else if (e.key === 'Escape') { if (zoom) focusOn(null); else search(''); }\n"
	"	else return;\n"
	"	e.preventDefault();\n"
	"});\n"
	"for (const f of frames) {\n"
	"	f.g.addEventListener('click', () => { select(f); focusOn(f); });\n"
	"	f.g.addEventListener('mouseover', () => tell(f));\n"
	"	f.g.addEventListener('mouseout', () => tell(sel));\n"
	"}\n"
	"id('reset').addEventListener('click', () => focusOn(null));\n"
	"function fitWindow() {\n"
	"	if (window.top !== window || innerWidth < 200) return layout();\n"
	"	width = innerWidth - 4;\n"
	"	svg.setAttribute('width', width);\n"
	"	svg.setAttribute('viewBox', '0 0 ' + width + ' ' + svg.getAttribute('height'));\n"
	"	id('reset').setAttribute('x', width - SIDE);\n"
	"	id('keys').setAttribute('x', width - SIDE);\n"
	"	layout();\n"
	"}\n"
	"addEventListener('resize', fitWindow);\n"
	"fitWindow();\n"
	"]]></script>\n";

struct drawing {
	const struct flame_svg *f;
	struct out *o, text; /* text: scratch */
	uint64_t total, dropped;
	uint64_t *next; /* by depth: where the next child begins, ns */
	size_t cap;
	uint64_t height;
	size_t deepest;
	uint64_t most; /* the largest change of a self time, ns */
};

/* XML text: control bytes and invalid UTF-8 as \xNN. */
static void out_xml(struct out *o, const char *s, size_t len)
{
	size_t plain = 0;

	for (size_t i = 0; i < len; i++) {
		const char *as = s[i] == '&'   ? "&amp;"
				 : s[i] == '<' ? "&lt;"
				 : s[i] == '>' ? "&gt;"
				 : s[i] == '"' ? "&quot;"
					       : NULL;

		if (!as)
			continue;
		out_safe(o, s + plain, i - plain);
		out_str(o, as);
		plain = i + 1;
	}
	if (plain < len)
		out_safe(o, s + plain, len - plain);
}

/* Hundredths as a decimal number. */
static void out_hundredths(struct out *o, uint64_t v)
{
	out_u64(o, v / 100);
	if (v % 100) {
		out_char(o, '.');
		out_char(o, (char)('0' + v % 100 / 10));
		if (v % 10)
			out_char(o, (char)('0' + v % 10));
	}
}

static void out_percent(struct out *o, uint64_t part, uint64_t whole)
{
	out_hundredths(o, whole ? (uint64_t)((unsigned __int128)part * 10000 / whole) : 0);
	out_str(o, " %");
}

static void out_time_trimmed(struct out *o, uint64_t ns)
{
	char cell[32], *end = put_time(cell, ns), *p = cell;

	while (*p == ' ')
		p++;
	out_bytes(o, p, (size_t)(end - p));
}

/* FNV-1a: unlike base/hash.h, it must give a name the same colour everywhere and for ever. */
static uint32_t hash_text(const char *s, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h ^ h >> 15;
}

/* About one hue a module, one shade a function. */
static uint32_t frame_color(const struct drawing *d, const struct tree_node *n)
{
	static const uint8_t hues[][3] = {
		{ 236, 148, 104 }, { 238, 190, 104 }, { 150, 194, 130 }, { 116, 186, 186 },
		{ 140, 172, 222 }, { 186, 156, 212 }, { 224, 152, 178 }, { 240, 170, 100 },
	};
	static const uint8_t off_cpu[3] = { 166, 176, 196 }, library[3] = { 220, 208, 130 },
			     kernel[3] = { 240, 130, 110 }, unknown[3] = { 200, 200, 196 };
	const bool other = n->what == TREE_OTHER;
	const struct group none = { 0 };
	const struct group g = other ? none : group_at(d->f->groups, n->what);
	const uint8_t *hue = unknown;
	uint32_t color = 0, shade = 0;

	if (!other && !g.cls) {
		hue = off_cpu;
	} else if (!other && !(g.cls->flags & CLASS_UNKNOWN)) {
		const char *module = cell_basename(g.module);

		hue = g.cls->flags & CLASS_KERNEL    ? kernel
		      : g.cls->flags & CLASS_LIBRARY ? library
						      : hues[hash_text(module, strlen(module)) % 8];
		shade = hash_text(g.name, g.name_len);
	}
	for (int i = 0; i < 3; i++) {
		uint32_t value = hue[i] + (shade >> 5 * i & 31) - 12;

		color = color << 8 | (value > 255 ? 255 : value);
	}
	return color;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * From white to red where the self time grew, to blue where it shrank, by the root of the change.
 */
static uint32_t change_color(const struct drawing *d, uint32_t id)
{
	const uint64_t old = d->f->before[id].self, now = d->f->tree->nodes[id].self;
	const double strength = d->most ? sqrt((double)distance(old, now) / (double)d->most) : 0;
	const uint32_t pale = (uint32_t)(232 - 152 * strength),
		       paler = (uint32_t)(232 - 112 * strength);

	return now >= old ? (uint32_t)(232 + 8 * strength) << 16 | pale << 8 | pale
			  : pale << 16 | paler << 8 | 240;
}

static void out_change(struct out *o, const char *what, uint64_t old, uint64_t now)
{
	out_printf(o, "\n%s: ", what);
	out_time_trimmed(o, old);
	out_str(o, " before, ");
	out_str(o, now >= old ? "+" : "-");
	out_time_trimmed(o, distance(old, now));
	if (old) {
		out_str(o, now >= old ? ", +" : ", -");
		out_percent(o, distance(old, now), old);
	}
}

/* Where `ns` of the total lie on the page, hundredths of a px. */
static uint64_t page_x(const struct drawing *d, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * ((PAGE - 2 * SIDE) * 100) / d->total);
}

/* The frame's name as it fits; browsers with a script put it anew. */
static void frame_label(struct drawing *d, uint64_t width)
{
	size_t fit = width < 600 ? 0 : (size_t)((width - 600) / LETTER);

	if (fit < 3)
		return;
	if (cell_width(d->text.buf, d->text.len) <= fit) {
		out_xml(d->o, d->text.buf, d->text.len);
		return;
	}
	while (d->text.len && cell_width(d->text.buf, d->text.len) > fit - 2)
		d->text.len--;
	while (d->text.len && !utf8_all_valid(d->text.buf, d->text.len))
		d->text.len--;
	out_xml(d->o, d->text.buf, d->text.len);
	out_str(d->o, "..");
}

/* Of the node, or of 0: the whole. */
static void frame_tip(struct drawing *d, uint32_t id, uint64_t ns)
{
	const struct flame_svg *f = d->f;
	const uint64_t calls = f->tree->nodes[id].calls;
	struct out *o = d->o;

	out_time_trimmed(o, ns);
	out_str(o, ", ");
	out_percent(o, ns, d->total);
	if (calls)
		out_printf(o, ", %llu calls", (unsigned long long)calls);
	if (!f->before)
		return;
	if (f->before[id].calls)
		out_printf(o, " (%llu before)", (unsigned long long)f->before[id].calls);
	out_change(o, "with callees", f->weights_before[id], ns);
	if (id)
		out_change(o, "self", f->before[id].self, f->tree->nodes[id].self);
}

static void frame_draw(struct drawing *d, uint64_t x, uint64_t width, size_t depth, uint32_t id,
		       uint32_t color)
{
	const uint64_t ns = d->f->weights[id];
	uint64_t y = d->height - FOOT - (depth + 1) * ROW;
	struct out *o = d->o;

	out_str(o, "<g><title>");
	out_xml(o, d->text.buf, d->text.len);
	out_char(o, '\n');
	frame_tip(d, id, ns);
	out_str(o, "</title><rect x=\"");
	out_hundredths(o, x + SIDE * 100);
	out_printf(o, "\" y=\"%llu\" width=\"", (unsigned long long)y);
	out_hundredths(o, width);
	out_printf(o, "\" height=\"%d\" fill=\"#%06x\"/><text x=\"", BAR, color);
	out_hundredths(o, x + SIDE * 100 + 300);
	out_printf(o, "\" y=\"%llu\">", (unsigned long long)y + 12);
	frame_label(d, width);
	out_str(o, "</text></g>\n");
}

static bool svg_enter(void *self, uint32_t id, size_t depth, bool last)
{
	struct drawing *d = self;
	const struct tree_node *n = &d->f->tree->nodes[id];
	uint64_t ns = d->f->weights[id], from, x, width;

	(void)last;
	if (!mem_grow((void **)&d->next, &d->cap, depth + 2, sizeof(*d->next), SIZE_MAX / 2))
		return false;
	from = d->next[depth];
	d->next[depth] += ns;
	d->next[depth + 1] = from;
	x = page_x(d, from);
	width = page_x(d, from + ns) - x;
	if (width < LEAST || depth > d->deepest) {
		d->dropped++;
		return true;
	}
	out_clear(&d->text);
	out_node(&d->text, d->f->groups, n);
	frame_draw(d, x, width, depth, id, d->f->before ? change_color(d, id) : frame_color(d, n));
	return !d->o->error && !d->text.error;
}

/* How high the page must be. */
static bool svg_measure(void *self, uint32_t id, size_t depth, bool last)
{
	struct drawing *d = self;

	(void)last;
	if (d->f->before && d->most < distance(d->f->before[id].self, d->f->tree->nodes[id].self))
		d->most = distance(d->f->before[id].self, d->f->tree->nodes[id].self);
	if (depth > d->deepest && depth <= LEVELS && page_x(d, d->f->weights[id]) >= LEAST)
		d->deepest = depth;
	return true;
}

/* What it is compared with, below the title. */
static void head_before(struct drawing *d)
{
	struct out *o = d->o;

	out_str(o, "; ");
	out_time_trimmed(o, d->f->weights_before[0]);
	out_str(o, " in ");
	out_xml(o, d->f->name_before, strlen(d->f->name_before));
	out_str(o, "; red: more self time, blue: less");
}

static void svg_head(struct drawing *d)
{
	const char *name = d->f->before ? d->f->name : cell_basename(d->f->name);
	struct out *o = d->o;

	out_str(o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	out_printf(o,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%llu\" "
		   "viewBox=\"0 0 %d %llu\">\n",
		   PAGE, (unsigned long long)d->height, PAGE, (unsigned long long)d->height);
	out_str(o, style);
	out_printf(o, "<text id=\"title\" x=\"%d\" y=\"24\">", SIDE);
	out_xml(o, name, strlen(name));
	if (d->f->root) {
		out_str(o, ": ");
		out_xml(o, d->f->root, strlen(d->f->root));
	}
	out_printf(o, "</text>\n<text id=\"sub\" x=\"%d\" y=\"42\">", SIDE);
	out_time_trimmed(o, d->f->weights[0]);
	out_str(o, " in all threads");
	if (d->f->before)
		head_before(d);
	if (d->deepest == LEVELS)
		out_printf(o, "; %d levels are drawn", LEVELS);
	if (d->f->tree->cut)
		out_str(o, "; too many different paths: the further ones are under (other)");
	out_printf(o,
		   "</text>\n<text id=\"keys\" x=\"%d\" y=\"24\" text-anchor=\"end\">"
		   "click: zoom · /: search · arrows, Enter: move, zoom · Esc: back</text>\n",
		   PAGE - SIDE);
	out_printf(o,
		   "<text id=\"reset\" x=\"%d\" y=\"42\" text-anchor=\"end\" "
		   "style=\"display:none;pointer-events:all;"
		   "cursor:pointer;text-decoration:underline\">whole graph</text>\n",
		   PAGE - SIDE);
	out_printf(o,
		   "<text id=\"found\" x=\"%d\" y=\"58\"></text>\n<text id=\"info\" x=\"%d\" "
		   "y=\"%llu\"></text>\n",
		   SIDE, SIDE, (unsigned long long)d->height - 10);
}

bool flame_svg_write(const struct flame_svg *f, struct out *o)
{
	static const struct tree_visit measure = { svg_measure, NULL }, draw = { svg_enter, NULL };
	struct drawing d = { .f = f, .o = o, .total = f->weights[0] ? f->weights[0] : 1 };
	bool good;

	out_to_memory(&d.text);
	good = tree_walk(f->tree, &measure, &d) &&
	       mem_grow((void **)&d.next, &d.cap, 2, sizeof(*d.next), SIZE_MAX / 2);
	d.height = TOP + FOOT + (d.deepest + 1) * ROW;
	if (good) {
		svg_head(&d);
		out_str(o, "<g id=\"frames\">\n");
		out_str(&d.text, "all");
		frame_draw(&d, 0, (PAGE - 2 * SIDE) * 100, 0, 0, 0xd8d8d2);
		good = tree_walk(f->tree, &draw, &d) || o->error;
		out_str(o, "</g>\n");
		if (d.dropped)
			out_printf(o,
				   "<!-- %llu frames narrower than 0.1 px or deeper than %d levels "
				   "are not drawn -->\n",
				   (unsigned long long)d.dropped, LEVELS);
		out_str(o, script);
		out_str(o, "</svg>\n");
	}
	good = good && !d.text.error;
	out_free(&d.text);
	mem_free(d.next);
	return good;
}
