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

int weir_table_open(struct weir_table *table, struct weir_prefix *entries, uint32_t count, uint32_t limit)
{
	table->entries = entries;
	table->mask = count - 1;
	table->limit = limit;
	table->live = 0;
	table->state = calloc(count, 1);
	if (!table->state)
		return weir_fail(ENOMEM, "no memory for the state of %u prefix entries", count);
	for (uint32_t i = 0; i < count; i++)
		table->live += entries[i].tag > WEIR_TAG_DEAD;
	return 0;
}

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

struct weir_prefix *weir_table_insert(struct weir_table *table, const struct weir_prefix *prefix)
{
	uint32_t at = weir_prefix_hash(prefix->high, prefix->low, prefix->tag);

	for (int probe = 0; probe < WEIR_PROBES; probe++, at++) {
		struct weir_prefix *place = &table->entries[at & table->mask];

		if (place->tag > WEIR_TAG_DEAD || table->state[at & table->mask] & WEIR_ENTRY_QUARANTINED)
			continue;
		place->high = prefix->high;
		place->low = prefix->low;
		place->slot = prefix->slot;
		weir_publish(&place->tag, prefix->tag);
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
	weir_publish(&prefix->tag, WEIR_TAG_DEAD);
	table->live--;
	return 0;
}

/* Undo a remove; the entry stays listed as dead, which weir_table_after_grace looks through. */
void weir_table_restore(struct weir_table *table, struct weir_prefix *prefix, uint32_t tag)
{
	weir_publish(&prefix->tag, tag);
	table->live++;
}

void weir_table_after_grace(struct weir_table *table)
{
	uint32_t *dead = table->dead.items;

	for (size_t i = 0; i < table->dead.count; i++)
		table->state[dead[i]] &= ~WEIR_ENTRY_QUARANTINED;
	/* Dead entries at the end of a cluster are free: no probe has to walk over them. */
	for (size_t i = 0; i < table->dead.count; i++) {
		uint32_t at = dead[i];

		while (table->entries[at].tag == WEIR_TAG_DEAD &&
		       table->entries[(at + 1) & table->mask].tag == WEIR_TAG_FREE &&
		       !(table->state[at] & WEIR_ENTRY_QUARANTINED)) {
			weir_publish(&table->entries[at].tag, WEIR_TAG_FREE);
			at = (at - 1) & table->mask;
		}
	}
	table->dead.count = 0;
}
