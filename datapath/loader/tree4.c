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

#include "node4.h"

#define COVERS_MAX 34
#define SPARSE_CHANGES 12 /* at once; more make ordinary nodes anyway */

/* Changes that hold for a whole region: nested, so at most one per length. */
struct covers {
	const struct weir_change4 *change[COVERS_MAX];
	uint32_t count;
};

struct slice {
	const struct weir_change4 *next, *end;
};

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

static uint32_t change_entry(struct weir_edit *edit, uint32_t entry, struct covers *covers,
			     struct slice inner, uint32_t start, uint32_t shift);

/* A node, or a leaf that has to become one, of 256 regions of 2^shift addresses. */
static uint32_t change_node(struct weir_edit *edit, uint32_t entry, struct covers *covers, struct slice inner,
			    uint32_t start, uint32_t shift)
{
	uint32_t children[CHILDREN], outer = covers->count;

	weir_node_decode(edit->tree, entry, shift, children);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		uint32_t child = start + (i << shift);

		advance(covers, outer, &inner, child, shift);
		children[i] = change_entry(edit, children[i], covers, slice_within(&inner, child, shift),
					   child, shift);
	}
	covers->count = outer;
	return weir_node_encode(edit, children, shift, entry);
}

static uint32_t change_entry(struct weir_edit *edit, uint32_t entry, struct covers *covers,
			     struct slice inner, uint32_t start, uint32_t shift)
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

/* Where a leaf may change within the 65,536 addresses: runs that begin, changes that begin and end. */
static uint32_t boundaries(const struct weir_v4_unit *sparse, struct slice inner, uint32_t start,
			   uint32_t *places)
{
	uint32_t count = 0, kept = 0;

	for (uint32_t run = 0; run < WEIR_V4_SPARSE_RUNS; run++)
		places[count++] = sparse->begins[run];
	for (; inner.next < inner.end; inner.next++) {
		places[count++] = inner.next->address - start;
		if (change_end(inner.next) - start < 65536)
			places[count++] = change_end(inner.next) - start;
	}
	for (uint32_t i = 0; i < count; i++) { /* insertion sort, each once */
		uint32_t place = places[i], at = kept;

		while (at > 0 && places[at - 1] > place)
			at--;
		if (at > 0 && places[at - 1] == place)
			continue;
		memmove(&places[at + 1], &places[at], (kept - at) * sizeof(*places));
		places[at] = place;
		kept++;
	}
	return kept;
}

static uint32_t change_leaf_at(uint32_t leaf, const struct covers *covers, struct slice inner,
			       uint32_t address)
{
	leaf = change_leaf(leaf, covers);
	for (; inner.next < inner.end; inner.next++) {
		struct covers one = { { inner.next }, 1 };

		if (inner.next->address <= address && address < change_end(inner.next))
			leaf = change_leaf(leaf, &one);
	}
	return leaf;
}

/* A leaf or sparse node, changed by few prefixes. False when the result has more runs than one unit holds. */
static bool change_sparse(struct weir_edit *edit, uint32_t *entry, const struct covers *covers,
			  struct slice inner, uint32_t start)
{
	struct weir_v4_unit before = { .runs = { *entry } }, after = {};
	uint32_t places[WEIR_V4_SPARSE_RUNS + 2 * SPARSE_CHANGES], run = 0, count = 0, total;

	if (inner.end - inner.next > SPARSE_CHANGES)
		return false;
	if (*entry & WEIR_V4_NODE)
		before = *weir_node_first(edit->tree, *entry);
	total = boundaries(&before, inner, start, places);
	for (uint32_t i = 0; i < total; i++) {
		uint32_t leaf;

		run = *entry & WEIR_V4_NODE ? weir_sparse_run(&before, run, places[i]) : 0;
		leaf = change_leaf_at(before.runs[run], covers, inner, start + places[i]);
		if (count && after.runs[count - 1] == leaf)
			continue;
		if (count == WEIR_V4_SPARSE_RUNS)
			return false;
		after.begins[count] = places[i];
		after.runs[count++] = leaf;
	}
	*entry = weir_sparse_encode(edit, &after, count, *entry);
	return true;
}

/* What is below one entry of the first level. Lone prefixes are kept sparse; crowds become ordinary nodes. */
static uint32_t change_root(struct weir_edit *edit, uint32_t entry, struct covers *covers, struct slice inner,
			    uint32_t start)
{
	uint32_t wide = entry;

	if (entry & WEIR_V4_NODE && !(entry & WEIR_V4_SPARSE))
		return change_entry(edit, entry, covers, inner, start, 16);
	if (change_sparse(edit, &entry, covers, inner, start))
		return entry;
	if (entry & WEIR_V4_NODE)
		wide = weir_sparse_expand(edit, entry);
	wide = edit->error ? wide : change_entry(edit, wide, covers, inner, start, 16);
	weir_note_replaced(edit, entry);
	return wide;
}

static void change_domain(struct weir_edit *edit, uint32_t domain, struct slice slice, bool afresh)
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
		entry = change_root(edit, entry, &covers, slice_within(&slice, start, 16), start);
		weir_note_store(edit, &root[i], entry);
	}
}

/*
 * `afresh` forgets the old tree whole: all its units are free after the grace period. Which they are, the tree is
 * not asked: it may be damaged. Nothing is retired before (the caller waited for a grace period).
 */
static void retire_all(struct weir_edit *edit)
{
	struct weir_tree *tree = edit->tree;
	uint32_t unit = tree->domains * WEIR_V4_ROOT_UNITS, end;

	for (tree->used = unit; unit < tree->count; unit = end) {
		struct weir_span *span;

		for (end = unit; end < tree->count && tree->state[end]; end++)
			;
		if (end == unit) {
			end++;
			continue;
		}
		tree->used += end - unit;
		span = weir_list_add(&edit->replaced, sizeof(*span));
		if (span)
			*span = (struct weir_span){ unit, end - unit };
		else
			edit->error = -ENOMEM;
	}
}

void weir_tree_forget(struct weir_tree *tree)
{
	uint32_t roots = tree->domains * WEIR_V4_ROOT_UNITS;

	memset(tree->state + roots, 0, tree->count - roots);
	tree->used = tree->next = roots;
	tree->retired.count = 0;
}

static void commit(struct weir_edit *edit)
{
	struct weir_span *fresh = edit->fresh.items, *replaced = edit->replaced.items, *retired;
	struct weir_store *store = edit->stores.items;

	for (size_t i = 0; i < edit->stores.count; i++) {
		weir_touch(edit->tree->watched, store[i].place, sizeof(*store[i].place));
		weir_publish(store[i].place, store[i].value);
	}
	for (size_t i = 0; i < edit->fresh.count; i++)
		memset(&edit->tree->state[fresh[i].unit], UNIT_USED, fresh[i].units);
	for (size_t i = 0; i < edit->replaced.count; i++) {
		retired = weir_list_add(&edit->tree->retired, sizeof(*retired));
		if (retired) /* else these units are lost until the next open */
			*retired = replaced[i];
	}
}

static void abandon(struct weir_edit *edit)
{
	struct weir_span *fresh = edit->fresh.items;

	for (size_t i = 0; i < edit->fresh.count; i++)
		weir_span_release(edit->tree, &fresh[i]);
}

int weir_tree_change(struct weir_tree *tree, const struct weir_change4 *changes, size_t count, bool afresh)
{
	struct weir_edit edit = { .tree = tree };
	struct slice slice = { changes, changes };

	if (afresh)
		retire_all(&edit);
	for (uint32_t domain = 0; domain < tree->domains && !edit.error; domain++) {
		while (slice.end < changes + count && slice.end->domain == domain)
			slice.end++;
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
		weir_span_release(tree, &retired[i]);
	tree->retired.count = 0;
}

/* Mark what is in use below an entry; an entry that points outside is another program's damage. */
static int mark_used(struct weir_tree *tree, uint32_t entry, int depth)
{
	uint32_t children[CHILDREN], unit = entry & WEIR_V4_UNIT, units;
	int error = 0;

	if (!(entry & WEIR_V4_NODE))
		return 0;
	if (depth == 2 || !weir_node_is_inside(tree, entry, units = weir_node_units(tree, entry)))
		return weir_fail(EPROTO, "the pinned IPv4 tree is damaged at unit %u", unit);
	memset(&tree->state[unit], UNIT_USED, units);
	tree->used += units;
	if (entry & WEIR_V4_SPARSE)
		return 0;
	weir_node_decode(tree, entry, depth ? LEVEL_LAST : LEVEL_UPPER, children);
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
	const struct weir_v4_unit *first = weir_node_first(tree, entry);
	uint32_t word = index;

	if (!(entry & WEIR_V4_PLAIN)) {
		uint64_t starts = first->starts[index / 64] & ~0ULL >> (63 - index % 64);

		word = WEIR_V4_RUNS_AT - 1 + first->before[index / 64] + __builtin_popcountll(starts);
	}
	return weir_node_is_inside(tree, entry, word / WEIR_V4_UNIT_WORDS + 1) ? first->word[word] : 0;
}

uint32_t weir_tree_lookup(const struct weir_tree *tree, uint32_t domain, uint32_t address)
{
	uint32_t entry = tree->units[domain * WEIR_V4_ROOT_UNITS].word[address >> 16];

	if (entry & WEIR_V4_NODE && entry & WEIR_V4_SPARSE) {
		const struct weir_v4_unit *sparse = weir_node_first(tree, entry);

		return sparse->runs[weir_sparse_run(sparse, 0, address & 0xffff)] & WEIR_V4_SLOT;
	}
	if (entry & WEIR_V4_NODE)
		entry = child_of(tree, entry, address >> 8 & 0xff);
	if (entry & WEIR_V4_NODE)
		entry = child_of(tree, entry, address & 0xff);
	return entry & WEIR_V4_NODE ? 0 : weir_leaf_slot(entry, address);
}
