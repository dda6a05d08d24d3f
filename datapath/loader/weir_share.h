/* SPDX-License-Identifier: Apache-2.0 */
/* The share controller as a thread over an open datapath (datapath/share/controller.h says what it does). */
#ifndef WEIR_SHARE_THREAD_H
#define WEIR_SHARE_THREAD_H

#include <stdint.h>

struct weir;
struct weir_share;

struct weir_share_state {
	uint64_t ticks;
	uint32_t active; /* classes and directions that moved in the last tick */
	uint32_t trees; /* trees that were short of rate */
	uint32_t lent; /* lines that hold a lent rate */
	uint32_t bursting; /* lines whose burst limit is in force */
	uint32_t tick_us;
	int32_t error; /* of the last tick, a negative errno */
	uint64_t slowest_bps; /* the lowest limit of any class; 0 = none has one */
};

/* What one sub-queue of a line sends, as charged, over about the last second; of whom, where that is known. */
struct weir_host_rate {
	uint64_t high, low; /* masked address; v4: in `high` */
	uint64_t rate_bps;
	uint8_t family; /* 4, 6; 0: not known (a pair of addresses, or it has sent nothing lately) */
	uint8_t length; /* of the mask */
};

#define WEIR_HOST_RATES 64

/* -EINVAL for an interval of 0; otherwise what pthread_create says. Stop it before weir_close. */
int weir_share_start(struct weir *weir, uint32_t interval_ms, struct weir_share **out);

/* Ends the thread and gives every line its configured rate back. */
void weir_share_stop(struct weir_share *share);

/* limit_bps 0 takes the burst of this slot and direction away. -EINVAL, -ENOMEM. */
int weir_share_burst(struct weir_share *share, uint32_t slot, uint32_t direction, uint64_t limit_bps,
		     uint64_t threshold_bps, uint64_t time_ns);

/* 1: this slot and direction hold a lent rate, or one of a burst; 0: their own. -EINVAL. */
int weir_share_lent(struct weir_share *share, uint32_t slot, uint32_t direction);

/* Those of one line that send most, the most first, WEIR_HOST_RATES at most; returns how many. -EINVAL. */
int weir_share_hosts(struct weir_share *share, uint32_t slot, uint32_t direction, struct weir_host_rate *out,
		     uint32_t capacity);

void weir_share_state(struct weir_share *share, struct weir_share_state *out);

#endif
