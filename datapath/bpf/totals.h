/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Totals on a port in HTB mode. A tree belongs to one port and a total (RouterOS `total-*`) is charged from
 * two, so totals are policed here and everything else is the tree's: no other clock is touched.
 */
#ifndef WEIR_BPF_TOTALS_H
#define WEIR_BPF_TOTALS_H

#include "clock.h"
#include "lookup6.h"

static __always_inline bool weir_has_totals(void)
{
	__u32 zero = 0;
	struct weir_meta *meta = bpf_map_lookup_elem(&weir_meta, &zero);

	return meta && *(volatile __u64 *)&meta->totals;
}

/* False when a total of the line or of one above it is over its limit; else all of them are charged. */
static __always_inline bool weir_charge_totals(__u32 index, const struct weir_pace *pace)
{
	__u32 totals[WEIR_LEVELS] = {};

	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index), *total;

		if (!line)
			break;
		total = line->shared ? weir_line(line->shared) : NULL;
		if (total && weir_over(total, pace))
			return false;
		totals[level] = line->shared;
		index = line->parent;
	}
	for (int level = 0; level < WEIR_LEVELS; level++) {
		struct weir_line *total = totals[level] ? weir_line(totals[level]) : NULL;

		if (total)
			weir_charge_line(total, pace);
	}
	return true;
}

#endif
