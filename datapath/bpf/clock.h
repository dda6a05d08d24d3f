/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks of a class and of everything above it.
 *
 * A packet enters on all levels or on none: the class is read first, its ancestors are charged on the way up, from
 * what this CPU has prepaid (quantum.h), and the class comes last (line.h), as the one clock whose charge
 * others see. An ancestor over its limit gives back what those below it took. What several CPUs let in between
 * reading and charging a class is at most one packet each, and stays charged.
 */
#ifndef WEIR_BPF_CLOCK_H
#define WEIR_BPF_CLOCK_H

#include "weir/abi.h"

#include "line.h"
#include "quantum.h"

enum weir_conformance {
	WEIR_CONFORMS,
	WEIR_OVER_LIMIT,
	WEIR_ANCESTOR_OVER_LIMIT,
};

/* The lines above a class: those from `first`, its parent, up to `from`, which is not one of them, are charged. */
struct weir_climb {
	__u32 first;
	__u32 from; /* 0 = all are */
};

/* Give back what the lines from `index` up to `until`, which is not one of them, have taken. Global, as weir_refill:
 * verified once. */
__attribute__((noinline)) int weir_leave(__u32 index, __u32 until, __u32 bytes)
{
	for (int level = 1; level < WEIR_LEVELS && index != until; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		weir_return_ancestor(line, index, bytes);
		shared = line->shared ? weir_line(line->shared) : NULL;
		if (shared)
			weir_return_ancestor(shared, line->shared, bytes);
		index = line->parent;
	}
	return 0;
}

/* The total of an ancestor; global as well. */
__attribute__((noinline)) int weir_enter_total(__u32 index, struct weir_pace *pace)
{
	struct weir_line *total = weir_line(index);

	return !total || !pace || weir_enter_ancestor(total, index, pace, true);
}

/* Charge a class's ancestors, all or none. `first`: its parent; those below `from` are charged already. */
static __always_inline bool weir_enter_ancestors(__u32 first, __u32 from, struct weir_pace *pace)
{
	bool over = false;
	__u32 index = from;

	for (int level = 1; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index);

		if (!line)
			break;
		over = !weir_enter_ancestor(line, index, pace, true);
		if (over)
			break;
		over = line->shared && !weir_enter_total(line->shared, pace);
		if (over) {
			weir_return_ancestor(line, index, pace->bytes);
			break;
		}
		index = line->parent;
	}
	if (over)
		weir_leave(first, index, pace->bytes);
	return !over;
}

/* Charge a class and all above it, if none is over its limit; pace->departure_tk: when the packet may leave. `climb`: what
 * weir_pass has charged. */
static __always_inline enum weir_conformance weir_enter_rest(struct weir_line *line, struct weir_climb climb,
							     struct weir_pace *pace)
{
	struct weir_line *shared = line->shared ? weir_line(line->shared) : NULL;
	enum weir_conformance conformance = WEIR_CONFORMS;

	pace->departure_tk = pace->now_tk;
	if (weir_over(line, pace))
		conformance = WEIR_OVER_LIMIT;
	else if (shared && weir_over(shared, pace))
		conformance = WEIR_ANCESTOR_OVER_LIMIT;
	if (conformance != WEIR_CONFORMS) {
		if (climb.from != climb.first)
			weir_leave(climb.first, climb.from, pace->bytes);
		return conformance;
	}
	if (!weir_enter_ancestors(climb.first, climb.from, pace))
		return WEIR_ANCESTOR_OVER_LIMIT;
	if (shared)
		weir_depart_after(pace, weir_charge_line(shared, pace));
	weir_depart_after(pace, weir_charge_line(line, pace));
	return WEIR_CONFORMS;
}

/* The same of a packet that nothing is charged for yet. */
static __always_inline enum weir_conformance weir_enter(struct weir_line *line, struct weir_pace *pace)
{
	__u32 first = line->parent;

	return weir_enter_rest(line, (struct weir_climb){ first, first }, pace);
}

/* As weir_enter, where not every packet comes by; verified once. */
__attribute__((noinline)) int weir_enter_called(__u32 index, struct weir_pace *pace)
{
	struct weir_line *line = weir_line(index);

	return pace && line ? weir_enter(line, pace) : WEIR_OVER_LIMIT;
}

/* Take back what a line was charged directly. Exact: an idle clock was pulled up before it
 * was charged, and is there again. */
static __always_inline void weir_refund_line(struct weir_line *line, __u32 bytes)
{
	__u64 cost_tk = weir_cost_tk(*(volatile __u64 *)&line->cost, bytes);

	if (cost_tk)
		__sync_fetch_and_sub(&line->clock_tk, cost_tk);
}

/* Take back the charge of weir_enter, on the CPU that made it: a packet does not leave after all. */
__attribute__((noinline)) int weir_refund(__u32 index, __u32 bytes)
{
	struct weir_line *line = weir_line(index), *shared;

	if (!line)
		return 0;
	weir_refund_line(line, bytes);
	shared = line->shared ? weir_line(line->shared) : NULL;
	if (shared)
		weir_refund_line(shared, bytes);
	return weir_leave(line->parent, 0, bytes);
}

/* Charge one line, whatever its limit. Global, for its stack. */
__attribute__((noinline)) int weir_charge_level(__u32 index, int level, struct weir_pace *pace)
{
	struct weir_line *line = weir_line_of(index);

	if (!line || !pace)
		return 0;
	if (level)
		weir_enter_ancestor(line, index, pace, false);
	else
		weir_charge_line(line, pace);
	return 0;
}

/* Charge a line and all above it whatever their limits: for a packet that passes over them, or was asked about before. */
__attribute__((noinline)) int weir_charge(__u32 index, struct weir_pace *pace)
{
	for (int level = 0; level < WEIR_LEVELS && index && pace; level++) {
		struct weir_line *line = weir_line(index);

		if (!line)
			break;
		weir_charge_level(index, level, pace);
		if (line->shared)
			weir_charge_level(line->shared, level, pace);
		index = line->parent;
	}
	return 0;
}

/* What weir_enter would say; charges nothing. */
static __always_inline enum weir_conformance weir_conforms(__u32 index, const struct weir_pace *pace)
{
	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		if (level ? weir_ancestor_over(line, index, pace) : weir_over(line, pace))
			return level ? WEIR_ANCESTOR_OVER_LIMIT : WEIR_OVER_LIMIT;
		shared = line->shared ? weir_line(line->shared) : NULL;
		if (shared &&
		    (level ? weir_ancestor_over(shared, line->shared, pace) : weir_over(shared, pace)))
			return WEIR_ANCESTOR_OVER_LIMIT;
		index = line->parent;
	}
	return WEIR_CONFORMS;
}

#endif
