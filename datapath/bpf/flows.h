/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sparse flows (voice, games, DNS, the first packets of anything) do not wait behind the bulk of their own
 * class. Each flow of a class with a backlog has a clock that runs at a small part of the class's rate; a
 * flow that is at most one packet ahead of it is sparse, and its packet leaves at once, or right after the
 * flow's own packet before it, so that no flow is reordered.
 *
 * What leaves early is charged as ever: it pushes the bulk back and the limit stays exact. And all that leaves
 * early may take half of the class's rate (weir_backlog.sparse_tk), so a sweep of many flows bursts no
 * further than the same class's backlog allows.
 *
 * The table is bounded: sets of WEIR_FLOW_WAYS, a new flow takes the place of one that is idle, and where
 * none is, it waits like bulk. Who finds a place later does not overtake what was turned away from its set before.
 * How flows are told apart: flow_hash.h.
 *
 * Concurrency: an entry is claimed by compare-and-swap on `key`. Its clocks are plain stores: a flow is
 * handled by one CPU at a time nearly always, and what a race loses is one packet of a flow's own clock.
 */
#ifndef WEIR_BPF_FLOWS_H
#define WEIR_BPF_FLOWS_H

#include "weir/abi.h"

#include "clock.h"

/* A flow is sparse below 1/32 of the class's rate, at least 128 kbit/s (a call), at most a quarter. */
#define WEIR_SPARSE_PART 32
#define WEIR_SPARSE_PART_MOST 4
#define WEIR_SPARSE_COST ((8000000000ULL << WEIR_TICK_SHIFT << WEIR_COST_SHIFT) / 128000)
#define WEIR_SPARSE_BYTES 1514 /* how far ahead of its clock a sparse flow may be */
#define WEIR_SPARSE_PACKET 3028 /* more in one (GSO) packet is not sparse */
#define WEIR_BULK_BYTES                                                                                      \
	(4 * WEIR_SPARSE_BYTES) /* no further does a clock run, so that bulk that ends is forgiven */

const volatile __u32 weir_flow_mask = 0; /* the loader: entries - 1 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_flow_clock);
} weir_flows SEC(".maps");

/* `last_tk`: where the departure of the flow's last packet is, or of those that were turned away with it. */
static __always_inline struct weir_flow_clock *weir_flow_find(__u32 hash, __u32 owner, __u64 now_tk,
							      __u64 **last_tk)
{
	__u64 mixed = ((__u64)owner << 32 | hash) * 0x9e3779b97f4a7c15ULL;
	__u32 set = (mixed >> 32) & weir_flow_mask & ~(WEIR_FLOW_WAYS - 1U);
	__u64 key = (__u64)owner << 32 | hash, held;
	struct weir_flow_clock *flow, *first = NULL, *idle = NULL;

	for (__u32 way = 0; way < WEIR_FLOW_WAYS; way++) {
		__u32 index = set + way;

		flow = bpf_map_lookup_elem(&weir_flows, &index);
		if (!flow)
			return NULL;
		if (!first)
			first = flow;
		*last_tk = &flow->departure_tk;
		if (flow->key == key)
			return flow;
		if (!weir_after(flow->clock_tk, now_tk) && !weir_after(flow->departure_tk, now_tk))
			idle = flow;
	}
	if (!first)
		return NULL;
	*last_tk = &first->turned_away_tk;
	if (!idle)
		return NULL;
	held = idle->key;
	if (__sync_val_compare_and_swap(&idle->key, held, key) != held)
		return NULL;
	*last_tk = &idle->departure_tk;
	if (weir_after(first->turned_away_tk, now_tk))
		idle->departure_tk = first->turned_away_tk;
	return idle;
}

/* What a flow pays per byte of its own clock. */
static __always_inline __u64 weir_sparse_cost(__u64 cost)
{
	__u64 most = cost * WEIR_SPARSE_PART_MOST, part = cost * WEIR_SPARSE_PART;

	if (part <= WEIR_SPARSE_COST)
		return part;
	return most > WEIR_SPARSE_COST ? most : WEIR_SPARSE_COST;
}

/* How far what leaves early may be ahead: two packets, at half of the class's rate. */
static __always_inline __u64 weir_sparse_room(__u64 cost)
{
	return (2 * cost * 2 * WEIR_SPARSE_BYTES) >> WEIR_COST_SHIFT;
}

static __always_inline bool weir_sparse_budget(struct weir_backlog *backlog, __u64 now_tk, __u64 cost,
					       __u32 bytes)
{
	__u64 clock = *(volatile __u64 *)&backlog->sparse_tk;
	__u64 charge = (2 * cost * bytes) >> WEIR_COST_SHIFT;

	if (weir_after(clock, now_tk + weir_sparse_room(cost)))
		return false;
	if (weir_after(now_tk, clock) &&
	    __sync_val_compare_and_swap(&backlog->sparse_tk, clock, now_tk + charge) == clock)
		return true;
	__sync_fetch_and_add(&backlog->sparse_tk, charge);
	return true;
}

/* Charge the flow's own clock; whether this packet may leave before the bulk. `cost` is the class's. */
static __always_inline bool weir_flow_is_sparse(struct weir_flow_clock *flow, struct weir_backlog *backlog,
						__u64 now_tk, __u64 cost, __u32 bytes)
{
	__u64 own = weir_sparse_cost(cost), most = (own * WEIR_BULK_BYTES) >> WEIR_COST_SHIFT, ahead = 0,
	      clock;

	if (weir_after(flow->clock_tk, now_tk))
		ahead = flow->clock_tk - now_tk;
	clock = ahead + ((own * (bytes < WEIR_BULK_BYTES ? bytes : WEIR_BULK_BYTES)) >> WEIR_COST_SHIFT);
	flow->clock_tk = now_tk + (clock < most ? clock : most);
	return ahead <= (own * WEIR_SPARSE_BYTES) >> WEIR_COST_SHIFT && bytes <= WEIR_SPARSE_PACKET &&
	       weir_sparse_budget(backlog, now_tk, cost, bytes);
}

#endif
