// SPDX-License-Identifier: Apache-2.0
/*
 * The forms of a node of the IPv4 tree (layout: weir/abi.h): plain, packed, and sparse.
 *
 * A change builds nodes in units that packets do not read yet ("fresh"), and only notes the stores into
 * nodes that they do read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node4.h"

#define PLAIN_UNITS (CHILDREN / WEIR_V4_UNIT_WORDS)
#define COUNTED_LEAST 4 /* addresses in turn; fewer are as many runs */
#define CROWD 28 /* prefixes: two units for each pay for a plain node above them */

const struct weir_v4_unit *weir_node_first(const struct weir_tree *tree, uint32_t entry)
{
	static const struct weir_v4_unit none;

	return weir_node_is_inside(tree, entry, 1) ? &tree->units[entry & WEIR_V4_UNIT] : &none;
}

static uint32_t *node_words(const struct weir_tree *tree, uint32_t entry)
{
	return tree->units[entry & WEIR_V4_UNIT].word;
}

static uint32_t run_count(const struct weir_v4_unit *first)
{
	return first->before[3] + __builtin_popcountll(first->starts[3]);
}

static uint32_t units_of(uint32_t runs)
{
	return (WEIR_V4_RUNS_AT + runs + WEIR_V4_UNIT_WORDS - 1) / WEIR_V4_UNIT_WORDS;
}

uint32_t weir_node_units(const struct weir_tree *tree, uint32_t entry)
{
	if (entry & WEIR_V4_PLAIN)
		return PLAIN_UNITS;
	if (entry & WEIR_V4_SPARSE)
		return 1;
	return units_of(run_count(weir_node_first(tree, entry)));
}

static bool leaf_counts(uint32_t entry)
{
	return !(entry & WEIR_V4_NODE) && entry & WEIR_V4_COUNTS;
}

uint32_t weir_leaf_slot(uint32_t leaf, uint32_t address)
{
	if (leaf & WEIR_V4_COUNTS)
		leaf += address & 0xff;
	return leaf & WEIR_V4_SLOT;
}

/* What a leaf is for the one address with this last byte. */
static uint32_t leaf_at(uint32_t leaf, uint32_t last)
{
	return (leaf & ~(WEIR_V4_COUNTS | WEIR_V4_SLOT)) | weir_leaf_slot(leaf, last);
}

/* The leaf of a run of addresses in turn whose first has this last byte and leaf. */
static uint32_t counting_leaf(uint32_t first, uint32_t last)
{
	return (first & ~WEIR_V4_SLOT) | WEIR_V4_COUNTS | ((first - last) & WEIR_V4_SLOT);
}

void weir_node_decode(const struct weir_tree *tree, uint32_t entry, enum weir_level level, uint32_t *children)
{
	const struct weir_v4_unit *first = weir_node_first(tree, entry);
	const uint32_t *words = first->word, *run = words + WEIR_V4_RUNS_AT - 1;
	const uint32_t *end = weir_node_is_inside(tree, entry, 1) ? tree->units[tree->count].word : words;

	if (!(entry & WEIR_V4_NODE)) {
		for (uint32_t i = 0; i < CHILDREN; i++)
			children[i] = leaf_at(entry, i);
		return;
	}
	for (uint32_t i = 0; i < CHILDREN; i++) {
		const uint32_t *child = words + i;

		run += first->starts[i / 64] >> i % 64 & 1;
		if (!(entry & WEIR_V4_PLAIN))
			child = run;
		children[i] = child < end ? *child : 0;
		if (level == LEVEL_LAST && !(entry & WEIR_V4_PLAIN))
			children[i] = leaf_at(children[i], i);
		if (level == LEVEL_LAST && children[i] & WEIR_V4_NODE)
			children[i] = 0;
	}
}

/* Next fit; `state` of every unit of the span becomes `used | fresh`. */
static int allocate(struct weir_edit *edit, uint32_t units, uint32_t *unit)
{
	struct weir_tree *tree = edit->tree;
	uint32_t run = 0, at = tree->next;
	struct weir_span *span;

	for (uint32_t tried = 0; tried < tree->count + units; tried++, at++) {
		if (at >= tree->count) {
			at = 0;
			run = 0;
		}
		run = tree->state[at] ? 0 : run + 1;
		if (run < units)
			continue;
		span = weir_list_add(&edit->fresh, sizeof(*span));
		if (!span)
			return -ENOMEM;
		*unit = at + 1 - units;
		*span = (struct weir_span){ *unit, units };
		memset(&tree->state[*unit], UNIT_USED | UNIT_FRESH, units);
		weir_touch(tree->watched, &tree->units[*unit], units * sizeof(*tree->units));
		tree->used += units;
		tree->next = at + 1;
		return 0;
	}
	return -ENOSPC;
}

void weir_span_release(struct weir_tree *tree, const struct weir_span *span)
{
	memset(&tree->state[span->unit], 0, span->units);
	tree->used -= span->units;
}

static bool is_fresh(const struct weir_tree *tree, uint32_t unit)
{
	return tree->state[unit] & UNIT_FRESH;
}

void weir_note_store(struct weir_edit *edit, uint32_t *place, uint32_t value)
{
	uint32_t unit = (place - edit->tree->units->word) / WEIR_V4_UNIT_WORDS;
	struct weir_store *store;

	if (is_fresh(edit->tree, unit)) {
		*place = value;
		return;
	}
	if (*place == value)
		return;
	store = weir_list_add(&edit->stores, sizeof(*store));
	if (store)
		*store = (struct weir_store){ place, value };
	else
		edit->error = -ENOMEM;
}

/* A fresh node that is replaced by another was never seen: it is free at once. */
static void drop_fresh(struct weir_edit *edit, uint32_t unit)
{
	struct weir_span *spans = edit->fresh.items;

	for (size_t i = edit->fresh.count; i-- > 0;) {
		if (spans[i].unit != unit || !spans[i].units)
			continue;
		weir_span_release(edit->tree, &spans[i]);
		spans[i].units = 0;
		return;
	}
}

void weir_note_replaced(struct weir_edit *edit, uint32_t entry)
{
	struct weir_span *span;

	if (!(entry & WEIR_V4_NODE) ||
	    !weir_node_is_inside(edit->tree, entry, weir_node_units(edit->tree, entry)))
		return;
	if (is_fresh(edit->tree, entry & WEIR_V4_UNIT)) {
		drop_fresh(edit, entry & WEIR_V4_UNIT);
		return;
	}
	span = weir_list_add(&edit->replaced, sizeof(*span));
	if (span)
		*span = (struct weir_span){ entry & WEIR_V4_UNIT, weir_node_units(edit->tree, entry) };
	else
		edit->error = -ENOMEM;
}

/* A node's runs of equal children, and of addresses in turn with slots in turn. */
struct runs {
	struct weir_v4_unit header;
	uint32_t leaf[CHILDREN];
	uint32_t count;
	uint32_t counted; /* addresses in runs that count */
};

/* How many of the first children, `left` in all, are one run. */
static uint32_t run_length(const uint32_t *children, uint32_t left, enum weir_level level)
{
	uint32_t equal = 1, counted = 1;

	while (equal < left && children[equal] == children[0])
		equal++;
	if (level == LEVEL_LAST && leaf_length(children[0]) == HOST_LENGTH)
		while (counted < left && children[counted] == children[0] + counted)
			counted++;
	return counted < COUNTED_LEAST ? equal : counted;
}

static void pack(const uint32_t *children, enum weir_level level, struct runs *runs)
{
	uint32_t end = 0;

	memset(&runs->header, 0, sizeof(runs->header));
	runs->count = runs->counted = 0;
	for (uint32_t i = 0; i < CHILDREN; i++) {
		uint32_t leaf = children[i];

		if (i % 64 == 0)
			runs->header.before[i / 64] = runs->count;
		if (i < end)
			continue;
		end = i + run_length(children + i, CHILDREN - i, level);
		if (end > i + 1 && children[i + 1] != leaf) {
			leaf = counting_leaf(leaf, i);
			runs->counted += end - i;
		}
		runs->header.starts[i / 64] |= 1ULL << i % 64;
		runs->leaf[runs->count++] = leaf;
	}
}

/*
 * Many runs; or a child that stands for 28 prefixes at least and is read as fast as can be: a lookup that
 * passes two nodes meets one map of runs at most, which is what costs most of it. So many prefixes pay for the
 * node: the tree keeps its bound.
 */
static bool wants_plain(const uint32_t *children, uint32_t count)
{
	if (count > WEIR_V4_PACKED_MAX)
		return true;
	for (int i = 0; i < CHILDREN; i++) {
		if (leaf_counts(children[i]))
			return true;
		if (children[i] & WEIR_V4_NODE && children[i] & (WEIR_V4_PLAIN | WEIR_V4_CROWD))
			return true;
	}
	return false;
}

static uint32_t kind_of(const uint32_t *children, const struct runs *runs)
{
	if (wants_plain(children, runs->count))
		return WEIR_V4_NODE | WEIR_V4_PLAIN;
	return WEIR_V4_NODE | (runs->counted >= CROWD ? WEIR_V4_CROWD : 0);
}

/* Same shape as before: only runs or children whose value changed are stored. */
static bool store_in_place(struct weir_edit *edit, uint32_t entry, uint32_t kind, const uint32_t *children,
			   const struct runs *runs)
{
	const uint32_t *values = kind & WEIR_V4_PLAIN ? children : runs->leaf;
	uint32_t count = kind & WEIR_V4_PLAIN ? CHILDREN : runs->count, *words;

	if ((entry & ~WEIR_V4_UNIT) != kind ||
	    !weir_node_is_inside(edit->tree, entry, kind & WEIR_V4_PLAIN ? PLAIN_UNITS : units_of(count)))
		return false;
	words = node_words(edit->tree, entry);
	if (!(kind & WEIR_V4_PLAIN)) {
		if (memcmp(words, runs->header.starts, sizeof(runs->header.starts)))
			return false;
		words += WEIR_V4_RUNS_AT;
	}
	for (uint32_t i = 0; i < count; i++)
		weir_note_store(edit, &words[i], values[i]);
	return true;
}

uint32_t weir_node_encode(struct weir_edit *edit, const uint32_t *children, enum weir_level level,
			  uint32_t old)
{
	uint32_t kind, units, unit, *words;
	struct runs runs;

	pack(children, level, &runs);
	/* A leaf that counts stands for 256 addresses, no more: not for all of an upper node. */
	if (runs.count == 1 && !(children[0] & WEIR_V4_NODE) &&
	    (level == LEVEL_LAST || !leaf_counts(children[0]))) {
		weir_note_replaced(edit, old);
		return runs.leaf[0];
	}
	kind = kind_of(children, &runs);
	if (store_in_place(edit, old, kind, children, &runs))
		return old;
	weir_note_replaced(edit, old);
	units = kind & WEIR_V4_PLAIN ? PLAIN_UNITS : units_of(runs.count);
	edit->error = edit->error ?: allocate(edit, units, &unit);
	if (edit->error)
		return old;
	words = edit->tree->units[unit].word;
	if (kind & WEIR_V4_PLAIN) {
		memcpy(words, children, CHILDREN * sizeof(*children));
		return kind | unit;
	}
	memcpy(words, &runs.header, WEIR_V4_RUNS_AT * sizeof(*words));
	memcpy(words + WEIR_V4_RUNS_AT, runs.leaf, runs.count * sizeof(*runs.leaf));
	return kind | unit;
}

uint32_t weir_sparse_run(const struct weir_v4_unit *sparse, uint32_t run, uint32_t low)
{
	while (run + 1 < WEIR_V4_SPARSE_RUNS && sparse->begins[run + 1] <= low)
		run++;
	return run;
}

uint32_t weir_sparse_expand(struct weir_edit *edit, uint32_t entry)
{
	const struct weir_v4_unit *sparse = weir_node_first(edit->tree, entry);
	uint32_t children[CHILDREN], inner[CHILDREN], run = 0;

	for (uint32_t child = 0; child < CHILDREN; child++) {
		uint32_t start = child * CHILDREN;

		run = weir_sparse_run(sparse, run, start);
		children[child] = sparse->runs[run];
		if (weir_sparse_run(sparse, run, start + CHILDREN - 1) == run)
			continue;
		for (uint32_t i = 0; i < CHILDREN; i++) {
			run = weir_sparse_run(sparse, run, start + i);
			inner[i] = sparse->runs[run];
		}
		children[child] = weir_node_encode(edit, inner, LEVEL_LAST, 0);
	}
	return weir_node_encode(edit, children, LEVEL_UPPER, 0);
}

static bool same_begins(const struct weir_v4_unit *a, const struct weir_v4_unit *b)
{
	return !memcmp(a->begins, b->begins, sizeof(a->begins));
}

uint32_t weir_sparse_encode(struct weir_edit *edit, struct weir_v4_unit *sparse, uint32_t count, uint32_t old)
{
	uint32_t unit, *words;

	if (count == 1) {
		weir_note_replaced(edit, old);
		return sparse->runs[0];
	}
	for (; count < WEIR_V4_SPARSE_RUNS; count++) {
		sparse->begins[count] = 0xffff;
		sparse->runs[count] = sparse->runs[count - 1];
	}
	if (old & WEIR_V4_NODE && weir_node_is_inside(edit->tree, old, 1) &&
	    same_begins(sparse, weir_node_first(edit->tree, old))) {
		words = edit->tree->units[old & WEIR_V4_UNIT].runs;
		for (uint32_t i = 0; i < WEIR_V4_SPARSE_RUNS; i++)
			weir_note_store(edit, &words[i], sparse->runs[i]);
		return old;
	}
	weir_note_replaced(edit, old);
	edit->error = edit->error ?: allocate(edit, 1, &unit);
	if (edit->error)
		return old;
	edit->tree->units[unit] = *sparse;
	return WEIR_V4_NODE | WEIR_V4_SPARSE | unit;
}
