/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of one line (GCRA, ITU-T I.371): the one algorithm for pacing and policing.
 *
 * A line's clock says when everything charged to it so far will have left at its rate. A packet's
 * start is the clock before it was charged; it may leave when that is past. An idle line's clock is
 * pulled up to now - burst: that difference is its credit. A clock more than `limit` ahead of now
 * drops. Policing is limit 0.
 *
 * Concurrency: a charge is one fetch-add, or, for an idle line, one compare-and-swap and a fetch-add
 * when another CPU was first. No charge is ever lost, on any number of CPUs.
 */
#ifndef WEIR_BPF_LINE_H
#define WEIR_BPF_LINE_H

#include "weir/abi.h"

#include "table.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WEIR_TOP_BYTE 7
#else
#define WEIR_TOP_BYTE 0
#endif

/* How a port applies the lines' limits. */
struct weir_pace {
	__u64 now_tk;
	__u64 departure_tk; /* set by weir_enter: when the packet may leave */
	__u64 limit_mask; /* 0 when policing: a packet never waits */
	__u32 burst_min;
	__u32 bytes; /* to charge */
};

WEIR_TABLE(struct weir_line, weir_lines);

const volatile __u32 weir_line_count = WEIR_SECTION_ROWS; /* rows */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_detail);
} weir_details SEC(".maps");

/* NULL: not of the table. */
static __always_inline struct weir_line *weir_line(__u32 index)
{
	return weir_row_below(weir_lines, index, weir_line_count);
}

/* NULL when there is no class. */
static __always_inline struct weir_line *weir_line_of(__u32 index)
{
	return index ? weir_line(index) : NULL;
}

/*
 * Have a line fetched, and to be written, while the packet is worked on: BPF has no prefetch, and a load holds up what
 * follows it even if nobody asks for its value. The byte is 0 and stays so: no line counts 2^56 packets.
 */
static __always_inline void weir_fetch(struct weir_line *line)
{
	((volatile __u8 *)&line->packets)[WEIR_TOP_BYTE] = 0;
}

static __always_inline bool weir_after(__u64 a, __u64 b)
{
	return (__s64)(a - b) > 0;
}

/* Whether a packet that starts then waits longer than the line lets it. */
static __always_inline bool weir_is_over(const struct weir_line *line, __u64 start_tk,
					 const struct weir_pace *pace)
{
	__u64 limit;

	/* Nearly always so. */
	if (!weir_after(start_tk, pace->now_tk))
		return false;
	limit = ((__u64)line->limit << WEIR_TIME_SHIFT) & pace->limit_mask;
	return weir_after(start_tk, pace->now_tk + limit);
}

static __always_inline void weir_depart_after(struct weir_pace *pace, __u64 start_tk)
{
	if (weir_after(start_tk, pace->departure_tk))
		pace->departure_tk = start_tk;
}

static __always_inline __u64 weir_cost_tk(__u64 cost, __u64 bytes)
{
	return (cost * bytes + (1 << (WEIR_COST_SHIFT - 1))) >> WEIR_COST_SHIFT;
}

/* How far back the clock of an idle line may be. */
static __always_inline __u64 weir_floor(const struct weir_line *line, __u64 now_tk, __u32 burst_min)
{
	__u32 burst = line->burst > burst_min ? line->burst : burst_min;

	return now_tk - ((__u64)burst << WEIR_TIME_SHIFT);
}

/* Returns the start of what was charged. */
static __always_inline __u64 weir_advance(struct weir_line *line, __u64 cost_tk, const struct weir_pace *pace)
{
	__u64 floor = weir_floor(line, pace->now_tk, pace->burst_min);
	__u64 clock = *(volatile __u64 *)&line->clock_tk, before;

	if (weir_after(floor, clock)) {
		before = __sync_val_compare_and_swap(&line->clock_tk, clock, floor + cost_tk);
		asm volatile("" : "+r"(before)); /* or clang makes a truth value of the outcome first */
		if (before == clock)
			return floor;
	}
	return __sync_fetch_and_add(&line->clock_tk, cost_tk);
}

static __always_inline bool weir_over(struct weir_line *line, const struct weir_pace *pace)
{
	return line->cost && weir_is_over(line, *(volatile __u64 *)&line->clock_tk, pace);
}

/* Returns the packet's start. */
static __always_inline __u64 weir_charge_line(struct weir_line *line, const struct weir_pace *pace)
{
	__u64 cost = *(volatile __u64 *)&line->cost;

	return cost ? weir_advance(line, weir_cost_tk(cost, pace->bytes), pace) : pace->now_tk;
}

#endif
