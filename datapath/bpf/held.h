/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may not overtake: what the stack still holds, as far as the fast path has to know.
 *
 *   weir_line.held  the latest departure time that tc gave to a packet of the class. Until then, and a margin for
 *              late timers and full rings, fq may still hold packets of it.
 *   weir_up    by flow (hash of addresses, protocol and ports): when XDP last sent a packet of the flow up.
 *              The stack may still be working on it: merging segments, waiting for an address. The first stamps
 *              are of groups of flows and answer for most packets: 2 KB, which stay in the CPU's own cache.
 *
 * So a packet is redirected only if the class has nothing in fq and the flow nothing on the way there.
 * Times grow only; a stamp that two flows share keeps one of them in the stack for longer, no more.
 */
#ifndef WEIR_BPF_HELD_H
#define WEIR_BPF_HELD_H

#include "weir/abi.h"

#include "line.h"
#include "table.h"

#define WEIR_HELD_MARGIN ((20000000ULL >> WEIR_HELD_SHIFT) + 2) /* what rounding takes is not taken off */
#define WEIR_HELD_SPAN                                                                                       \
	(1U << 17) /* 137 s: no packet is held for longer, what looks like it is from long ago */
#define WEIR_UP_MARGIN_NS 5000000ULL
#define WEIR_HOLD_TRIES 4

WEIR_TABLE(__u32, weir_up); /* WEIR_UP_STAMPS rows */

static __always_inline volatile __u32 *weir_up_at(__u32 index)
{
	return weir_row(weir_up, index % WEIR_UP_STAMPS);
}

/* tc: a packet of this class leaves at `departure_ns`. The later one of several CPUs stays. */
static __always_inline void weir_hold(struct weir_line *line, __u64 departure_ns)
{
	__u32 departure = departure_ns >> WEIR_HELD_SHIFT;

	for (int try = 0; try < WEIR_HOLD_TRIES; try++) {
		__u32 before = *(volatile __u32 *)&line->held;

		if (before - departure < WEIR_HELD_SPAN ||
		    __sync_val_compare_and_swap(&line->held, before, departure) == before)
			return;
	}
}

static __always_inline bool weir_is_held(const struct weir_line *line, __u64 now_ns)
{
	__u32 since = (now_ns >> WEIR_HELD_SHIFT) - WEIR_HELD_MARGIN;

	return *(volatile __u32 *)&line->held - since < WEIR_HELD_SPAN;
}

static __always_inline bool weir_up_lately(__u32 index, __u32 now)
{
	return now - *weir_up_at(index) <= WEIR_UP_MARGIN_NS >> WEIR_UP_SHIFT;
}

static __always_inline void weir_goes_up(__u32 flow, __u64 now_ns)
{
	__u32 now = now_ns >> WEIR_UP_SHIFT, group = flow / WEIR_UP_GROUP;
	volatile __u32 *of_group = weir_up_at(group);

	*weir_up_at(flow) = now;
	/* Seldom written, as all CPUs read it; and not set back by one that was kept from running. */
	if (*of_group - now >= WEIR_HELD_SPAN)
		*of_group = now;
}

static __always_inline bool weir_went_up(__u32 flow, __u64 now_ns)
{
	__u32 now = now_ns >> WEIR_UP_SHIFT, group = flow / WEIR_UP_GROUP;

	return weir_up_lately(group, now) && weir_up_lately(flow, now);
}

#endif
