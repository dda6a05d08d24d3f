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
#define WEIR_OWNER_PAIR 0x40000000U

/* A class that a packet is charged to. */
struct weir_payer {
	struct weir_line *line;
	struct weir_subqueue *subqueue; /* NULL: the class has none */
	__u32 index; /* of the line; 0 = nobody */
};

struct weir_waiting {
	struct weir_pace *pace;
	struct weir_payer payer; /* whose packet it is; of two, the one who holds it back */
	__u32 other; /* line of the other end, if both are customers; 0 = it is not */
	__u32 other_host; /* its sub-queue */
	__u16 ecn;
	__u16 l3_offset;
	__u32 segments;
	__u32 ip_bytes;
};

/* Whose backlog it is that a packet waits in: its sub-queue's or its class's. */
struct weir_owner {
	struct weir_backlog *backlog;
	__u64 cost;
	__u32 id; /* of those who pay: a flow between two customers is one, on either side */
	bool is_host;
};

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
	const struct weir_subqueue *subqueue = wait->payer.subqueue;

	owner->id = wait->payer.index;
	owner->backlog = NULL;
	owner->cost = 0;
	owner->is_host = subqueue && subqueue->host;
	if (owner->is_host) {
		owner->backlog = &subqueue->host->backlog;
		owner->id = WEIR_OWNER_HOST | (__u32)subqueue->host->key;
		owner->cost = subqueue->row->cost;
	}
	if (!owner->backlog)
		owner->backlog = bpf_map_lookup_elem(&weir_waits, &wait->payer.index);
	if (!owner->cost)
		owner->cost = weir_limiting_cost(wait->payer.index);
	if (wait->other)
		owner->id = WEIR_OWNER_PAIR | (wait->payer.index ^ wait->other);
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

static __always_inline void weir_set_departure(struct __sk_buff *skb, const struct weir_waiting *wait,
					       __u64 departure_ns)
{
	struct weir_line *other = weir_line_of(wait->other);

	if (wait->payer.line)
		weir_hold(wait->payer.line, departure_ns);
	if (other)
		weir_hold(other, departure_ns);
	/* A local TCP sender paces by itself: the later of both. */
	if (skb->tstamp_type == BPF_SKB_TSTAMP_DELIVERY_MONO && skb->tstamp >= departure_ns)
		return;
	/* The helper knows IP alone; what is inside a PPPoE session or behind a tag in the packet has its time in the same place. */
	if (bpf_skb_set_tstamp(skb, departure_ns, BPF_SKB_TSTAMP_DELIVERY_MONO))
		skb->tstamp = departure_ns;
}

static __always_inline void weir_count_both(const struct weir_waiting *wait)
{
	struct weir_line *other = weir_line_of(wait->other);

	if (wait->payer.line)
		weir_count_sent(wait->payer.line, wait->segments, wait->ip_bytes);
	if (other)
		weir_count_sent(other, wait->segments, wait->ip_bytes);
}

/* Not before the flow's own packet before it. */
static __always_inline void weir_send_sparse(struct __sk_buff *skb, struct weir_flow_clock *flow,
					     const struct weir_waiting *wait)
{
	__u64 delay_ns = 0;

	if (weir_after(flow->departure_tk, wait->pace->now_tk)) {
		delay_ns = (flow->departure_tk - wait->pace->now_tk) >> WEIR_TICK_SHIFT;
		weir_set_departure(skb, wait, flow->departure_tk >> WEIR_TICK_SHIFT);
	}
	weir_count_both(wait);
	weir_count_delay(&wait->payer.index, delay_ns / 1000);
}

/* Take back what the other end was charged, its sub-queue included. */
static __noinline int weir_refund_other(__u32 index, __u32 host_index, __u32 bytes)
{
	struct weir_line *line = weir_line_of(index);
	struct weir_subqueue subqueue = {};
	__u32 row = line ? line->flags >> WEIR_LINE_ROW_SHIFT : 0;

	weir_refund(index, bytes);
	subqueue.row = row ? bpf_map_lookup_elem(&weir_subqueues, &row) : NULL;
	if (!subqueue.row)
		return 0;
	subqueue.host = bpf_map_lookup_elem(&weir_hosts, &host_index);
	if (subqueue.host && subqueue.host->key >> 32 != index)
		subqueue.host = NULL;
	subqueue.full_tk = subqueue.host ? &subqueue.host->full_tk : &subqueue.row->shared_tk;
	weir_subqueue_refund(&subqueue, bytes);
	return 0;
}

/* Counted at the class, also where it is a sub-queue's law that dropped: that is where readers look. */
static __always_inline bool weir_drop_early(struct weir_waiting *wait)
{
	struct weir_backlog *of_class = bpf_map_lookup_elem(&weir_waits, &wait->payer.index);

	weir_refund(wait->payer.index, wait->pace->bytes);
	if (wait->payer.subqueue)
		weir_subqueue_refund(wait->payer.subqueue, wait->pace->bytes);
	if (wait->other)
		weir_refund_other(wait->other, wait->other_host, wait->pace->bytes);
	if (of_class)
		__sync_fetch_and_add(&of_class->early_packets, wait->segments);
	weir_count_drop(&wait->payer.index, wait->segments, wait->ip_bytes, false);
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
	__u64 now_tk = wait->pace->now_tk, delay_ns, target_ns, *last_tk = NULL;
	struct weir_flow_clock *flow;
	struct weir_owner owner;
	enum weir_fate fate;

	weir_owner_of(wait, &owner);
	if (!owner.backlog)
		return true;
	flow = weir_flow_find(weir_packet_hash(skb, wait->l3_offset), owner.id, now_tk, &last_tk);
	if (flow && weir_flow_is_sparse(flow, owner.backlog, now_tk, owner.cost, wait->pace->bytes)) {
		weir_send_sparse(skb, flow, wait);
		return true;
	}
	/* Clocks go back: another CPU's drop takes back its charge, and what this one prepaid lies before another's. */
	if (last_tk)
		weir_depart_after(wait->pace, *last_tk);
	delay_ns = (wait->pace->departure_tk - now_tk) >> WEIR_TICK_SHIFT;
	target_ns = weir_target_ns(owner.cost);
	weir_note_delay(owner.backlog, now_tk >> WEIR_TICK_SHIFT, delay_ns, target_ns);
	if (owner.is_host)
		weir_note_at_class(wait->payer.index, now_tk >> WEIR_TICK_SHIFT, delay_ns);
	fate = weir_fate(owner.backlog, wait->ecn, delay_ns, target_ns);
	if (fate == WEIR_EARLY_DROP)
		return weir_drop_early(wait);
	if (last_tk)
		*last_tk = wait->pace->departure_tk;
	weir_set_departure(skb, wait, wait->pace->departure_tk >> WEIR_TICK_SHIFT);
	if (fate == WEIR_MARK && bpf_skb_ecn_set_ce(skb) == 1)
		weir_count_mark(&wait->payer.index, wait->segments);
	weir_count_both(wait);
	weir_count_delay(&wait->payer.index, delay_ns / 1000);
	return true;
}

/* A packet of a class over its limit, which is not charged yet. Returns whether it is sparse: then it is charged and leaves. */
static __noinline bool weir_pass_over(struct __sk_buff *skb, struct weir_waiting *wait)
{
	struct weir_owner owner;
	struct weir_flow_clock *flow;
	__u64 *last_tk = NULL;

	if (weir_far_over(wait->payer.index, wait->pace->now_tk))
		return false;
	weir_owner_of(wait, &owner);
	if (!owner.backlog)
		return false;
	flow = weir_flow_find(weir_packet_hash(skb, wait->l3_offset), owner.id, wait->pace->now_tk, &last_tk);
	if (!flow ||
	    !weir_flow_is_sparse(flow, owner.backlog, wait->pace->now_tk, owner.cost, wait->pace->bytes))
		return false;
	weir_charge(wait->payer.index, wait->pace);
	if (wait->payer.subqueue)
		weir_subqueue_charge(wait->payer.subqueue, wait->pace);
	weir_send_sparse(skb, flow, wait);
	return true;
}

#endif
