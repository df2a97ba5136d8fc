/*
 * The end of points.c and lttng-points.c: times what their table `points` has, of which the first
 * is nothing and the last a point that is off.
 */
#ifndef BENCH_POINTS_H
#define BENCH_POINTS_H

#include "measure.h"

#ifndef PREPARE
#define PREPARE() ((void)0)
#endif

enum { POINTS = sizeof(points) / sizeof(*points) };

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1000000;
	static double times[POINTS + 1][TIMES];
	double nothing, clocks;

	PREPARE();
	for (int run = -1; run < TIMES; run++) {
		for (int p = 0; p < POINTS; p++) {
			const double begin = cpu_ns();

			for (int i = 0; i < n; i++)
				points[p].run(i);
			if (run >= 0)
				times[p][run] = (cpu_ns() - begin) / n;
		}
		if (run >= 0)
			times[POINTS][run] = two_clocks(n);
	}
	clocks = median(times[POINTS]);
	printf("%-28s %6.2f ns  ratio %.3f\n", "two clocks", clocks, 1.0);
	nothing = median(times[0]);
	for (int p = 1; p < POINTS; p++) {
		const double took = median(times[p]) - (p == POINTS - 1 ? nothing : 0);

		printf("%-28s %6.2f ns  ratio %.3f\n", points[p].name, took, took / clocks);
	}
	return 0;
}

#endif
