// SPDX-License-Identifier: Apache-2.0
/* The prefix tables between changes: read, looked up in, and kept in good order. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "weir/hash.h"

#define TIDY_ROUNDS 8
#define LOOKUP_MAPS 3

static const enum weir_map lookup_maps[LOOKUP_MAPS] = { WEIR_MAP_PREFIX4, WEIR_MAP_PREFIX6, WEIR_MAP_V4 };

/* At the same addresses, as the tables hold pointers into them. */
int weir_lookup_maps_take(struct weir *weir)
{
	weir->lookups_used = true;
	for (size_t i = 0; weir->lookups_resting && i < LOOKUP_MAPS; i++) {
		enum weir_map map = lookup_maps[i];

		if (mmap(weir->map[map], weir->map_bytes[map], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 weir->map_fd[map], 0) == MAP_FAILED)
			return weir_fail(errno, "map %s cannot be mapped: %s", weir_map_names[map],
					 strerror(errno));
	}
	weir->lookups_resting = false;
	return 0;
}

static int rest(struct weir *weir)
{
	bool used = weir->lookups_used;

	weir->lookups_used = false;
	if (used || weir->lookups_resting)
		return 0;
	weir->lookups_resting = true;
	for (size_t i = 0; i < LOOKUP_MAPS; i++) {
		enum weir_map map = lookup_maps[i];

		if (mmap(weir->map[map], weir->map_bytes[map], PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
			return weir_fail(errno, "map %s cannot be unmapped: %s", weir_map_names[map],
					 strerror(errno));
	}
	return 0;
}

int weir_rest(struct weir *weir)
{
	int error;

	pthread_mutex_lock(&weir->lookups);
	error = rest(weir);
	pthread_mutex_unlock(&weir->lookups);
	return error;
}

/* The list of v6 lengths that packets probe: the inactive copy is written, then made active. */
int weir_lengths_publish(struct weir *weir, const uint32_t *counts)
{
	const struct weir_meta *meant = &weir->meant_meta;
	uint32_t active = meant->lengths_active & 1;
	struct weir_lengths fresh = {};

	for (int length = 128; length >= 0; length--) {
		if (!counts[length])
			continue;
		if (fresh.count == WEIR_V6_LENGTHS)
			return weir_fail(ENOSPC, "more than %d different IPv6 prefix lengths",
					 WEIR_V6_LENGTHS);
		fresh.length[fresh.count++] = length;
	}
	if (!memcmp(&meant->lengths[active], &fresh, sizeof(fresh)))
		return 0;
	if (weir->lengths_retired)
		weir_grace(weir);
	weir->meant_meta.lengths[!active] = fresh;
	weir_meta(weir)->lengths[!active] = fresh;
	weir_meta_store(weir, lengths_active, !active);
	weir->lengths_retired = true;
	return 0;
}

/* One round of moves frees places for the next; most tables settle in two or three. */
static int tidy_table(struct weir *weir, struct weir_table *table)
{
	struct weir_list moved = {};
	int error = 0;

	for (int round = 0; round < TIDY_ROUNDS && !error; round++) {
		weir_grace(weir);
		error = weir_table_move(table, &moved);
		if (!error && !moved.count) {
			weir_table_sweep(table);
			break;
		}
		weir_grace(weir);
		error = error ?: weir_table_moved(table, &moved);
		weir_list_free(&moved);
	}
	return error;
}

/* What many changes leave behind: a long list of the retired, and tables worn by removals. */
int weir_tables_tidy(struct weir *weir)
{
	int error = 0;

	if (weir->table[0].dead.count + weir->table[1].dead.count > weir->table[0].mask / 4)
		weir_grace(weir);
	for (int family = 0; family < 2 && !error; family++)
		if (weir_table_is_worn(&weir->table[family]))
			error = tidy_table(weir, &weir->table[family]);
	return error;
}

void weir_prefix_spec_of(const struct weir_prefix *prefix, int family, struct weir_prefix_spec *spec)
{
	*spec = (struct weir_prefix_spec){
		.high = prefix->high,
		.low = prefix->low,
		.slot = prefix->slot,
		.domain = prefix->tag >> 8,
		.family = family,
		.length = prefix->tag,
	};
}

int weir_prefixes_read(struct weir *weir, struct weir_prefix_spec *out, uint32_t capacity)
{
	uint32_t count = 0;
	int error;

	pthread_mutex_lock(&weir->lookups);
	error = weir_lookup_maps_take(weir);
	for (int family = 0; family < 2 && !error; family++) {
		const struct weir_table *table = &weir->table[family];

		for (uint32_t i = 0; i <= table->mask && count < capacity; i++)
			if (table->entries[i].tag > WEIR_TAG_DEAD)
				weir_prefix_spec_of(&table->entries[i], family ? 6 : 4, &out[count++]);
	}
	pthread_mutex_unlock(&weir->lookups);
	return error ?: (int)count;
}

static int lookup(struct weir *weir, const struct weir_prefix_spec *address)
{
	const struct weir_meta *meta = weir_meta(weir);
	struct weir_lengths lengths = meta->lengths[meta->lengths_active & 1];
	int error = weir_lookup_maps_take(weir);

	if (error)
		return error;
	if (address->domain >= meta->domains)
		return weir_fail(EINVAL, "there is no domain %u", address->domain);
	if (address->family == 4)
		return weir_tree_lookup(&weir->tree, address->domain, address->high);
	for (uint32_t i = 0; i < lengths.count && i < WEIR_V6_LENGTHS; i++) {
		uint32_t length = lengths.length[i];
		const struct weir_prefix *prefix = weir_table_find(
			&weir->table[1], address->high & weir_mask_high(length),
			address->low & weir_mask_low(length), weir_prefix_tag(address->domain, length));

		if (prefix)
			return prefix->slot;
	}
	return 0;
}

int weir_lookup(struct weir *weir, const struct weir_prefix_spec *address)
{
	int found;

	pthread_mutex_lock(&weir->lookups);
	found = lookup(weir, address);
	pthread_mutex_unlock(&weir->lookups);
	return found;
}
