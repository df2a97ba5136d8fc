/*
 * flame: the call tree as folded stacks (`main;work;leaf 1234`, one line a path, ns of self time or
 * samples), the input of every flame graph tool; or as an interactive SVG that needs nothing but a
 * browser. Reads call rows and time off the CPU.
 */
#include <stdlib.h>

#include "pass/flame.h"
#include "pass/flame/svg.h"
#include "pass/fold/tree.h"
#include "render/cell.h"

enum { FOLDED_DEPTH = 1024 };

struct flame {
	struct pass_env *env;
	struct groups groups;
	struct tree all, below;
	const struct tree *tree;
	uint64_t *weights; /* self time of the node and all below it */
	/* Folded: */
	struct out path, name; /* the names so far; scratch */
	size_t *lengths; /* of the path at each depth */
	size_t lengths_cap;
};

/* A frame's name in a folded line, where ';' and line ends have a meaning. */
static void folded_name(struct flame *f, const struct tree_node *n)
{
	size_t start = f->path.len;

	out_clear(&f->name);
	out_node(&f->name, &f->groups, n);
	out_safe(&f->path, f->name.buf, f->name.len);
	for (size_t i = start; i < f->path.len; i++)
		if (f->path.buf[i] == ';')
			f->path.buf[i] = ',';
}

static void folded_line(struct flame *f, uint64_t ns)
{
	struct out *o = f->env->out;
	uint64_t sample = flame_options(f->env)->sample_ns > 0
				  ? (uint64_t)flame_options(f->env)->sample_ns
				  : 1;
	uint64_t count = ns / sample + (ns % sample >= sample - sample / 2 && sample > 1);

	if (!count)
		return;
	out_bytes(o, f->path.buf, f->path.len);
	out_char(o, ' ');
	out_u64(o, count);
	out_char(o, '\n');
}

static bool folded_enter(void *self, uint32_t id, size_t depth, bool last)
{
	struct flame *f = self;
	const struct tree_node *n = &f->tree->nodes[id];

	(void)last;
	if (depth > FOLDED_DEPTH)
		return true;
	if (!mem_grow((void **)&f->lengths, &f->lengths_cap, depth + 1, sizeof(*f->lengths),
		      SIZE_MAX / 2))
		return false;
	f->lengths[depth] = f->path.len;
	if (depth > 1)
		out_char(&f->path, ';');
	folded_name(f, n);
	folded_line(f, n->self);
	if (depth == FOLDED_DEPTH && f->weights[id] > n->self) {
		size_t len = f->path.len;

		out_str(&f->path, ";(deeper)");
		folded_line(f, f->weights[id] - n->self);
		out_cut(&f->path, len);
	}
	return !f->env->out->error && !f->path.error && !f->name.error;
}

static bool folded_leave(void *self, uint32_t id, size_t depth)
{
	struct flame *f = self;

	(void)id;
	if (depth <= FOLDED_DEPTH)
		out_cut(&f->path, f->lengths[depth]);
	return true;
}

static bool flame_folded(struct flame *f)
{
	static const struct tree_visit visit = { folded_enter, folded_leave };
	bool good;

	out_to_memory(&f->path);
	out_to_memory(&f->name);
	good = tree_walk(f->tree, &visit, f) || f->env->out->error;
	out_free(&f->path);
	out_free(&f->name);
	mem_free(f->lengths);
	return good;
}

static bool flame_weigh(struct flame *f)
{
	const struct tree *t = f->tree;

	f->weights = mem_array(t->n, sizeof(*f->weights));
	if (!f->weights)
		return false;
	for (size_t i = t->n; i-- > 1;) {
		f->weights[i] += t->nodes[i].self;
		f->weights[t->nodes[i].parent] += f->weights[i];
	}
	return true;
}

static enum spur_status flame_show(struct flame *f)
{
	const struct flame_options *own = flame_options(f->env);
	const char *form = own->format ? own->format : "folded";
	bool good = true;

	f->tree = &f->all;
	if (own->root) {
		f->tree = &f->below;
		good = tree_below(&f->below, &f->all, &f->groups, own->root);
		if (good && f->below.n < 2) {
			pass_note_unnamed(f->env, own->root, NULL);
			return SPUR_WARN;
		}
	}
	good = good &&
	       tree_sort(own->root ? &f->below : &f->all, &f->groups, TREE_BY_NAME, false) &&
	       flame_weigh(f);
	if (good && strcmp(form, "svg") == 0) {
		const struct flame_svg svg = { .name = f->env->trace->path,
					       .groups = &f->groups,
					       .tree = f->tree,
					       .weights = f->weights,
					       .root = own->root };

		good = flame_svg_write(&svg, f->env->out);
	} else if (good) {
		good = flame_folded(f);
	}
	return good ? SPUR_OK : err_nomem(f->env->err);
}

static enum spur_status flame_run(struct pass_env *env)
{
	struct flame f = { .env = env, .groups = { .trace = env->trace } };
	const char *form = flame_options(env)->format ? flame_options(env)->format : "folded";
	enum spur_status st;

	if (strcmp(form, "folded") != 0 && strcmp(form, "svg") != 0)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--format: expected folded or svg, found \"%s\"", form);
	st = tree_collect(env, &f.groups, &f.all);
	if (st == SPUR_OK)
		st = flame_show(&f);
	if (st == SPUR_OK && env->filter && f.all.n < 2)
		st = SPUR_WARN;
	mem_free(f.weights);
	tree_free(&f.all);
	tree_free(&f.below);
	groups_free(&f.groups);
	return st;
}

static enum pass_store flame_takes_store(const struct pass_env *env)
{
	(void)env;
	return PASS_STORE;
}

const struct spur_pass spur_pass_flame = {
	.takes_store = flame_takes_store,
	.name = "flame",
	.analysis = true,
	.options_size = sizeof(struct flame_options),
	.run = flame_run,
};
