/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nearly all packets need not wait: the clocks of their class and of all above it are past, and this CPU has prepaid
 * what the ancestors take. That is found out here line by line, and charged on the way (docs/adr/0274). It is what
 * weir_enter does of such packets.
 *
 * All else ends the way where it is found, before that line is touched: weir_enter_rest goes on from there.
 *
 * There is no call in it, so that all registers are its own. What is needed at the end alone is kept in memory meanwhile
 * (`volatile`, or clang 14 moves everything there and back), and what is read twice is in none.
 */
#ifndef WEIR_BPF_PASS_H
#define WEIR_BPF_PASS_H

#include "weir/abi.h"

#include "clock.h"

#define WEIR_PASS_ANCESTORS 3 /* those above them are entered by weir_enter_rest */
#define WEIR_PASSED (~0ULL)

/* What there is of weir_pass's answer otherwise. */
static __always_inline struct weir_climb weir_climb_of(__u64 passed)
{
	return (struct weir_climb){ .first = passed >> 32, .from = passed };
}

/*
 * Charge an ancestor without a total out of what is prepaid, for a packet that starts by now. False: it is otherwise.
 * What was prepaid before a limit was taken away is charged nothing.
 */
static __always_inline bool weir_pass_ancestor(struct weir_line *line, __u32 index,
					       struct weir_quantum *quanta, __u64 now_tk, __u64 bytes)
{
	struct weir_quantum *quantum;
	__u64 cost_tk, left_tk, start;

	if (line->shared)
		return false;
	quantum = weir_quantum_of(quanta, index);
	if (!weir_owns(quantum, line, index))
		return !*(volatile __u64 *)&line->cost;
	start = weir_prepaid_start(quantum, line);
	if (weir_after(start, now_tk))
		return false;
	cost_tk = weir_cost_tk(*(volatile __u64 *)&line->cost, bytes);
	left_tk = quantum->left_tk;
	if (left_tk < cost_tk)
		return false;
	quantum->left_tk = left_tk - cost_tk;
	quantum->start_tk = start + cost_tk;
	return true;
}

/* Charge a class that starts by now, unless another CPU does at the same time. */
static __always_inline bool weir_pass_class(struct weir_line *line, __u64 now_tk, __u64 bytes,
					    __u32 burst_min)
{
	__u64 cost, clock, start, before;

	asm volatile("" : "+r"(line)); /* in a register again */
	cost = *(volatile __u64 *)&line->cost;
	clock = *(volatile __u64 *)&line->clock_tk;
	if (!cost)
		return true;
	start = weir_floor(line, now_tk, burst_min);
	if (!weir_after(start, clock)) {
		start = clock;
		if (weir_after(start, now_tk))
			return false;
	}
	before = __sync_val_compare_and_swap(&line->clock_tk, clock, start + weir_cost_tk(cost, bytes));
	asm volatile("" : "+r"(before)); /* as in weir_advance */
	return before == clock;
}

/*
 * WEIR_PASSED: all is charged, and the packet leaves at once. Else the lines from the class's parent (upper half) up to
 * one (lower half; 0 = all) are charged, and neither that one nor the class. `quanta`: of this CPU.
 */
static __always_inline __u64 weir_pass(struct weir_line *line, struct weir_quantum *quanta, __u64 now_tk,
				       __u64 bytes, __u32 burst_min)
{
	__u32 lines = weir_line_count, index = line->parent;
	volatile __u32 first = index, burst_least = burst_min;

	if (line->shared || weir_after(*(volatile __u64 *)&line->clock_tk, now_tk))
		goto rest;
#pragma unroll
	for (int level = 0; level < WEIR_PASS_ANCESTORS; level++) {
		struct weir_line *ancestor;

		if (!index)
			break;
		ancestor = weir_row_below(weir_lines, index, lines);
		if (!ancestor || !weir_pass_ancestor(ancestor, index, quanta, now_tk, bytes))
			goto rest;
		index = ancestor->parent;
	}
	if (!index && weir_pass_class(line, now_tk, bytes, burst_least))
		return WEIR_PASSED;
rest:
	return (__u64)first << 32 | index;
}

#endif
