/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Departure clocks (GCRA, ITU-T I.371): the one algorithm for pacing and policing.
 *
 * A line's clock says when everything charged to it so far will have left at its rate. A packet's
 * start is the clock before it was charged; it may leave when that is past. An idle line's clock is
 * pulled up to now - burst: that difference is its credit. A clock more than `limit` ahead of now
 * drops. Policing is limit 0.
 *
 * Concurrency: a charge is one fetch-add, or, for an idle line, one compare-and-swap and a fetch-add
 * when another CPU was first. No charge is ever lost, on any number of CPUs. All levels are read
 * before any is charged, so a dropped packet is charged nowhere; what several CPUs let in between their
 * reads and charges is at most one packet each, and stays charged.
 */
#ifndef WEIR_BPF_CLOCK_H
#define WEIR_BPF_CLOCK_H

#include "weir/abi.h"

enum weir_conformance { WEIR_CONFORMS, WEIR_OVER_LIMIT, WEIR_ANCESTOR_OVER_LIMIT };

/* How a port applies the lines' limits. */
struct weir_pace {
	__u64 now_tk;
	__u64 limit_mask; /* 0 when policing: a packet never waits */
	__u32 burst_min;
	__u32 bytes; /* to charge */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_line);
} weir_lines SEC(".maps");

static __always_inline struct weir_line *weir_line(__u32 index)
{
	return bpf_map_lookup_elem(&weir_lines, &index);
}

static __always_inline bool weir_after(__u64 a, __u64 b)
{
	return (__s64)(a - b) > 0;
}

static __always_inline bool weir_over(struct weir_line *line, const struct weir_pace *pace)
{
	__u64 limit = ((__u64)line->limit << WEIR_TIME_SHIFT) & pace->limit_mask;

	return line->cost && weir_after(*(volatile __u64 *)&line->clock_tk, pace->now_tk + limit);
}

/* Returns the packet's start. */
static __always_inline __u64 weir_charge_line(struct weir_line *line, const struct weir_pace *pace)
{
	__u64 cost = *(volatile __u64 *)&line->cost;
	__u32 burst = line->burst > pace->burst_min ? line->burst : pace->burst_min;
	__u64 floor = pace->now_tk - ((__u64)burst << WEIR_TIME_SHIFT);
	__u64 clock;

	if (!cost)
		return floor;
	cost = (cost * pace->bytes + (1 << (WEIR_COST_SHIFT - 1))) >> WEIR_COST_SHIFT;
	clock = *(volatile __u64 *)&line->clock_tk;
	if (weir_after(floor, clock) &&
	    __sync_val_compare_and_swap(&line->clock_tk, clock, floor + cost) == clock)
		return floor;
	return __sync_fetch_and_add(&line->clock_tk, cost);
}

static __always_inline enum weir_conformance weir_conforms(__u32 index, const struct weir_pace *pace)
{
	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		if (weir_over(line, pace))
			return level ? WEIR_ANCESTOR_OVER_LIMIT : WEIR_OVER_LIMIT;
		if (line->shared) {
			shared = weir_line(line->shared);
			if (shared && weir_over(shared, pace))
				return WEIR_ANCESTOR_OVER_LIMIT;
		}
		index = line->parent;
	}
	return WEIR_CONFORMS;
}

/* Charge the line and all above it; returns when the packet may leave: the latest of its starts. */
static __always_inline __u64 weir_charge(__u32 index, const struct weir_pace *pace)
{
	__u64 departure = pace->now_tk, start;

	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		start = weir_charge_line(line, pace);
		if (weir_after(start, departure))
			departure = start;
		if (line->shared) {
			shared = weir_line(line->shared);
			start = shared ? weir_charge_line(shared, pace) : departure;
			if (weir_after(start, departure))
				departure = start;
		}
		index = line->parent;
	}
	return departure;
}

#endif
