// SPDX-License-Identifier: Apache-2.0
/* What the fast path is told about routing, and tells of it: sources to ask for, neighbours in use. */
#include <errno.h>
#include <string.h>

#include "internal.h"

int weir_sources_write(struct weir *weir, const uint32_t *addresses, uint32_t count)
{
	struct weir_sources wanted = {};

	for (uint32_t i = 0; i < count && addresses; i++) {
		uint32_t bit = WEIR_SOURCE_BIT(addresses[i]);

		wanted.words[bit / 64] |= 1ULL << (bit % 64);
	}
	if (!addresses)
		memset(&wanted, 0xff, sizeof(wanted));
	pthread_mutex_lock(&weir->lookups);
	weir->meant_sources = wanted;
	weir_sources_mend(weir);
	pthread_mutex_unlock(&weir->lookups);
	return 0;
}

uint32_t weir_sources_mend(struct weir *weir)
{
	struct weir_sources *held = weir->map[WEIR_MAP_SOURCES];
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < WEIR_SOURCE_BITS / 64; i++) {
		if (held->words[i] == weir->meant_sources.words[i])
			continue;
		weir_publish(&held->words[i], weir->meant_sources.words[i]);
		wrong++;
	}
	return wrong;
}

int weir_used_take(struct weir *weir, uint8_t *out, uint32_t size)
{
	struct weir_used *used = weir->map[WEIR_MAP_USED];
	int count = 0;

	if (size < WEIR_USED_MARKS)
		return weir_fail(EINVAL, "there are %u marks, not %u", WEIR_USED_MARKS, size);
	for (uint32_t i = 0; i < WEIR_USED_MARKS; i += 8) { /* few are set */
		if (!__atomic_load_n((uint64_t *)(used->marks + i), __ATOMIC_RELAXED)) {
			memset(out + i, 0, 8);
			continue;
		}
		for (uint32_t mark = i; mark < i + 8; mark++) {
			out[mark] = __atomic_exchange_n(&used->marks[mark], 0, __ATOMIC_RELAXED);
			count += out[mark];
		}
	}
	return count;
}
