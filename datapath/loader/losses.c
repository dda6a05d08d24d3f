// SPDX-License-Identifier: Apache-2.0
/* What TCP lost on either side of the router, as the programs saw it. Rows are theirs; one goes with its class. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define BEGUN_SHIFT 26

_Static_assert(sizeof(struct weir_losses) == 64, "a row is a cache line");

void weir_losses_clear(struct weir *weir, uint32_t line)
{
	struct weir_losses *row = weir->map[WEIR_MAP_LOSSES];

	row += WEIR_LOSS_ROW(line);
	if (row->line == line)
		memset(row, 0, sizeof(*row));
}

static uint32_t age_ms(uint32_t begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint32_t)(((uint64_t)now.tv_sec * 1000000000 + now.tv_nsec) >> BEGUN_SHIFT) - begun) *
	       67108864ULL / 1000000;
}

int weir_losses(struct weir *weir, uint32_t slot, uint32_t direction, struct weir_loss_state *out)
{
	uint32_t line = slot * 2 + direction;
	const struct weir_losses *row = weir->map[WEIR_MAP_LOSSES];

	if (slot >= weir_meta(weir)->slots || direction > WEIR_DOWNLOAD)
		return weir_fail(EINVAL, "there is no class slot %u", slot);
	*out = (struct weir_loss_state){};
	row += WEIR_LOSS_ROW(line);
	if (row->line != line || !row->seen)
		return 0;
	*out = (struct weir_loss_state){
		.age_ms = age_ms(row->begun),
		.seen_bytes = row->seen,
		.before_bytes = row->before,
		.after_bytes = row->after,
		.before_packets = row->before_packets,
		.after_packets = row->after_packets,
	};
	return 0;
}
