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

#include "tree4.h"

#define PLAIN_UNITS (CHILDREN / WEIR_V4_UNIT_WORDS)

static uint32_t *node_words(const struct weir_tree *tree, uint32_t entry)
{
	return tree->units[entry & WEIR_V4_UNIT].word;
}

static uint32_t run_count(const struct weir_v4_unit *first)
{
	return first->before[3] + __builtin_popcountll(first->starts[3]);
}

uint32_t weir_node_units(const struct weir_tree *tree, uint32_t entry)
{
	uint32_t words;

	if (entry & WEIR_V4_PLAIN)
		return PLAIN_UNITS;
	if (entry & WEIR_V4_SPARSE)
		return 1;
	words = WEIR_V4_RUNS_AT + run_count(&tree->units[entry & WEIR_V4_UNIT]);
	return (words + WEIR_V4_UNIT_WORDS - 1) / WEIR_V4_UNIT_WORDS;
}

void weir_node_decode(const struct weir_tree *tree, uint32_t entry, uint32_t *children)
{
	const struct weir_v4_unit *first;
	const uint32_t *words, *run;

	if (!(entry & WEIR_V4_NODE)) {
		for (int i = 0; i < CHILDREN; i++)
			children[i] = entry;
		return;
	}
	words = node_words(tree, entry);
	if (entry & WEIR_V4_PLAIN) {
		memcpy(children, words, CHILDREN * sizeof(*children));
		return;
	}
	first = &tree->units[entry & WEIR_V4_UNIT];
	run = words + WEIR_V4_RUNS_AT - 1;
	for (int i = 0; i < CHILDREN; i++) {
		run += first->starts[i / 64] >> i % 64 & 1;
		children[i] = *run;
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

	if (!(entry & WEIR_V4_NODE))
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

/* The header and runs of a packed node; returns the number of runs. */
static uint32_t pack(const uint32_t *children, struct weir_v4_unit *header, uint32_t *runs)
{
	uint32_t count = 0;

	memset(header, 0, sizeof(*header));
	for (int i = 0; i < CHILDREN; i++) {
		if (i % 64 == 0)
			header->before[i / 64] = count;
		if (i && children[i] == children[i - 1])
			continue;
		header->starts[i / 64] |= 1ULL << i % 64;
		runs[count++] = children[i];
	}
	return count;
}

/*
 * Many runs; or a child that is plain, because a lookup then passes two nodes and the map of runs is what costs
 * most of it. Such a child stands for 28 prefixes at least, so the tree keeps its bound.
 */
static bool wants_plain(const uint32_t *children, uint32_t count)
{
	const uint32_t plain_node = WEIR_V4_NODE | WEIR_V4_PLAIN;

	if (count > WEIR_V4_PACKED_MAX)
		return true;
	for (int i = 0; i < CHILDREN; i++)
		if ((children[i] & plain_node) == plain_node)
			return true;
	return false;
}

/* Same shape as before: only runs or children whose value changed are stored. */
static bool store_in_place(struct weir_edit *edit, uint32_t entry, const struct weir_v4_unit *header,
			   const uint32_t *values, uint32_t count, bool plain)
{
	uint32_t *words;

	if (!(entry & WEIR_V4_NODE) || !!(entry & WEIR_V4_PLAIN) != plain)
		return false;
	words = node_words(edit->tree, entry);
	if (!plain) {
		if (memcmp(words, header->starts, sizeof(header->starts)))
			return false;
		words += WEIR_V4_RUNS_AT;
	}
	for (uint32_t i = 0; i < (plain ? CHILDREN : count); i++)
		weir_note_store(edit, &words[i], values[i]);
	return true;
}

/* Returns the entry to put in the parent. */
uint32_t weir_node_encode(struct weir_edit *edit, const uint32_t *children, uint32_t old)
{
	uint32_t runs[CHILDREN], count, unit, *words;
	struct weir_v4_unit header;
	bool plain;

	count = pack(children, &header, runs);
	if (count == 1 && !(children[0] & WEIR_V4_NODE)) {
		weir_note_replaced(edit, old);
		return children[0];
	}
	plain = wants_plain(children, count);
	if (store_in_place(edit, old, &header, plain ? children : runs, count, plain))
		return old;
	weir_note_replaced(edit, old);
	if (plain) {
		edit->error = edit->error ?: allocate(edit, PLAIN_UNITS, &unit);
		if (edit->error)
			return old;
		memcpy(edit->tree->units[unit].word, children, CHILDREN * sizeof(*children));
		return WEIR_V4_NODE | WEIR_V4_PLAIN | unit;
	}
	edit->error =
		edit->error ?:
			      allocate(edit,
				       (WEIR_V4_RUNS_AT + count + WEIR_V4_UNIT_WORDS - 1) / WEIR_V4_UNIT_WORDS,
				       &unit);
	if (edit->error)
		return old;
	words = edit->tree->units[unit].word;
	memcpy(words, &header, WEIR_V4_RUNS_AT * sizeof(*words));
	memcpy(words + WEIR_V4_RUNS_AT, runs, count * sizeof(*runs));
	return WEIR_V4_NODE | unit;
}

uint32_t weir_sparse_run(const struct weir_v4_unit *sparse, uint32_t run, uint32_t low)
{
	while (run + 1 < WEIR_V4_SPARSE_RUNS && sparse->begins[run + 1] <= low)
		run++;
	return run;
}

uint32_t weir_sparse_expand(struct weir_edit *edit, uint32_t entry)
{
	const struct weir_v4_unit *sparse = &edit->tree->units[entry & WEIR_V4_UNIT];
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
		children[child] = weir_node_encode(edit, inner, 0);
	}
	return weir_node_encode(edit, children, 0);
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
	if (old & WEIR_V4_NODE && same_begins(sparse, &edit->tree->units[old & WEIR_V4_UNIT])) {
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
