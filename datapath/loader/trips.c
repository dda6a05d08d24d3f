// SPDX-License-Identifier: Apache-2.0
/* Round trips that the programs saw. Rows are the programs' own; one goes with its class. */
#include <errno.h>
#include <stdlib.h>
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

static int by_size(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Sorts them; 0 when there are none. Of an even number the mean of the two in the middle. */
static uint64_t median(uint64_t *values, uint32_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_size);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static bool is_below(struct weir *weir, uint32_t line, uint32_t ancestor)
{
	for (int level = 1; level < WEIR_LEVELS && line; level++) {
		line = weir_lines(weir)[line].parent;
		if (line == ancestor)
			return true;
	}
	return false;
}

/* Adds a class below; its median goes to `median_ns`. */
static void add_below(struct weir_round_trips_below *out, struct weir_round_trip_state *state,
		      uint64_t *median_ns)
{
	*median_ns = median(state->samples_ns, state->count);
	if (!out->classes || state->age_ms < out->age_ms)
		out->age_ms = state->age_ms;
	if (!out->classes || state->samples_ns[0] < out->least_ns)
		out->least_ns = state->samples_ns[0];
	out->classes++;
}

int weir_round_trips_below(struct weir *weir, uint32_t slot, uint32_t direction, uint32_t age_max_ms,
			   struct weir_round_trips_below *out)
{
	const struct weir_round_trips *rows = weir->map[WEIR_MAP_TRIPS];
	uint32_t ancestor = slot * 2 + direction, lines = weir_meta(weir)->slots * 2;
	struct weir_round_trip_state state;
	uint64_t *medians_ns;

	if (slot >= weir_meta(weir)->slots || direction > WEIR_DOWNLOAD)
		return weir_fail(EINVAL, "there is no class slot %u", slot);
	*out = (struct weir_round_trips_below){};
	medians_ns = malloc(WEIR_ROUND_TRIP_ROWS * sizeof(*medians_ns));
	if (!medians_ns)
		return weir_fail(ENOMEM, "no memory for round trips");
	for (uint32_t row = 0; row < WEIR_ROUND_TRIP_ROWS; row++) {
		uint32_t line = rows[row].line;

		if (line < 2 || line >= lines || line % 2 != direction || !is_below(weir, line, ancestor))
			continue;
		if (weir_round_trips(weir, line / 2, direction, &state) || !state.count ||
		    state.age_ms > age_max_ms)
			continue;
		add_below(out, &state, &medians_ns[out->classes]);
	}
	out->median_ns = median(medians_ns, out->classes);
	free(medians_ns);
	return 0;
}
