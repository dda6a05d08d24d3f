/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that may not leave at once. Nothing here is reached, and none of its maps touched, by a packet that
 * may: the price of short queues is paid by those who have one.
 *
 *   sparse flows leave at once (flows.h), also when the class is over its limit, up to twice that limit;
 *   the others wait for their departure time, or are dropped early or marked (law.h).
 *
 * A packet is charged before its fate is known, and gets its charge back if it is dropped.
 * Functions that take numbers only are global: the verifier looks at them once and not at every call.
 */
#ifndef WEIR_BPF_WAIT_H
#define WEIR_BPF_WAIT_H

#include "weir/abi.h"

#include "clock.h"
#include "counters.h"
#include "flow_hash.h"
#include "flows.h"
#include "held.h"
#include "hosts.h"
#include "law.h"

#define WEIR_OWNER_HOST 0x80000000U

struct weir_waiting {
	struct weir_pace *pace;
	struct weir_line *line;
	struct weir_subqueue *subqueue; /* NULL: the class has none */
	__u32 index; /* of the line */
	__u16 ecn;
	__u16 l3_offset;
	__u32 segments;
	__u32 ip_bytes;
};

/* Whose backlog it is that a packet waits in: its sub-queue's or its class's. */
struct weir_owner {
	struct weir_backlog *backlog;
	__u64 cost;
	__u32 id;
};

/* Take back a charge, for a packet that does not leave after all. Exact: an idle clock was pulled up before it
 * was charged, and is there again. */
static __always_inline void weir_refund_line(struct weir_line *line, __u32 bytes)
{
	__u64 cost_tk = weir_cost_tk(*(volatile __u64 *)&line->cost, bytes);

	if (cost_tk)
		__sync_fetch_and_sub(&line->clock_tk, cost_tk);
}

__noinline int weir_refund(__u32 index, __u32 bytes)
{
	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		weir_refund_line(line, bytes);
		shared = line->shared ? weir_line(line->shared) : NULL;
		if (shared)
			weir_refund_line(shared, bytes);
		index = line->parent;
	}
	return 0;
}

/* As weir_enter, for classes with sub-queues. */
__noinline int weir_enter_called(__u32 index, struct weir_pace *pace)
{
	struct weir_line *line = weir_line(index);

	return pace && line ? weir_enter(line, pace) : WEIR_OVER_LIMIT;
}

static __always_inline void weir_charge_level(struct weir_line *line, __u32 index, int level,
					      struct weir_pace *pace)
{
	if (level)
		weir_enter_ancestor(line, index, pace, false);
	else
		weir_charge_line(line, pace);
}

/* Charge a line and all above it whatever their limits: for a packet that passes over them. */
__noinline int weir_charge(__u32 index, struct weir_pace *pace)
{
	for (int level = 0; level < WEIR_LEVELS && index && pace; level++) {
		struct weir_line *line = weir_line(index), *shared;

		if (!line)
			break;
		weir_charge_level(line, index, level, pace);
		shared = line->shared ? weir_line(line->shared) : NULL;
		if (shared)
			weir_charge_level(shared, line->shared, level, pace);
		index = line->parent;
	}
	return 0;
}

/* Ticks per byte of the line or, if it has no limit of its own, of the nearest above that has one. */
__noinline __u64 weir_limiting_cost(__u32 index)
{
	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index);

		if (!line)
			break;
		if (line->cost)
			return line->cost;
		index = line->parent;
	}
	return 0;
}

static __always_inline void weir_owner_of(const struct weir_waiting *wait, struct weir_owner *owner)
{
	const struct weir_subqueue *subqueue = wait->subqueue;

	owner->id = wait->index;
	owner->backlog = NULL;
	owner->cost = 0;
	if (subqueue && subqueue->host) {
		owner->backlog = &subqueue->host->backlog;
		owner->id = WEIR_OWNER_HOST | (__u32)subqueue->host->key;
		owner->cost = subqueue->row->cost;
	}
	if (!owner->backlog)
		owner->backlog = bpf_map_lookup_elem(&weir_waits, &wait->index);
	if (!owner->cost)
		owner->cost = weir_limiting_cost(wait->index);
}

/* Whether a line, or one above it, is more than twice its limit ahead: not even sparse flows pass there. */
__noinline int weir_far_over(__u32 index, __u64 now_tk)
{
	for (int level = 0; level < WEIR_LEVELS && index; level++) {
		struct weir_line *line = weir_line(index);

		if (!line)
			break;
		if (line->cost &&
		    weir_after(line->clock_tk, now_tk + ((__u64)line->limit << (WEIR_TIME_SHIFT + 1))))
			return true;
		index = line->parent;
	}
	return false;
}

static __always_inline void weir_set_departure(struct __sk_buff *skb, struct weir_line *line,
					       __u64 departure_ns)
{
	weir_hold(line, departure_ns);
	/* A local TCP sender paces by itself: the later of both. */
	if (skb->tstamp_type == BPF_SKB_TSTAMP_DELIVERY_MONO && skb->tstamp >= departure_ns)
		return;
	/* The helper knows IP alone; what is inside a PPPoE session or behind a tag in the packet has its time in the same place. */
	if (bpf_skb_set_tstamp(skb, departure_ns, BPF_SKB_TSTAMP_DELIVERY_MONO))
		skb->tstamp = departure_ns;
}

/* Not before the flow's own packet before it. */
static __always_inline void weir_send_sparse(struct __sk_buff *skb, struct weir_flow_clock *flow,
					     const struct weir_waiting *wait)
{
	__u64 delay_ns = 0;

	if (weir_after(flow->departure_tk, wait->pace->now_tk)) {
		delay_ns = (flow->departure_tk - wait->pace->now_tk) >> WEIR_TICK_SHIFT;
		weir_set_departure(skb, wait->line, flow->departure_tk >> WEIR_TICK_SHIFT);
	}
	weir_count_sent(wait->line, wait->segments, wait->ip_bytes);
	weir_count_delay(&wait->index, delay_ns / 1000);
}

/* Counted at the class, also where it is a sub-queue's law that dropped: that is where readers look. */
static __always_inline bool weir_drop_early(struct weir_waiting *wait)
{
	struct weir_backlog *of_class = bpf_map_lookup_elem(&weir_waits, &wait->index);

	weir_refund(wait->index, wait->pace->bytes);
	if (wait->subqueue)
		weir_subqueue_refund(wait->subqueue, wait->pace->bytes);
	if (of_class)
		__sync_fetch_and_add(&of_class->early_packets, wait->segments);
	weir_count_drop(&wait->index, wait->segments, wait->ip_bytes, false);
	return false;
}

/* What a sub-queue's packet waited is the class's wait, too: that is where readers look. */
static __noinline int weir_note_at_class(__u32 index, __u64 now_ns, __u64 delay_ns)
{
	struct weir_backlog *of_class = bpf_map_lookup_elem(&weir_waits, &index);

	if (of_class)
		weir_note_worst(of_class, now_ns, delay_ns);
	return 0;
}

/* A packet that was charged and would leave later than now. Returns whether it stays. */
static __noinline bool weir_wait(struct __sk_buff *skb, struct weir_waiting *wait)
{
	__u64 now_tk = wait->pace->now_tk, delay_ns, target_ns;
	struct weir_flow_clock *flow;
	struct weir_owner owner;
	enum weir_fate fate;

	weir_owner_of(wait, &owner);
	if (!owner.backlog)
		return true;
	flow = weir_flow_find(weir_packet_hash(skb, wait->l3_offset), owner.id, now_tk);
	if (flow && weir_flow_is_sparse(flow, owner.backlog, now_tk, owner.cost, wait->pace->bytes)) {
		weir_send_sparse(skb, flow, wait);
		return true;
	}
	delay_ns = (wait->pace->departure_tk - now_tk) >> WEIR_TICK_SHIFT;
	target_ns = weir_target_ns(owner.cost);
	weir_note_delay(owner.backlog, now_tk >> WEIR_TICK_SHIFT, delay_ns, target_ns);
	if (owner.id & WEIR_OWNER_HOST)
		weir_note_at_class(wait->index, now_tk >> WEIR_TICK_SHIFT, delay_ns);
	fate = weir_fate(owner.backlog, wait->ecn, delay_ns, target_ns);
	if (fate == WEIR_EARLY_DROP)
		return weir_drop_early(wait);
	if (flow)
		flow->departure_tk = wait->pace->departure_tk;
	weir_set_departure(skb, wait->line, wait->pace->departure_tk >> WEIR_TICK_SHIFT);
	if (fate == WEIR_MARK && bpf_skb_ecn_set_ce(skb) == 1)
		weir_count_mark(&wait->index, wait->segments);
	weir_count_sent(wait->line, wait->segments, wait->ip_bytes);
	weir_count_delay(&wait->index, delay_ns / 1000);
	return true;
}

/* A packet of a class over its limit, not charged yet. Returns whether it is sparse: then it is charged and leaves. */
static __noinline bool weir_pass_over(struct __sk_buff *skb, struct weir_waiting *wait)
{
	struct weir_owner owner;
	struct weir_flow_clock *flow;

	if (weir_far_over(wait->index, wait->pace->now_tk))
		return false;
	weir_owner_of(wait, &owner);
	if (!owner.backlog)
		return false;
	flow = weir_flow_find(weir_packet_hash(skb, wait->l3_offset), owner.id, wait->pace->now_tk);
	if (!flow ||
	    !weir_flow_is_sparse(flow, owner.backlog, wait->pace->now_tk, owner.cost, wait->pace->bytes))
		return false;
	weir_charge(wait->index, wait->pace);
	if (wait->subqueue)
		weir_subqueue_charge(wait->subqueue, wait->pace);
	weir_send_sparse(skb, flow, wait);
	return true;
}

#endif
