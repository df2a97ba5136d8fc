/*
 * SPEC xray/graph-color: between the eleven colors of ColorBrewer's scheme PiYG, interpolated as
 * hue, saturation and value
 */
#include "style/llvm-xray/diff/color.h"

#include <math.h>

enum { COLORS = 11 };

struct hsv {
	double h, s, v; /* degrees, 0 to 1, 0 to 1 */
};

static const uint8_t scheme[COLORS][3] = {
	{ 142, 1, 82 },	   { 197, 27, 125 },  { 222, 119, 174 }, { 241, 182, 218 },
	{ 253, 224, 239 }, { 247, 247, 247 }, { 230, 245, 208 }, { 184, 225, 134 },
	{ 127, 188, 65 },  { 77, 146, 33 },   { 39, 100, 25 },
};

static struct hsv hsv_of(const uint8_t *rgb)
{
	const double c[3] = { rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0 };
	unsigned least = 0, most = 0;
	double chroma, sixth;

	for (unsigned i = 1; i < 3; i++) {
		least = c[i] < c[least] ? i : least;
		most = c[i] > c[most] ? i : most;
	}
	chroma = c[most] - c[least];
	sixth = chroma == 0 ? 0 : (c[(most + 1) % 3] - c[(most + 2) % 3]) / chroma;
	sixth += 2.0 * most;
	return (struct hsv){ (sixth < 0 ? sixth + 6 : sixth) * 60,
			     c[most] == 0 ? 0 : chroma / c[most], c[most] };
}

/* The shorter way round. */
static double hue_between(double a, double b, double t)
{
	const double low = a < b ? a : b, high = a < b ? b : a;

	t = a > b ? 1 - t : t;
	if (high - low <= 180)
		return low + t * (high - low);
	return fmod(low + 360 + t * (high - (low + 360)) + 720, 360);
}

static uint32_t byte_of(double v)
{
	return (uint32_t)(255 * (v < 0 ? 0 : v > 1 ? 1 : v) + 0.5);
}

static uint32_t rgb_of(struct hsv c)
{
	const double chroma = c.v * c.s, sixth = c.h / 60, least = c.v - chroma;
	const double other = chroma * (1 - fabs(fmod(sixth, 2) - 1));
	const int whole = (int)sixth, first = whole / 2;
	double rgb[3] = { 0, 0, 0 };

	rgb[first % 3] = whole % 2 ? other : chroma;
	rgb[(first + 1) % 3] = whole % 2 ? chroma : other;
	return byte_of(rgb[0] + least) << 16 | byte_of(rgb[1] + least) << 8 |
	       byte_of(rgb[2] + least);
}

uint32_t change_color(double change)
{
	const double width = 2.0 / (COLORS - 1), at = change + 1;
	struct hsv a, b;
	unsigned section;
	double t;

	if (change < -1)
		return 0xff0000;
	if (change > 1)
		return 0x00ff00;
	section = (unsigned)floor(at / width);
	t = (at - section * width) / width;
	a = hsv_of(scheme[section]);
	b = hsv_of(scheme[section + 1 < COLORS ? section + 1 : COLORS - 1]);
	return rgb_of((struct hsv){ hue_between(a.h, b.h, t), a.s + t * (b.s - a.s),
				    a.v + t * (b.v - a.v) });
}
