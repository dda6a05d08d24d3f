/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the share controller share: controller.c solves and lends, observe.c measures. */
#ifndef WEIR_CONTROLLER_STATE_H
#define WEIR_CONTROLLER_STATE_H

#include <stdint.h>

#include <weir/abi.h>

#include "burst.h"
#include "controller.h"
#include "share.h"

struct observed {
	uint64_t sent_bytes; /* when last looked at */
	uint64_t lost_bytes;
	uint64_t drops;
	uint64_t hungry_until_ns;
};

/* A line that takes part in this tick. */
struct member {
	uint32_t line;
	uint32_t depth;
	uint32_t root; /* line */
	double offered_bps; /* with its children's */
	double own_bps;
	uint64_t sent_bytes; /* with its children's */
	uint8_t has_children;
	uint8_t has_own;
	uint8_t hungry;
};

/* A line that moved lately, or holds a lent rate: looked at in every tick. */
struct hot {
	uint32_t line;
	uint32_t idle; /* ticks since it moved */
};

/* How a line's rate is lent. One that rests holds its burst's limit, and is in no list until it moves. */
enum { NOT_LENT, LENT_BEFORE, LENT_NOW, LENT_RESTING };

struct weir_controller {
	struct weir_line *lines;
	const struct weir_detail *details;
	uint32_t count;
	uint64_t last_ns;

	struct observed *seen;
	uint32_t *member_of; /* line -> index + 1 in members, 0 = none */
	uint8_t *is_lent; /* NOT_LENT, ... */
	uint64_t *short_until_ns; /* by root line */

	struct member *members, *ordered;
	uint32_t member_count;
	struct weir_share_node *nodes;
	uint32_t *node_line; /* node -> line */
	uint32_t *node_of; /* member -> node */
	uint32_t *lent;
	uint32_t lent_count;
	uint32_t *live; /* lines with a class */
	uint32_t live_count;
	uint32_t next_cold; /* place in `live` where the next tick's look at the others begins */
	struct hot *hot;
	uint32_t hot_count;
	uint8_t *is_hot;
	uint64_t looked_ns;
	const uint32_t *generation; /* another value: classes were written; NULL: nobody tells */
	uint32_t looked_generation;
	struct weir_burst *bursts;
	uint32_t burst_count, burst_room;
	uint32_t *burst_of; /* line -> index + 1 in bursts, 0 = none */
	uint32_t *awake; /* lines whose bursts do not rest */
	uint32_t awake_count, resting;
	uint8_t *is_awake;
	uint64_t now_ns; /* of this tick */
	struct weir_share_stats stats;
};

static inline uint64_t load(const __u64 *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/* controller.c: the line's burst rests no longer. */
void weir_wake(struct weir_controller *c, uint32_t line);

/* observe.c: make a line one that is looked at in every tick. */
void weir_heat(struct weir_controller *c, uint32_t line);

/* observe.c: fill `members` with the lines that moved, or hold a lent rate, and all above them. */
void weir_observe(struct weir_controller *c, uint64_t now_ns, double elapsed_s);

#endif
