/*
 * Counts words with four threads: a reader fills a queue with blocks, workers split them, main
 * merges and sorts.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 3, SLOTS = 4, BUCKETS = 64, WORD = 24 };

struct word {
	struct word *next;
	unsigned count;
	char text[WORD];
};

struct table {
	struct word *bucket[BUCKETS];
	unsigned words;
};

static const char text[] =
	"a trace is a list of events\n"
	"who waits for whom and who holds the lock\n"
	"time is a list too\n";

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	const char *block[SLOTS];
	size_t len[SLOTS];
	unsigned head, used;
	int closed;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER,
	    .filled = PTHREAD_COND_INITIALIZER,
	    .emptied = PTHREAD_COND_INITIALIZER };

static unsigned hash_word(const char *p, size_t n)
{
	unsigned h = 5381;

	while (n--)
		h = h * 33 + (unsigned char)*p++;
	return h;
}

static struct word *make_word(const char *p, size_t n)
{
	struct word *w = calloc(1, sizeof(*w));

	memcpy(w->text, p, n < WORD ? n : WORD - 1);
	return w;
}

static struct word *find_word(struct table *t, const char *p, size_t n)
{
	struct word **at = &t->bucket[hash_word(p, n) % BUCKETS];

	while (*at && (strncmp((*at)->text, p, n) || (*at)->text[n]))
		at = &(*at)->next;
	if (!*at) {
		*at = make_word(p, n);
		t->words++;
	}
	return *at;
}

static void add_word(struct table *t, const char *p, size_t n, unsigned count)
{
	find_word(t, p, n)->count += count;
}

static size_t split_block(struct table *t, const char *p, size_t n)
{
	size_t words = 0;

	for (size_t i = 0, from = 0; i <= n; i++) {
		if (i < n && isalpha((unsigned char)p[i]))
			continue;
		if (i > from) {
			add_word(t, p + from, i - from, 1);
			words++;
		}
		from = i + 1;
	}
	return words;
}

static void put_block(const char *p, size_t n)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.used == SLOTS)
		pthread_cond_wait(&queue.emptied, &queue.lock);
	queue.block[(queue.head + queue.used) % SLOTS] = p;
	queue.len[(queue.head + queue.used++) % SLOTS] = n;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static int take_block(const char **p, size_t *n)
{
	int got;

	pthread_mutex_lock(&queue.lock);
	while (!queue.used && !queue.closed)
		pthread_cond_wait(&queue.filled, &queue.lock);
	got = queue.used > 0;
	if (got) {
		*p = queue.block[queue.head];
		*n = queue.len[queue.head];
		queue.head = (queue.head + 1) % SLOTS;
		queue.used--;
		pthread_cond_signal(&queue.emptied);
	}
	pthread_mutex_unlock(&queue.lock);
	return got;
}

static void close_queue(void)
{
	pthread_mutex_lock(&queue.lock);
	queue.closed = 1;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static void *reader(void *arg)
{
	for (int turn = 0; turn < *(int *)arg; turn++) {
		for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
			put_block(p, (size_t)(end - p));
	}
	close_queue();
	return NULL;
}

static void *worker(void *arg)
{
	struct table *t = arg;
	const char *p;
	size_t n;

	while (take_block(&p, &n))
		split_block(t, p, n);
	return NULL;
}

static void merge_tables(struct table *into, struct table *from)
{
	for (int b = 0; b < BUCKETS; b++) {
		for (struct word *w = from->bucket[b], *next; w; w = next) {
			next = w->next;
			add_word(into, w->text, strlen(w->text), w->count);
			free(w);
		}
	}
}

static int by_count(const void *a, const void *b)
{
	const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->text, y->text);
}

static void print_top(struct table *t, unsigned top)
{
	struct word **all = calloc(t->words, sizeof(*all));
	unsigned n = 0;

	for (int b = 0; b < BUCKETS; b++)
		for (struct word *w = t->bucket[b]; w; w = w->next)
			all[n++] = w;
	qsort(all, n, sizeof(*all), by_count);
	for (unsigned i = 0; i < n && i < top; i++)
		printf("%4u %s\n", all[i]->count, all[i]->text);
	free(all);
}

int main(int argc, char **argv)
{
	static struct table tables[WORKERS], sum;
	int turns = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t threads[WORKERS + 1];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &tables[i]);
	pthread_create(&threads[WORKERS], NULL, reader, &turns);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < WORKERS; i++)
		merge_tables(&sum, &tables[i]);
	print_top(&sum, 5);
	return 0;
}
