// SPDX-License-Identifier: Apache-2.0
/*
 * The IPv4 tree that packets are looked up in (layout: weir/abi.h), changed while they are.
 *
 * A leaf carries the length of the prefix it stands for, so a change needs no index of prefixes: adding
 * P overwrites the leaves in P's range that are no longer than P; removing P puts the prefix that
 * covers P in place of the leaves that have exactly P's length (as DIR-24-8 tables do it).
 *
 * A change first builds what is new in units nobody reads and notes the stores that will publish it.
 * Only when all of it fits are the stores done: each makes one node's change visible at once. Nodes
 * that were replaced are retired, and reused after a grace period.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define CHILDREN 256
#define UNIT_USED 1
#define UNIT_FRESH 2 /* of the change in progress */
#define PLAIN_UNITS (CHILDREN / WEIR_V4_UNIT_WORDS)
#define COVERS_MAX 34

struct weir_span {
	uint32_t unit, units;
};

struct weir_store {
	uint32_t *place;
	uint32_t value;
};

struct edit {
	struct weir_tree *tree;
	struct weir_list fresh; /* struct weir_span */
	struct weir_list replaced; /* struct weir_span */
	struct weir_list stores; /* struct weir_store */
	int error;
};

/* Changes that hold for a whole region: nested, so at most one per length. */
struct covers {
	const struct weir_change4 *change[COVERS_MAX];
	uint32_t count;
};

struct slice {
	const struct weir_change4 *next, *end;
};

static uint32_t *node_words(const struct weir_tree *tree, uint32_t entry)
{
	return tree->units[entry & WEIR_V4_UNIT].word;
}

static uint32_t run_count(const struct weir_v4_unit *first)
{
	return first->before[3] + __builtin_popcountll(first->starts[3]);
}

static uint32_t node_units(const struct weir_tree *tree, uint32_t entry)
{
	uint32_t words;

	if (entry & WEIR_V4_PLAIN)
		return PLAIN_UNITS;
	words = WEIR_V4_RUNS_AT + run_count(&tree->units[entry & WEIR_V4_UNIT]);
	return (words + WEIR_V4_UNIT_WORDS - 1) / WEIR_V4_UNIT_WORDS;
}

static void decode(const struct weir_tree *tree, uint32_t entry, uint32_t *children)
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
static int allocate(struct edit *edit, uint32_t units, uint32_t *unit)
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

static void release(struct weir_tree *tree, const struct weir_span *span)
{
	memset(&tree->state[span->unit], 0, span->units);
	tree->used -= span->units;
}

static void note_store(struct edit *edit, uint32_t *place, uint32_t value)
{
	struct weir_store *store;

	if (*place == value)
		return;
	store = weir_list_add(&edit->stores, sizeof(*store));
	if (store)
		*store = (struct weir_store){ place, value };
	else
		edit->error = -ENOMEM;
}

static void note_replaced(struct edit *edit, uint32_t entry)
{
	struct weir_span *span;

	if (!(entry & WEIR_V4_NODE))
		return;
	span = weir_list_add(&edit->replaced, sizeof(*span));
	if (span)
		*span = (struct weir_span){ entry & WEIR_V4_UNIT, node_units(edit->tree, entry) };
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

/* Same shape as before: only runs or children whose value changed are stored. */
static bool store_in_place(struct edit *edit, uint32_t entry, const struct weir_v4_unit *header,
			   const uint32_t *values, uint32_t count)
{
	bool plain = count > WEIR_V4_PACKED_MAX;
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
		note_store(edit, &words[i], values[i]);
	return true;
}

/* Returns the entry to put in the parent. */
static uint32_t encode(struct edit *edit, const uint32_t *children, uint32_t old)
{
	uint32_t runs[CHILDREN], count, unit, *words;
	struct weir_v4_unit header;

	count = pack(children, &header, runs);
	if (count == 1 && !(children[0] & WEIR_V4_NODE)) {
		note_replaced(edit, old);
		return children[0];
	}
	if (store_in_place(edit, old, &header, count > WEIR_V4_PACKED_MAX ? children : runs, count))
		return old;
	note_replaced(edit, old);
	if (count > WEIR_V4_PACKED_MAX) {
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

static uint32_t leaf_length(uint32_t leaf)
{
	return leaf >> WEIR_V4_DEPTH_SHIFT; /* plus one; 0 = nothing */
}

static uint32_t change_leaf(uint32_t leaf, const struct covers *covers)
{
	for (uint32_t i = 0; i < covers->count; i++) {
		const struct weir_change4 *change = covers->change[i];
		uint32_t length = change->length + 1;

		if (change->remove ? leaf_length(leaf) == length : leaf_length(leaf) <= length)
			leaf = change->leaf;
	}
	return leaf;
}

static uint64_t change_end(const struct weir_change4 *change)
{
	return change->address + (1ULL << (32 - change->length));
}

/* Bring covers and slice to the region [start, start + 2^shift): drop what ended, take what begins. */
static void advance(struct covers *covers, uint32_t outer, struct slice *slice, uint32_t start,
		    uint32_t shift)
{
	while (covers->count > outer && change_end(covers->change[covers->count - 1]) <= start)
		covers->count--;
	while (slice->next < slice->end && slice->next->address == start && slice->next->length <= 32 - shift)
		covers->change[covers->count++] = slice->next++;
}

static struct slice slice_within(struct slice *slice, uint32_t start, uint32_t shift)
{
	struct slice inner = { slice->next, slice->next };

	while (inner.end < slice->end && inner.end->address - start < 1ULL << shift)
		inner.end++;
	slice->next = inner.end;
	return inner;
}

static uint32_t change_entry(struct edit *edit, uint32_t entry, struct covers *covers, struct slice inner,
			     uint32_t start, uint32_t shift);

/* A node, or a leaf that has to become one, of 256 regions of 2^shift addresses. */
static uint32_t change_node(struct edit *edit, uint32_t entry, struct covers *covers, struct slice inner,
			    uint32_t start, uint32_t shift)
{
	uint32_t children[CHILDREN], outer = covers->count;

	decode(edit->tree, entry, children);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		uint32_t child = start + (i << shift);

		advance(covers, outer, &inner, child, shift);
		children[i] = change_entry(edit, children[i], covers, slice_within(&inner, child, shift),
					   child, shift);
	}
	covers->count = outer;
	return encode(edit, children, entry);
}

static uint32_t change_entry(struct edit *edit, uint32_t entry, struct covers *covers, struct slice inner,
			     uint32_t start, uint32_t shift)
{
	if (inner.next == inner.end) {
		if (!(entry & WEIR_V4_NODE))
			return change_leaf(entry, covers);
		if (!covers->count)
			return entry;
	}
	if (!(entry & WEIR_V4_NODE))
		entry = change_leaf(entry, covers);
	return change_node(edit, entry, covers, inner, start, shift - 8);
}

static void change_domain(struct edit *edit, uint32_t domain, struct slice slice, bool afresh)
{
	uint32_t *root = edit->tree->units[domain * WEIR_V4_ROOT_UNITS].word;
	struct covers covers = { .count = 0 };

	for (uint32_t i = 0; i < 65536 && !edit->error; i++) {
		uint32_t start = i << 16, entry = afresh ? 0 : root[i];

		advance(&covers, 0, &slice, start, 16);
		if (!covers.count && !afresh) {
			if (slice.next == slice.end)
				break;
			if (slice.next->address >> 16 > i) { /* nothing until there */
				i = (slice.next->address >> 16) - 1;
				continue;
			}
		}
		entry = change_entry(edit, entry, &covers, slice_within(&slice, start, 16), start, 16);
		if (afresh)
			note_replaced(edit, root[i]);
		note_store(edit, &root[i], entry);
	}
}

/* `afresh` forgets the old tree whole: what its roots hold is free after the grace period. */
static void retire_below(struct edit *edit, uint32_t domain)
{
	uint32_t *root = edit->tree->units[domain * WEIR_V4_ROOT_UNITS].word, children[CHILDREN];

	for (uint32_t i = 0; i < 65536; i++) {
		if (!(root[i] & WEIR_V4_NODE))
			continue;
		decode(edit->tree, root[i], children);
		for (int child = 0; child < CHILDREN; child++)
			if (!child || children[child] != children[child - 1])
				note_replaced(edit, children[child]);
	}
}

static void commit(struct edit *edit)
{
	struct weir_span *fresh = edit->fresh.items, *replaced = edit->replaced.items, *retired;
	struct weir_store *store = edit->stores.items;

	for (size_t i = 0; i < edit->stores.count; i++)
		weir_publish(store[i].place, store[i].value);
	for (size_t i = 0; i < edit->fresh.count; i++)
		memset(&edit->tree->state[fresh[i].unit], UNIT_USED, fresh[i].units);
	for (size_t i = 0; i < edit->replaced.count; i++) {
		retired = weir_list_add(&edit->tree->retired, sizeof(*retired));
		if (retired) /* else these units are lost until the next open */
			*retired = replaced[i];
	}
}

static void abandon(struct edit *edit)
{
	struct weir_span *fresh = edit->fresh.items;

	for (size_t i = 0; i < edit->fresh.count; i++)
		release(edit->tree, &fresh[i]);
}

int weir_tree_change(struct weir_tree *tree, const struct weir_change4 *changes, size_t count, bool afresh)
{
	struct edit edit = { .tree = tree };
	struct slice slice = { changes, changes };

	for (uint32_t domain = 0; domain < tree->domains && !edit.error; domain++) {
		while (slice.end < changes + count && slice.end->domain == domain)
			slice.end++;
		if (afresh)
			retire_below(&edit, domain);
		if (afresh || slice.next < slice.end)
			change_domain(&edit, domain, slice, afresh);
		slice.next = slice.end;
	}
	if (edit.error)
		abandon(&edit);
	else
		commit(&edit);
	weir_list_free(&edit.fresh);
	weir_list_free(&edit.replaced);
	weir_list_free(&edit.stores);
	return edit.error;
}

void weir_tree_after_grace(struct weir_tree *tree)
{
	struct weir_span *retired = tree->retired.items;

	for (size_t i = 0; i < tree->retired.count; i++)
		release(tree, &retired[i]);
	tree->retired.count = 0;
}

/* Mark what is in use below an entry; an entry that points outside is another program's damage. */
static int mark_used(struct weir_tree *tree, uint32_t entry, int depth)
{
	uint32_t children[CHILDREN], unit = entry & WEIR_V4_UNIT, units;
	int error = 0;

	if (!(entry & WEIR_V4_NODE))
		return 0;
	if (depth == 2 || unit >= tree->count || unit + (units = node_units(tree, entry)) > tree->count)
		return weir_fail(EPROTO, "the pinned IPv4 tree is damaged at unit %u", unit);
	memset(&tree->state[unit], UNIT_USED, units);
	tree->used += units;
	decode(tree, entry, children);
	for (int i = 0; i < CHILDREN && !error; i++)
		if (!i || children[i] != children[i - 1])
			error = mark_used(tree, children[i], depth + 1);
	return error;
}

int weir_tree_open(struct weir_tree *tree, struct weir_v4_unit *units, uint32_t count, uint32_t domains)
{
	uint32_t roots = domains * WEIR_V4_ROOT_UNITS;
	int error = 0;

	tree->units = units;
	tree->count = count;
	tree->domains = domains;
	tree->next = roots;
	tree->state = calloc(count, 1);
	if (!tree->state)
		return weir_fail(ENOMEM, "no memory for the state of %u units", count);
	memset(tree->state, UNIT_USED, roots);
	tree->used = roots;
	for (uint32_t i = 0; i < roots * WEIR_V4_UNIT_WORDS && !error; i++)
		error = mark_used(tree, units[i / WEIR_V4_UNIT_WORDS].word[i % WEIR_V4_UNIT_WORDS], 0);
	return error;
}

void weir_tree_close(struct weir_tree *tree)
{
	free(tree->state);
	weir_list_free(&tree->retired);
}

static uint32_t child_of(const struct weir_tree *tree, uint32_t entry, uint32_t index)
{
	const struct weir_v4_unit *first = &tree->units[entry & WEIR_V4_UNIT];
	uint64_t starts;

	if (entry & WEIR_V4_PLAIN)
		return first->word[index];
	starts = first->starts[index / 64] & ~0ULL >> (63 - index % 64);
	return first->word[WEIR_V4_RUNS_AT - 1 + first->before[index / 64] + __builtin_popcountll(starts)];
}

uint32_t weir_tree_lookup(const struct weir_tree *tree, uint32_t domain, uint32_t address)
{
	uint32_t entry = tree->units[domain * WEIR_V4_ROOT_UNITS].word[address >> 16];

	if (entry & WEIR_V4_NODE)
		entry = child_of(tree, entry, address >> 8 & 0xff);
	if (entry & WEIR_V4_NODE)
		entry = child_of(tree, entry, address & 0xff);
	return entry & WEIR_V4_SLOT;
}
