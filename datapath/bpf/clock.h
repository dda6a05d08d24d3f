/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks of a class and of everything above it.
 *
 * All levels are read before any is charged, so a dropped packet is charged nowhere; what several CPUs
 * let in between their reads and charges is at most one packet each, and stays charged. The class itself
 * is charged packet by packet (line.h), its ancestors in quanta (quantum.h).
 */
#ifndef WEIR_BPF_CLOCK_H
#define WEIR_BPF_CLOCK_H

#include "weir/abi.h"

#include "line.h"
#include "quantum.h"

enum weir_conformance { WEIR_CONFORMS, WEIR_OVER_LIMIT, WEIR_ANCESTOR_OVER_LIMIT };

static __always_inline bool weir_level_over(struct weir_line *line, __u32 index, int level,
					    const struct weir_pace *pace)
{
	return level ? weir_ancestor_over(line, index, pace) : weir_over(line, pace);
}

static __always_inline enum weir_conformance weir_conforms(__u32 index, const struct weir_pace *pace)
{
	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		if (weir_level_over(line, index, level, pace))
			return level ? WEIR_ANCESTOR_OVER_LIMIT : WEIR_OVER_LIMIT;
		if (line->shared) {
			shared = weir_line(line->shared);
			if (shared && weir_level_over(shared, line->shared, level, pace))
				return WEIR_ANCESTOR_OVER_LIMIT;
		}
		index = line->parent;
	}
	return WEIR_CONFORMS;
}

/* Returns the later of `departure` and the packet's start on this line. */
static __always_inline __u64 weir_charge_level(struct weir_line *line, __u32 index, int level,
					       const struct weir_pace *pace, __u64 departure)
{
	__u64 start = level ? weir_charge_ancestor(line, index, pace) : weir_charge_line(line, pace);

	return weir_after(start, departure) ? start : departure;
}

/* Charge the line and all above it; returns when the packet may leave: the latest of its starts. */
static __always_inline __u64 weir_charge(__u32 index, const struct weir_pace *pace)
{
	__u64 departure = pace->now_tk;

	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		departure = weir_charge_level(line, index, level, pace, departure);
		shared = line->shared ? weir_line(line->shared) : NULL;
		if (shared)
			departure = weir_charge_level(shared, line->shared, level, pace, departure);
		index = line->parent;
	}
	return departure;
}

#endif
