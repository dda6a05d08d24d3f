// SPDX-License-Identifier: Apache-2.0
/*
 * A change of prefixes as one step over both families.
 *
 * Order: add to the tables; remove from the v4 table; build and publish the v4 tree; remove from the
 * v6 table. v6 additions count for packets as they are stored, so they come first and removals last
 * (make before break). Whatever fails before the tree is published is undone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "weir/hash.h"

/* What to undo: an entry that was added (`was` FREE), changed (`was` LIVE) or removed (`was` its tag). */
struct undo {
	struct weir_table *table;
	struct weir_prefix *prefix;
	uint32_t was_slot;
	uint32_t was_tag;
};

struct change {
	struct weir *weir;
	struct weir_list undo; /* struct undo */
	struct weir_list v4; /* struct weir_change4 */
	struct weir_list added; /* struct weir_prefix *, to clear WEIR_ENTRY_ADDED */
};

static struct weir_table *table_of(struct weir *weir, const struct weir_prefix_spec *spec)
{
	return &weir->table[spec->family == 6];
}

static uint32_t tag_of(const struct weir_prefix_spec *spec)
{
	return weir_prefix_tag(spec->domain, spec->length);
}

int weir_prefix_check(struct weir *weir, const struct weir_prefix_spec *spec, bool add)
{
	const struct weir_meta *meta = weir_meta(weir);
	uint32_t width = spec->family == 4 ? 32 : 128;
	uint64_t high = weir_mask_high(spec->length), low = weir_mask_low(spec->length);

	if (spec->family != 4 && spec->family != 6)
		return weir_fail(EINVAL, "there is no IP version %u", spec->family);
	if (spec->length > width || spec->domain >= meta->domains)
		return weir_fail(EINVAL, "a prefix length of %u in domain %u is not possible", spec->length,
				 spec->domain);
	if (spec->family == 4) {
		high = weir_mask_high(spec->length) >> 32;
		low = 0;
	}
	if (spec->high & ~high || spec->low & ~low)
		return weir_fail(EINVAL, "a prefix of length %u has host bits set", spec->length);
	if (add && (!spec->slot || spec->slot >= meta->slots))
		return weir_fail(EINVAL, "a prefix cannot point to class slot %u of %u", spec->slot,
				 meta->slots);
	return 0;
}

static int check_all(struct weir *weir, const struct weir_prefix_spec *remove, uint32_t removes,
		     const struct weir_prefix_spec *add, uint32_t adds)
{
	uint32_t more[2] = {};
	int error = 0;

	for (uint32_t i = 0; i < removes && !error; i++) {
		error = weir_prefix_check(weir, &remove[i], false);
		if (!error && !weir_table_find(table_of(weir, &remove[i]), remove[i].high, remove[i].low,
					       tag_of(&remove[i])))
			error = weir_fail(ENOENT, "prefix %u of those to remove is not in the table", i);
	}
	for (uint32_t i = 0; i < adds && !error; i++) {
		error = weir_prefix_check(weir, &add[i], true);
		if (!error)
			more[add[i].family == 6] += !weir_table_find(table_of(weir, &add[i]), add[i].high,
								     add[i].low, tag_of(&add[i]));
	}
	for (int family = 0; family < 2 && !error; family++)
		if (weir->table[family].live + more[family] > weir->table[family].limit)
			error = weir_fail(
				ENOSPC, "the IPv%d table holds %u of at most %u prefixes, %u more do not fit",
				family ? 6 : 4, weir->table[family].live, weir->table[family].limit,
				more[family]);
	return error;
}

static int note_undo(struct change *change, struct weir_table *table, struct weir_prefix *prefix,
		     uint32_t slot, uint32_t tag)
{
	struct undo *undo = weir_list_add(&change->undo, sizeof(*undo));

	if (!undo)
		return weir_fail(ENOMEM, "no memory for a change of prefixes");
	*undo = (struct undo){ table, prefix, slot, tag };
	return 0;
}

static int note_v4(struct change *change, const struct weir_prefix_spec *spec, bool remove)
{
	struct weir_change4 *noted;

	if (spec->family != 4)
		return 0;
	noted = weir_list_add(&change->v4, sizeof(*noted));
	if (!noted)
		return weir_fail(ENOMEM, "no memory for a change of prefixes");
	*noted = (struct weir_change4){ spec->high, spec->domain, spec->length, remove,
					remove ? 0 : weir_leaf(spec->slot, spec->length) };
	return 0;
}

static void slot_store(struct weir_table *table, struct weir_prefix *prefix, uint32_t slot)
{
	weir_touch(table->watched, prefix, sizeof(*prefix));
	weir_publish(&prefix->slot, slot);
}

static int add_one(struct change *change, const struct weir_prefix_spec *spec)
{
	struct weir_table *table = table_of(change->weir, spec);
	struct weir_prefix fresh = {
		.high = spec->high, .low = spec->low, .slot = spec->slot, .tag = tag_of(spec)
	};
	struct weir_prefix *prefix = weir_table_find(table, fresh.high, fresh.low, fresh.tag), **added;
	int error;

	if (prefix) {
		error = note_undo(change, table, prefix, prefix->slot, fresh.tag);
		if (!error)
			slot_store(table, prefix, spec->slot);
	} else {
		prefix = weir_table_insert(table, &fresh);
		if (!prefix) {
			weir_grace(change->weir);
			prefix = weir_table_insert(table, &fresh);
		}
		if (!prefix)
			return weir_fail(ENOSPC, "the IPv%u table has no place for one more prefix",
					 spec->family);
		error = note_undo(change, table, prefix, 0, WEIR_TAG_FREE);
		if (error)
			weir_table_remove(table, prefix);
	}
	added = error ? NULL : weir_list_add(&change->added, sizeof(*added));
	if (added) {
		*added = prefix;
		table->state[prefix - table->entries] |= WEIR_ENTRY_ADDED;
	}
	return error ?: note_v4(change, spec, false);
}

/* What is removed and added at once stays, with the added slot. */
static int remove_one(struct change *change, const struct weir_prefix_spec *spec)
{
	struct weir_table *table = table_of(change->weir, spec);
	struct weir_prefix *prefix = weir_table_find(table, spec->high, spec->low, tag_of(spec));
	int error;

	if (!prefix || table->state[prefix - table->entries] & WEIR_ENTRY_ADDED)
		return 0;
	error = note_undo(change, table, prefix, prefix->slot, prefix->tag);
	error = error ?: weir_table_remove(table, prefix);
	return error ?: note_v4(change, spec, true);
}

static void undo_all(struct change *change)
{
	struct undo *undo = change->undo.items;

	for (size_t i = change->undo.count; i-- > 0;) {
		if (undo[i].was_tag == WEIR_TAG_FREE)
			weir_table_remove(undo[i].table, undo[i].prefix);
		else if (undo[i].prefix->tag == WEIR_TAG_DEAD)
			weir_table_restore(undo[i].table, undo[i].prefix, undo[i].was_tag);
		else
			slot_store(undo[i].table, undo[i].prefix, undo[i].was_slot);
	}
}

/* The leaf of the longest prefix that properly covers this one. */
static uint32_t covering_leaf(struct weir_table *table, const struct weir_change4 *change)
{
	for (int length = change->length - 1; length >= 0; length--) {
		uint32_t address = change->address & weir_mask_high(length) >> 32;
		const struct weir_prefix *prefix =
			weir_table_find(table, address, 0, weir_prefix_tag(change->domain, length));

		if (prefix)
			return weir_leaf(prefix->slot, length);
	}
	return 0;
}

static int compare_changes(const void *left, const void *right)
{
	const struct weir_change4 *a = left, *b = right;

	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->length - b->length;
}

/* Sorted, each prefix once: the leaf of a prefix that is live now is what its entry says. */
static void settle_changes(struct weir_table *table, struct weir_list *v4)
{
	struct weir_change4 *changes = v4->items;
	size_t kept = 0;

	qsort(changes, v4->count, sizeof(*changes), compare_changes);
	for (size_t i = 0; i < v4->count; i++) {
		const struct weir_prefix *prefix;

		if (kept && !compare_changes(&changes[kept - 1], &changes[i]))
			continue;
		prefix = weir_table_find(table, changes[i].address, 0,
					 weir_prefix_tag(changes[i].domain, changes[i].length));
		changes[kept] = changes[i];
		changes[kept].remove = !prefix;
		changes[kept].leaf = prefix ? weir_leaf(prefix->slot, changes[i].length) :
					      covering_leaf(table, &changes[i]);
		kept++;
	}
	v4->count = kept;
}

static int change_tree(struct weir *weir, struct weir_list *v4, bool afresh)
{
	int error;

	settle_changes(&weir->table[0], v4);
	error = weir_tree_change(&weir->tree, v4->items, v4->count, afresh);
	if (error == -ENOSPC && weir->tree.retired.count) {
		weir_grace(weir);
		error = weir_tree_change(&weir->tree, v4->items, v4->count, afresh);
	}
	if (error == -ENOSPC && afresh) { /* not beside the old one */
		weir_tree_forget(&weir->tree);
		error = weir_tree_change(&weir->tree, v4->items, v4->count, true);
	}
	if (error == -ENOSPC)
		return weir_fail(ENOSPC, "the IPv4 tree is full: %u of %u units of 64 bytes are in use",
				 weir->tree.used, weir->tree.count);
	return error ? weir_fail(-error, "the IPv4 tree cannot be changed: %s", strerror(-error)) : 0;
}

static void count_lengths(struct change *change, uint32_t *counts)
{
	const struct undo *undo = change->undo.items;

	for (size_t i = 0; i < change->undo.count; i++)
		if (undo[i].table == &change->weir->table[1] && undo[i].was_tag == WEIR_TAG_FREE)
			counts[undo[i].prefix->tag & 0xff]++;
}

static int apply(struct change *change, const struct weir_prefix_spec *remove, uint32_t removes,
		 const struct weir_prefix_spec *add, uint32_t adds)
{
	struct weir *weir = change->weir;
	int error = 0;

	for (uint32_t i = 0; i < adds && !error; i++)
		error = add_one(change, &add[i]);
	if (!error) {
		uint32_t counts[129];

		memcpy(counts, weir->length_count, sizeof(counts));
		count_lengths(change, counts);
		error = weir_lengths_publish(weir, counts);
		if (!error)
			memcpy(weir->length_count, counts, sizeof(counts));
	}
	for (uint32_t i = 0; i < removes && !error; i++)
		if (remove[i].family == 4)
			error = remove_one(change, &remove[i]);
	if (!error && change->v4.count)
		error = change_tree(weir, &change->v4, false);
	return error;
}

/* Nothing that can fail is left: packets already use the rest of the change. */
static void remove_v6(struct change *change, const struct weir_prefix_spec *remove, uint32_t removes)
{
	struct weir *weir = change->weir;

	for (uint32_t i = 0; i < removes; i++) {
		uint32_t live = weir->table[1].live;

		if (remove[i].family == 6 && !remove_one(change, &remove[i]))
			weir->length_count[remove[i].length] -= live - weir->table[1].live;
	}
	weir_lengths_publish(weir, weir->length_count);
}

static void close_change(struct change *change)
{
	struct weir_prefix **added = change->added.items;

	for (size_t i = 0; i < change->added.count; i++) {
		for (int family = 0; family < 2; family++) {
			struct weir_table *table = &change->weir->table[family];
			size_t at = added[i] - table->entries;

			if (added[i] >= table->entries && at <= table->mask)
				table->state[at] &= ~WEIR_ENTRY_ADDED;
		}
	}
	weir_list_free(&change->undo);
	weir_list_free(&change->v4);
	weir_list_free(&change->added);
}

static int prefixes_change(struct weir *weir, const struct weir_prefix_spec *remove, uint32_t removes,
			   const struct weir_prefix_spec *add, uint32_t adds)
{
	struct change change = { .weir = weir };
	int error = check_all(weir, remove, removes, add, adds);

	if (error)
		return error;
	weir_meta_store(weir, updating, 1);
	error = apply(&change, remove, removes, add, adds);
	if (error) {
		undo_all(&change);
		weir_lengths_publish(weir, weir->length_count);
	} else {
		remove_v6(&change, remove, removes);
	}
	weir_watched_settle(weir);
	weir_meta_store(weir, updating, 0);
	close_change(&change);
	return error;
}

int weir_prefixes_change(struct weir *weir, const struct weir_prefix_spec *remove, uint32_t removes,
			 const struct weir_prefix_spec *add, uint32_t adds)
{
	int error;

	pthread_mutex_lock(&weir->lookups);
	error = weir_lookup_maps_take(weir)    ?:
			weir_tables_tidy(weir) ?:
						 prefixes_change(weir, remove, removes, add, adds);
	weir_watched_settle(weir);
	pthread_mutex_unlock(&weir->lookups);
	return error;
}

/* A change was cut off, or the tree is damaged: the tables are whole, and the tree is made from them again. */
int weir_prefixes_rebuild(struct weir *weir)
{
	const struct weir_table *table = &weir->table[0];
	struct change change = { .weir = weir };
	struct weir_prefix_spec spec;
	int error = 0;

	if (weir->tree.retired.count) /* is free then: all else that is used is the old tree's */
		weir_grace(weir);
	for (uint32_t i = 0; i <= table->mask && !error; i++) {
		if (table->entries[i].tag <= WEIR_TAG_DEAD)
			continue;
		weir_prefix_spec_of(&table->entries[i], 4, &spec);
		error = note_v4(&change, &spec, false);
	}
	error = error ?: change_tree(weir, &change.v4, true);
	close_change(&change);
	if (!error) {
		weir_watched_settle(weir);
		weir_meta_store(weir, updating, 0);
	}
	return error;
}
