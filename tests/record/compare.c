/*
 * A program in which one function can be made slower: -DWORK=N sets how much it does. The goldens
 * own-compare-before (WORK=2000) and own-compare-after (WORK=6000) of uftrace are recorded by
 * record.sh, those of XRay by
 *
 *	clang -O1 -fxray-instrument -fxray-instruction-threshold=1 -DWORK=N compare.c -o compare
 *	XRAY_OPTIONS=patch_premain=true ./compare
 */
#define NOINLINE __attribute__((noinline))

enum { ROUNDS = 40 };

static volatile unsigned sink;

/* XRay's flight data recorder, which must be started and written out by hand. */
__attribute__((weak)) int __xray_log_select_mode(const char *mode);
__attribute__((weak)) int __xray_log_init_mode(const char *mode, const char *config);
__attribute__((weak)) int __xray_log_finalize(void);
__attribute__((weak)) int __xray_log_flushLog(void);

NOINLINE void steady(void)
{
	for (unsigned i = 0; i < 4000; i++)
		sink += i;
}

NOINLINE void slowed(void)
{
	for (unsigned i = 0; i < WORK; i++)
		sink += i;
}

NOINLINE void parent(void)
{
	steady();
	slowed();
}

#if WORK > 2000
NOINLINE void added(void)
{
	sink++;
}
#endif

int main(void)
{
	if (__xray_log_select_mode) {
		__xray_log_select_mode("xray-fdr");
		__xray_log_init_mode("xray-fdr", "func_duration_threshold_us=0");
	}
	for (int i = 0; i < ROUNDS; i++)
		parent();
#if WORK > 2000
	added();
#endif
	if (__xray_log_select_mode) {
		__xray_log_finalize();
		__xray_log_flushLog();
	}
	return 0;
}
