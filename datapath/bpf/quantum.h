/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charging ancestors ahead, so that the cache line of a root is not the lock that it replaced.
 *
 * Every CPU charges the clock of an ancestor a quantum of WEIR_QUANTUM_NS at once and gives its packets their
 * starts within it, touching only memory of its own; the line itself is then only read. What is prepaid is
 * used to the last tick, also after a change of rate or parent, because it is time, as the clock is. So
 *   - in the long run exactly what was sent is charged;
 *   - with n CPUs a clock is at most n quanta ahead of what was sent: so much later a packet may start,
 *     and so much smaller a policer's burst is;
 *   - credit of a CPU that was silent starts at most WEIR_QUANTUM_LAG_NS before the clock, and starts on
 *     one CPU never go back: the order of a flow holds.
 * A packet that costs more than an eighth of a quantum is charged by itself: a line of which a packet
 * takes 6 us has 160,000 of them a second at most, on all CPUs together, and is not hot.
 *
 * Concurrency: one CPU's entries are used with bottom halves disabled (XDP, tc), so by one packet at a
 * time. An entry belongs to one line at a time; a line whose place is taken is charged directly. A place
 * not refilled for WEIR_QUANTUM_KEEP_NS may be taken over: what was left of it is lost, which is one
 * quantum in that time at most. A new class in an old slot has another age and finds nothing prepaid.
 */
#ifndef WEIR_BPF_QUANTUM_H
#define WEIR_BPF_QUANTUM_H

#include "weir/abi.h"

#include "line.h"

#define WEIR_QUANTUM_NS 50000ULL
#define WEIR_QUANTUM_PACKETS 8
#define WEIR_QUANTUM_LAG_NS 1000000ULL
#define WEIR_QUANTUM_KEEP_NS 100000000ULL
#define WEIR_QUANTUM_TK (WEIR_QUANTUM_NS << WEIR_TICK_SHIFT)

#ifndef WEIR_SECTION_CPUS
#define WEIR_SECTION_CPUS 1
#endif

WEIR_TABLE(struct weir_quantum, weir_quanta); /* WEIR_QUANTA rows of each CPU in turn */

const volatile __u32 weir_cpu_mask = WEIR_SECTION_CPUS - 1; /* all CPUs' numbers are within */

/* Those of this CPU. */
static __always_inline struct weir_quantum *weir_quanta_here(void)
{
	__u64 cpu = bpf_get_smp_processor_id() & weir_cpu_mask;

	return weir_row(weir_quanta, cpu * WEIR_QUANTA);
}

static __always_inline struct weir_quantum *weir_quantum_of(struct weir_quantum *here, __u32 index)
{
	here += index * 0x9e3779b1U / (0x100000000ULL / WEIR_QUANTA); /* Fibonacci hashing */
	asm volatile("" : "+r"(here)); /* or clang adds it up for each field */
	return here;
}

static __always_inline struct weir_quantum *weir_quantum(__u32 index)
{
	return weir_quantum_of(weir_quanta_here(), index);
}

static __always_inline bool weir_owns(const struct weir_quantum *quantum, const struct weir_line *line,
				      __u32 index)
{
	return quantum->line == index && quantum->age == (line->flags & WEIR_LINE_AGE);
}

static __always_inline bool weir_in_use(const struct weir_quantum *quantum, const struct weir_pace *pace)
{
	return pace->now_tk - quantum->taken_tk < WEIR_QUANTUM_KEEP_NS << WEIR_TICK_SHIFT;
}

static __always_inline __u64 weir_prepaid_start(const struct weir_quantum *quantum,
						const struct weir_line *line)
{
	__u64 earliest = *(volatile __u64 *)&line->clock_tk - (WEIR_QUANTUM_LAG_NS << WEIR_TICK_SHIFT);

	return weir_after(earliest, quantum->start_tk) ? earliest : quantum->start_tk;
}

static __always_inline bool weir_has_prepaid(const struct weir_quantum *quantum, const struct weir_line *line,
					     __u32 index, __u64 cost_tk)
{
	return quantum->line == index && quantum->left_tk >= cost_tk &&
	       quantum->age == (line->flags & WEIR_LINE_AGE);
}

/* Whether a packet would be over the limit; what is prepaid lies before the clock. */
static __always_inline bool weir_ancestor_over(struct weir_line *line, __u32 index,
					       const struct weir_pace *pace)
{
	struct weir_quantum *quantum;

	if (!weir_over(line, pace))
		return false;
	quantum = weir_quantum(index);
	if (!weir_has_prepaid(quantum, line, index, weir_cost_tk(line->cost, pace->bytes)))
		return true;
	return weir_is_over(line, weir_prepaid_start(quantum, line), pace);
}

/* Returns the packet's start: that of the new quantum, also when the old one paid for its first bytes. */
__attribute__((noinline)) __u64 weir_refill(struct weir_quantum *quantum, struct weir_line *line, __u32 index,
					    __u64 cost_tk, const struct weir_pace *pace)
{
	__u64 ahead = cost_tk > WEIR_QUANTUM_TK / WEIR_QUANTUM_PACKETS ? 0 : WEIR_QUANTUM_TK;
	__u64 start, rest = 0;

	if (!quantum || !line || !pace)
		return 0;
	if (weir_owns(quantum, line, index))
		rest = quantum->left_tk;
	else if (!ahead || (quantum->line != index && weir_in_use(quantum, pace)))
		return weir_advance(line, cost_tk, pace);
	start = weir_advance(line, cost_tk - rest + ahead, pace);
	quantum->line = index;
	quantum->age = line->flags & WEIR_LINE_AGE;
	quantum->left_tk = ahead;
	quantum->start_tk = start + cost_tk - rest;
	quantum->taken_tk = pace->now_tk;
	return start;
}

/* False when what starts then is over the limit and that is asked. What starts by now is not, and puts nothing off. */
static __always_inline bool weir_start_at(const struct weir_line *line, __u64 start_tk,
					  struct weir_pace *pace, bool judge)
{
	if (!weir_after(start_tk, pace->now_tk))
		return true;
	if (judge && weir_is_over(line, start_tk, pace))
		return false;
	weir_depart_after(pace, start_tk);
	return true;
}

/* Charge an ancestor, unless it is over its limit and that is asked. */
static __always_inline bool weir_enter_ancestor(struct weir_line *line, __u32 index, struct weir_pace *pace,
						bool judge)
{
	__u64 cost = *(volatile __u64 *)&line->cost, cost_tk, start;
	struct weir_quantum *quantum;

	if (!cost)
		return true;
	cost_tk = weir_cost_tk(cost, pace->bytes);
	quantum = weir_quantum(index);
	if (weir_has_prepaid(quantum, line, index, cost_tk)) {
		start = weir_prepaid_start(quantum, line);
		if (!weir_start_at(line, start, pace, judge))
			return false;
		quantum->left_tk -= cost_tk;
		quantum->start_tk = start + cost_tk;
		return true;
	}
	if (judge && weir_over(line, pace))
		return false;
	start = weir_refill(quantum, line, index, cost_tk, pace);
	return weir_start_at(line, start, pace, false);
}

/*
 * Take the charge of weir_enter_ancestor back, on the CPU that charged. What was paid ahead becomes prepaid again: taken
 * from the clock, it would be missing behind what packets were given before, and later ones would start before them.
 */
static __always_inline void weir_return_ancestor(struct weir_line *line, __u32 index, __u32 bytes)
{
	__u64 cost_tk = weir_cost_tk(*(volatile __u64 *)&line->cost, bytes);
	struct weir_quantum *quantum = weir_quantum(index);

	if (weir_owns(quantum, line, index)) {
		quantum->start_tk -= cost_tk;
		if (cost_tk <= WEIR_QUANTUM_TK / WEIR_QUANTUM_PACKETS) {
			quantum->left_tk += cost_tk;
			return;
		}
	}
	if (cost_tk)
		__sync_fetch_and_sub(&line->clock_tk, cost_tk);
}

#endif
