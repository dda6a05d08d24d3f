// SPDX-License-Identifier: Apache-2.0
#include "burst.h"

static double average_bps(const struct weir_burst *burst)
{
	double bytes = 0;

	for (int slot = 0; slot < WEIR_BURST_SLOTS; slot++)
		bytes += (double)burst->slot_bytes[slot];
	return bytes * 8e9 / (double)burst->spec.time_ns;
}

int weir_burst_is_idle(const struct weir_burst *burst)
{
	return burst->allowed && average_bps(burst) == 0;
}

void weir_burst_advance(struct weir_burst *burst, uint64_t sent_bytes, uint64_t now_ns)
{
	uint64_t slot_ns = burst->spec.time_ns / WEIR_BURST_SLOTS;

	if (!burst->slot_ends_ns) {
		burst->slot_ends_ns = now_ns + slot_ns;
		burst->allowed = burst->spec.threshold_bps > 0;
		return;
	}
	burst->slot_bytes[burst->slot] += sent_bytes;
	if (now_ns < burst->slot_ends_ns)
		return;
	burst->allowed = average_bps(burst) < (double)burst->spec.threshold_bps;
	/* After a long gap every slot is empty; there is no need to walk through more than a round. */
	for (int closed = 0; now_ns >= burst->slot_ends_ns && closed < WEIR_BURST_SLOTS; closed++) {
		burst->slot = (burst->slot + 1) % WEIR_BURST_SLOTS;
		burst->slot_bytes[burst->slot] = 0;
		burst->slot_ends_ns += slot_ns;
	}
	if (now_ns >= burst->slot_ends_ns)
		burst->slot_ends_ns = now_ns + slot_ns;
}
