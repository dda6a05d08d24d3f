// SPDX-License-Identifier: Apache-2.0
/* Round trips that the programs saw. Rows are the programs' own; one goes with its class. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "internal.h"

_Static_assert(sizeof(struct weir_round_trips) == 32, "two rows share a cache line");
_Static_assert(WEIR_ROUND_TRIPS == sizeof(((struct weir_round_trip_state *)0)->samples_ns) / sizeof(uint64_t),
	       "the reader has room for every sample");

static uint32_t age_ms(uint32_t updated)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint32_t)(((uint64_t)now.tv_sec * 1000000000 + now.tv_nsec) >> 20) - updated) * 1048576ULL /
	       1000000;
}

void weir_round_trips_clear(struct weir *weir, uint32_t line)
{
	struct weir_round_trips *row = weir->map[WEIR_MAP_TRIPS];

	row += WEIR_ROUND_TRIP_ROW(line);
	if (row->line == line)
		memset(row, 0, sizeof(*row));
}

int weir_round_trips(struct weir *weir, uint32_t slot, uint32_t direction, struct weir_round_trip_state *out)
{
	uint32_t line = slot * 2 + direction;
	const struct weir_round_trips *row = weir->map[WEIR_MAP_TRIPS];

	if (slot >= weir_meta(weir)->slots || direction > WEIR_DOWNLOAD)
		return weir_fail(EINVAL, "there is no class slot %u", slot);
	*out = (struct weir_round_trip_state){};
	row += WEIR_ROUND_TRIP_ROW(line);
	if (row->line != line)
		return 0;
	out->age_ms = age_ms(row->updated);
	while (out->count < WEIR_ROUND_TRIPS && row->samples[out->count]) {
		out->samples_ns[out->count] = (uint64_t)row->samples[out->count] << WEIR_ROUND_TRIP_SHIFT;
		out->count++;
	}
	return 0;
}
