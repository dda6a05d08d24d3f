/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose upload is full: then the firewall opens no new connection for it (WEIR_MARK_FULL). A packet is dropped by the clocks
 * when it leaves, and by then connection tracking has kept an entry of it: a customer of 1 Mbit/s would fill the table
 * at the speed of his cable.
 *
 * A class is full when what has been let in does not fit any more: where nothing waits, when its clock is ahead of
 * now; else when what came now would wait long enough to be dropped early (law.h), and new flows have used up what leaves early
 * (flows.h). So a customer whose bulk fills his queue still opens connections, and one who opens more than fit
 * opens as many as fit.
 *
 * Nothing is written. Functions that take numbers only are global: the verifier looks at them once.
 */
#ifndef WEIR_BPF_FULL_H
#define WEIR_BPF_FULL_H

#include "weir/abi.h"

#include "flows.h"
#include "hosts.h"
#include "law.h"
#include "wait.h"

static __always_inline bool weir_sparse_is_spent(const struct weir_backlog *backlog, __u64 cost, __u64 now_tk)
{
	return weir_after(*(volatile __u64 *)&backlog->sparse_tk, now_tk + weir_sparse_room(cost));
}

/* Whether packets with this clock would be dropped, or most of them. */
static __always_inline bool weir_clock_is_full(__u64 clock_tk, __u64 cost, const struct weir_backlog *backlog,
					       bool policed, __u64 now_tk)
{
	if (!cost || !weir_after(clock_tk, now_tk))
		return false;
	if (policed || !backlog)
		return policed;
	return clock_tk - now_tk > weir_target_ns(cost) << WEIR_TICK_SHIFT >> 1 &&
	       weir_sparse_is_spent(backlog, cost, now_tk);
}

/* The class itself or, if it has no limit of its own, the nearest above that has one. */
__noinline int weir_line_is_full(__u32 index, __u32 policed, __u64 now_tk)
{
	struct weir_backlog *backlog = bpf_map_lookup_elem(&weir_waits, &index);

	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index);

		if (!line || line->flags & WEIR_LINE_FORK)
			break;
		if (line->cost)
			return weir_clock_is_full(*(volatile __u64 *)&line->clock_tk, line->cost, backlog,
						  policed, now_tk);
		index = line->parent;
	}
	return false;
}

/* The sub-queue at this place, of a class with some. */
__noinline int weir_host_is_full(__u32 index, __u32 host_index, __u32 burst_min, __u64 now_tk)
{
	struct weir_line *line = weir_line(index);
	__u32 row = line ? line->flags >> WEIR_LINE_ROW_SHIFT : 0;
	struct weir_subqueues *subqueues = bpf_map_lookup_elem(&weir_subqueues, &row);
	struct weir_subqueue found = {};

	if (!row || !subqueues || !weir_host_is_of(host_index, index))
		return false;
	weir_subqueue_at(&found, subqueues, index, host_index, burst_min);
	return found.host && weir_clock_is_full(*(volatile __u64 *)found.full_tk - found.burst_tk,
						subqueues->cost, &found.host->backlog, burst_min, now_tk);
}

/* What the mark says of a packet; `host`: its sub-queue, 0 = none is known. */
static __noinline __u32 weir_full_mark(const struct weir_port *port, __u32 slot, __u32 host)
{
	__u64 now_tk = bpf_ktime_get_ns() << WEIR_TICK_SHIFT;
	__u32 index = slot * 2 + WEIR_UPLOAD, burst_min;
	bool policed;

	if (!port)
		return 0;
	policed = port->more_roles & WEIR_ROLE_POLICED >> WEIR_MORE_ROLES_SHIFT;
	burst_min = policed ? port->burst_min : 0;
	if (weir_line_is_full(index, policed, now_tk) ||
	    (host && weir_host_is_full(index, host, burst_min, now_tk)))
		return WEIR_MARK_FULL;
	return 0;
}

#endif
