/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RouterOS bursts (manual: Queue Burst). The burst time is divided into 16 slots; at each slot's end
 * the average of the last burst time is compared with the threshold, and only while it is below does
 * the burst limit take the place of max-limit. Nothing of this costs a packet anything.
 */
#ifndef WEIR_BURST_H
#define WEIR_BURST_H

#include <stdint.h>

#define WEIR_BURST_SLOTS 16

struct weir_burst_spec {
	uint64_t limit_bps;
	uint64_t threshold_bps;
	uint64_t time_ns;
};

struct weir_burst {
	struct weir_burst_spec spec;
	uint32_t line;
	uint32_t slot;
	uint64_t slot_ends_ns; /* 0: not begun */
	uint64_t slot_bytes[WEIR_BURST_SLOTS];
	int allowed;
	int resting; /* nothing was sent for a whole burst time: left alone until something is */
};

/* Add what was sent since the last call and close the slots that have ended. */
void weir_burst_advance(struct weir_burst *burst, uint64_t sent_bytes, uint64_t now_ns);

/* Whether it would stay as it is until something is sent. */
int weir_burst_is_idle(const struct weir_burst *burst);

#endif
