// SPDX-License-Identifier: Apache-2.0
/* Whose a sub-queue is: the programs keep a hash of its address in its key, and the address in a small table beside. */
#include "internal.h"
#include "weir/hash.h"
#include "weir_share.h"

/* The hash of which a key has the lower half, for sub-queues by one address. */
static uint64_t hash_in_key(const struct weir_subqueues *row, uint64_t mixed)
{
	return row->key == WEIR_BY_SOURCE ? mixed * WEIR_BY_SOURCE_FACTOR : mixed;
}

/* A row that two CPUs wrote at once is nobody's. */
static bool is_whole(const struct weir_host_name *name)
{
	return name->family && name->mixed == weir_host_hash(name->high, name->low, name->family);
}

void weir_host_name(struct weir *weir, uint64_t key, uint32_t index, struct weir_host_rate *out)
{
	const struct weir_host_name *names = weir->map[WEIR_MAP_HOST_NAMES];
	uint32_t line = (uint32_t)(key >> 32), set = index & ~(WEIR_HOST_WAYS - 1U);
	const struct weir_subqueues *row =
		&weir_subqueue_rows(weir)[weir_lines(weir)[line].flags >> WEIR_LINE_ROW_SHIFT];

	for (uint32_t i = 0; i < WEIR_HOST_NAMES; i++) {
		struct weir_host_name name = names[i];
		uint64_t hash = hash_in_key(row, name.mixed);

		if ((uint32_t)hash != (uint32_t)key || !is_whole(&name) ||
		    weir_host_set(hash, line, weir_meta(weir)->flows - 1) != set)
			continue;
		out->high = name.high;
		out->low = name.low;
		out->family = (uint8_t)name.family;
		out->length = name.family == 4 ? row->length4 : row->length6;
		return;
	}
}
