// SPDX-License-Identifier: Apache-2.0
/*
 * The hash table of prefixes, in memory that packets read while it changes.
 *
 * Linear probing. An entry becomes live by the store of its tag, after all else is written; a removed
 * one turns dead, which probes walk over, and is overwritten only after a grace period, so a reader
 * never compares half of one key with half of another.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "weir/hash.h"

void weir_table_close(struct weir_table *table)
{
	free(table->state);
	weir_list_free(&table->dead);
}

struct weir_prefix *weir_table_find(struct weir_table *table, uint64_t high, uint64_t low, uint32_t tag)
{
	uint32_t at = weir_prefix_hash(high, low, tag);

	for (int probe = 0; probe < WEIR_PROBES; probe++, at++) {
		struct weir_prefix *prefix = &table->entries[at & table->mask];

		if (prefix->tag == WEIR_TAG_FREE)
			return NULL;
		if (prefix->tag == tag && prefix->high == high && prefix->low == low)
			return prefix;
	}
	return NULL;
}

static void store(struct weir_table *table, struct weir_prefix *place, const struct weir_prefix *prefix)
{
	weir_touch(table->watched, place, sizeof(*place));
	table->tombs -= place->tag == WEIR_TAG_DEAD;
	place->high = prefix->high;
	place->low = prefix->low;
	place->slot = prefix->slot;
	weir_publish(&place->tag, prefix->tag);
}

struct weir_prefix *weir_table_insert(struct weir_table *table, const struct weir_prefix *prefix)
{
	uint32_t at = weir_prefix_hash(prefix->high, prefix->low, prefix->tag);

	for (int probe = 0; probe < WEIR_PROBES; probe++, at++) {
		struct weir_prefix *place = &table->entries[at & table->mask];

		if (place->tag > WEIR_TAG_DEAD || table->state[at & table->mask] & WEIR_ENTRY_QUARANTINED)
			continue;
		store(table, place, prefix);
		table->live++;
		return place;
	}
	return NULL;
}

int weir_table_remove(struct weir_table *table, struct weir_prefix *prefix)
{
	uint32_t at = prefix - table->entries, *dead = weir_list_add(&table->dead, sizeof(*dead));

	if (!dead)
		return weir_fail(ENOMEM, "no memory to remove a prefix");
	*dead = at;
	table->state[at] |= WEIR_ENTRY_QUARANTINED;
	weir_touch(table->watched, prefix, sizeof(*prefix));
	weir_publish(&prefix->tag, WEIR_TAG_DEAD);
	table->live--;
	table->tombs++;
	return 0;
}

/* Undo a remove; the entry stays listed as dead, which weir_table_after_grace looks through. */
void weir_table_restore(struct weir_table *table, struct weir_prefix *prefix, uint32_t tag)
{
	weir_touch(table->watched, prefix, sizeof(*prefix));
	weir_publish(&prefix->tag, tag);
	table->live++;
	table->tombs--;
}

/* Dead entries at the end of a cluster are free: no probe has to walk over them. */
static void free_backwards(struct weir_table *table, uint32_t at)
{
	while (table->entries[at].tag == WEIR_TAG_DEAD &&
	       table->entries[(at + 1) & table->mask].tag == WEIR_TAG_FREE &&
	       !(table->state[at] & WEIR_ENTRY_QUARANTINED)) {
		weir_touch(table->watched, &table->entries[at], sizeof(*table->entries));
		weir_publish(&table->entries[at].tag, WEIR_TAG_FREE);
		table->tombs--;
		at = (at - 1) & table->mask;
	}
}

void weir_table_after_grace(struct weir_table *table)
{
	uint32_t *dead = table->dead.items;

	for (size_t i = 0; i < table->dead.count; i++)
		table->state[dead[i]] &= ~WEIR_ENTRY_QUARANTINED;
	for (size_t i = 0; i < table->dead.count; i++)
		free_backwards(table, dead[i]);
	table->dead.count = 0;
}

bool weir_table_is_worn(const struct weir_table *table)
{
	return table->tombs > table->mask / 4;
}

/* The first dead place on the way from an entry's own to where it is; NULL when it stands well. */
static struct weir_prefix *better_place(struct weir_table *table, const struct weir_prefix *prefix)
{
	uint32_t at = weir_prefix_hash(prefix->high, prefix->low, prefix->tag) & table->mask;

	for (; &table->entries[at] != prefix; at = (at + 1) & table->mask)
		if (table->entries[at].tag == WEIR_TAG_DEAD && !(table->state[at] & WEIR_ENTRY_QUARANTINED))
			return &table->entries[at];
	return NULL;
}

/* Copies first: a packet that walks by meanwhile finds the entry in either place. */
int weir_table_move(struct weir_table *table, struct weir_list *moved)
{
	for (uint32_t i = 0; i <= table->mask; i++) {
		struct weir_prefix *prefix = &table->entries[i], *place, **noted;

		place = prefix->tag > WEIR_TAG_DEAD ? better_place(table, prefix) : NULL;
		if (!place)
			continue;
		noted = weir_list_add(moved, sizeof(*noted));
		if (!noted)
			return weir_fail(ENOMEM, "no memory to tidy a prefix table");
		*noted = prefix;
		store(table, place, prefix);
		table->live++;
	}
	return 0;
}

int weir_table_moved(struct weir_table *table, const struct weir_list *moved)
{
	struct weir_prefix **prefix = moved->items;
	int error = 0;

	for (size_t i = 0; i < moved->count && !error; i++)
		error = weir_table_remove(table, prefix[i]);
	return error;
}

/* When no entry has a better place, no probe for a live one walks over a dead one: all may be free. */
void weir_table_sweep(struct weir_table *table)
{
	for (uint32_t i = 0; i <= table->mask; i++) {
		if (table->entries[i].tag != WEIR_TAG_DEAD || table->state[i] & WEIR_ENTRY_QUARANTINED)
			continue;
		weir_touch(table->watched, &table->entries[i], sizeof(*table->entries));
		weir_publish(&table->entries[i].tag, WEIR_TAG_FREE);
		table->tombs--;
	}
}

/* A move that was cut off leaves two entries for one key; packets and changes use the first. */
static int remove_copies(struct weir_table *table)
{
	int error = 0;

	for (uint32_t i = 0; i <= table->mask && !error; i++) {
		struct weir_prefix *prefix = &table->entries[i];

		if (prefix->tag > WEIR_TAG_DEAD &&
		    weir_table_find(table, prefix->high, prefix->low, prefix->tag) != prefix)
			error = weir_table_remove(table, prefix);
	}
	return error;
}

static void recount(struct weir_table *table)
{
	table->live = table->tombs = 0;
	for (uint32_t i = 0; i <= table->mask; i++) {
		table->live += table->entries[i].tag > WEIR_TAG_DEAD;
		table->tombs += table->entries[i].tag == WEIR_TAG_DEAD;
	}
}

/* An entry behind a place that was emptied is found by no probe: a copy stands before it first. */
int weir_table_mend(struct weir_table *table, const struct weir *weir,
		    bool (*is_possible)(const struct weir *weir, const struct weir_table *table,
					const struct weir_prefix *prefix))
{
	int error = 0;

	recount(table);
	for (uint32_t i = 0; i <= table->mask && !error; i++) {
		struct weir_prefix *prefix = &table->entries[i], copy = *prefix;

		if (copy.tag <= WEIR_TAG_DEAD)
			continue;
		if (is_possible(weir, table, prefix)) {
			if (weir_table_find(table, copy.high, copy.low, copy.tag) == prefix)
				continue;
			if (!weir_table_find(table, copy.high, copy.low, copy.tag))
				weir_table_insert(table, &copy);
		}
		error = weir_table_remove(table, prefix);
	}
	recount(table);
	return error;
}

int weir_table_open(struct weir_table *table, struct weir_prefix *entries, uint32_t count, uint32_t limit)
{
	table->entries = entries;
	table->mask = count - 1;
	table->limit = limit;
	table->state = calloc(count, 1);
	if (!table->state)
		return weir_fail(ENOMEM, "no memory for the state of %u prefix entries", count);
	recount(table);
	return remove_copies(table);
}
