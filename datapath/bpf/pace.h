/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a packet whose class is known: it is paced or policed by the clocks of the class and of all above it,
 * or handed to its HTB class.
 *
 * A packet between two customers is charged to both, the sender's upload and the receiver's download, or to neither,
 * and leaves when both allow it. The one that allows it later holds it in its backlog: that one's early drop and
 * sparse flows decide. In HTB mode the tree holds the receiver's class alone, so the sender's clocks police.
 */
#ifndef WEIR_BPF_PACE_H
#define WEIR_BPF_PACE_H

#include "weir/abi.h"

#include "clock.h"
#include "counters.h"
#include "far.h"
#include "hosts.h"
#include "pass.h"
#include "ports.h"
#include "read.h"
#include "round_trip.h"
#include "totals.h"
#include "wait.h"

#define WEIR_NEXT (-1) /* TCX_NEXT and TC_ACT_UNSPEC */

static __noinline int weir_see_round_trip(struct __sk_buff *skb, __u32 index, __u32 l3_offset)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (l3_offset <= WEIR_HEADERS_MAX)
		weir_trip_see(index, data + l3_offset, end);
	return 0;
}

/* Losses on either side of the router, apart from the above for the stack. Global: verified once, not for each call. */
__attribute__((noinline)) int weir_see_loss(struct __sk_buff *skb, __u32 index, __u32 l3_offset)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (l3_offset <= WEIR_HEADERS_MAX)
		weir_loss_see(index, data + l3_offset, end, false);
	return 0;
}

/* A packet of one customer whose class has no sub-queues, in a number: nothing of it need lie in memory. */
#define WEIR_ONE_L3_SHIFT 48
#define WEIR_ONE_ECN_SHIFT 32
#define WEIR_ONE_PLAIN (1ULL << 34) /* its ECN is in the frame (weir_is_plain_frame) */

static __always_inline __u64 weir_one(__u32 index, __u32 l3_offset, __u32 ecn)
{
	return (__u64)ecn << WEIR_ONE_ECN_SHIFT | (__u64)l3_offset << WEIR_ONE_L3_SHIFT | index;
}

static __always_inline __u32 weir_one_ecn(struct __sk_buff *skb, __u64 one)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (one & WEIR_ONE_PLAIN && weir_is_plain_frame(data, end))
		return weir_plain_ip(data)->tos & 3;
	return one >> WEIR_ONE_ECN_SHIFT & 3;
}

/* What such a packet is charged. */
static __always_inline struct weir_pace weir_pace_of(const struct weir_port *port,
						     const struct weir_weight *weight, __u64 now_tk)
{
	return (struct weir_pace){
		.now_tk = now_tk,
		.limit_mask = port->mode != WEIR_POLICE ? ~0ULL : 0,
		.burst_min = port->burst_min,
		.bytes = weir_charged_bytes(weight, port->overhead_bytes),
	};
}

/* What is to be known of the packet before it is charged. Global, as is what it calls. */
__attribute__((noinline)) int weir_look(struct __sk_buff *skb, __u32 index, __u32 l3_offset)
{
	weir_see_round_trip(skb, index, l3_offset);
	weir_see_loss(skb, index, l3_offset);
	return 0;
}

/*
 * Not all that weir_pass asks for holds: the rest is charged, and the packet leaves at once, waits, or is dropped.
 * `passed`: what weir_pass said.
 */
__attribute__((noinline)) int weir_pace_rest(struct __sk_buff *skb, __u64 one, __u64 now_tk, __u64 passed)
{
	struct weir_weight weight = weir_weigh(skb, one >> WEIR_ONE_L3_SHIFT);
	struct weir_waiting wait = {
		.payer.index = one,
		.ecn = weir_one_ecn(skb, one),
		.l3_offset = weight.l3_offset,
		.segments = weight.segments,
		.ip_bytes = weight.ip_bytes,
	};
	enum weir_conformance conformance;
	const struct weir_port *port;
	struct weir_pace pace;
	__u32 place;

	port = weir_port_find(skb->ifindex, &place);
	wait.payer.line = weir_line(wait.payer.index);
	if (!wait.payer.line || !port)
		return WEIR_NEXT;
	pace = weir_pace_of(port, &weight, now_tk);
	wait.pace = &pace;
	conformance = weir_enter_rest(wait.payer.line, weir_climb_of(passed), &pace);
	if (conformance == WEIR_CONFORMS) {
		if (pace.limit_mask && weir_after(pace.departure_tk, now_tk))
			return weir_wait(skb, &wait) ? WEIR_NEXT : TC_ACT_SHOT;
		weir_count_sent(wait.payer.line, wait.segments, wait.ip_bytes);
		return WEIR_NEXT;
	}
	if (pace.limit_mask && weir_pass_over(skb, &wait))
		return WEIR_NEXT;
	weir_count_drop(&wait.payer.index, wait.segments, wait.ip_bytes,
			conformance == WEIR_ANCESTOR_OVER_LIMIT);
	return TC_ACT_SHOT;
}

/*
 * A packet of one customer whose class has no sub-queues. `index` and `line`: its class's; `more`: what weir_one says
 * besides, perhaps a constant. What is volatile is kept in memory as in pass.h.
 */
static __always_inline int weir_pace(struct __sk_buff *skb, const struct weir_port *port, __u32 index,
				     __u64 more, struct weir_line *line)
{
	__u64 now_tk = bpf_ktime_get_ns() << WEIR_TICK_SHIFT, passed;
	struct weir_quantum *quanta = weir_quanta_here();
	struct weir_weight weight;
	struct __sk_buff *volatile its_skb = skb;
	volatile __u32 its_index = index, segments, ip_bytes;

	if (weir_is_looked_at(index, now_tk))
		weir_look(skb, index, more >> WEIR_ONE_L3_SHIFT);
	weight = weir_weigh(skb, more >> WEIR_ONE_L3_SHIFT);
	segments = weight.segments;
	ip_bytes = weight.ip_bytes;
	asm volatile("" : "+r"(quanta), "+r"(now_tk)); /* these from here on in registers */
	passed = weir_pass(line, quanta, now_tk, weir_charged_bytes(&weight, port->overhead_bytes),
			   port->burst_min);
	if (passed != WEIR_PASSED)
		return weir_pace_rest(its_skb, more | its_index, now_tk, passed);
	weir_count_sent(line, segments, ip_bytes);
	return WEIR_NEXT;
}

/* In a function of its own for its stack. */
static __noinline __u64 weir_host_mix_source(struct __sk_buff *skb, const struct weir_port *port,
					     const struct weir_subqueues *subqueues)
{
	struct weir_packet source = {};

	if (!port || !subqueues || weir_parse(skb, port, WEIR_SOURCE, &source) != WEIR_OK)
		return 0;
	return weir_host_mix(subqueues, &source) * WEIR_BY_SOURCE_FACTOR;
}

/* Where in weir_hosts the sub-queue of this packet is, of a line with sub-queues; 0 = it has no place. */
static __noinline __u32 weir_host_of(struct __sk_buff *skb, const struct weir_port *port, __u32 index,
				     const struct weir_packet *destination)
{
	struct weir_line *line = weir_line(index);
	__u32 row = line ? line->flags >> WEIR_LINE_ROW_SHIFT : 0, host = skb->tc_index;
	struct weir_subqueues *subqueues = bpf_map_lookup_elem(&weir_subqueues, &row);
	__u64 mixed = 0;

	if (!subqueues || !destination || weir_host_is_of(host, index))
		return host;
	if (subqueues->key & WEIR_BY_DESTINATION)
		mixed = weir_host_mix(subqueues, destination);
	if (subqueues->key & WEIR_BY_SOURCE)
		mixed ^= weir_host_mix_source(skb, port, subqueues);
	return weir_host_find(index, mixed, row);
}

/* The packet's sub-queue into `payer`, if its class has some. Returns its place. */
static __always_inline __u32 weir_find_subqueue(struct __sk_buff *skb, const struct weir_port *port,
						const struct weir_packet *destination,
						struct weir_payer *payer, struct weir_subqueue *subqueue)
{
	__u32 row = payer->line->flags >> WEIR_LINE_ROW_SHIFT, host;
	struct weir_subqueues *subqueues;

	if (!(payer->line->flags & WEIR_LINE_SUBQUEUES))
		return 0;
	subqueues = bpf_map_lookup_elem(&weir_subqueues, &row);
	if (!subqueues)
		return 0;
	host = weir_host_of(skb, port, payer->index, destination);
	weir_subqueue_at(subqueue, subqueues, payer->index, host, port->burst_min);
	payer->subqueue = subqueue;
	return host;
}

/* The packet of a class over its limit. */
static __noinline int weir_drop_over(const struct weir_payer *payer, const struct weir_weight *weight,
				     int conformance)
{
	if (payer->subqueue && payer->subqueue->host)
		__sync_fetch_and_add(&payer->subqueue->host->drops, 1);
	weir_count_drop(&payer->index, weight->segments, weight->ip_bytes,
			conformance == WEIR_ANCESTOR_OVER_LIMIT);
	return TC_ACT_SHOT;
}

/*
 * Charge the sender of a packet to another customer: all levels or none. False: it was over a limit, and the packet
 * is counted as dropped. When it may leave for his part is in `weight` afterwards.
 */
static __noinline bool weir_enter_sender(struct __sk_buff *skb, const struct weir_port *port,
					 const struct weir_packet *destination, struct weir_weight *weight)
{
	struct weir_payer sender = { .index = weight->sender };
	struct weir_subqueue subqueue = {};
	struct weir_pace pace = {
		.now_tk = weight->now_ns << WEIR_TICK_SHIFT,
		.limit_mask = port->mode == WEIR_EDT ? ~0ULL : 0,
		.burst_min = port->burst_min,
		.bytes = weir_charged_bytes(weight, port->overhead_bytes),
	};
	int conformance = WEIR_OVER_LIMIT;

	sender.line = weir_line(sender.index);
	if (!sender.line)
		return true;
	weight->sender_host = weir_find_subqueue(skb, port, destination, &sender, &subqueue);
	if (!sender.subqueue || !weir_subqueue_over(&subqueue, &pace))
		conformance = weir_enter_called(sender.index, &pace);
	if (conformance != WEIR_CONFORMS) {
		weir_drop_over(&sender, weight, conformance);
		return false;
	}
	if (sender.subqueue)
		weir_depart_after(&pace, weir_subqueue_charge(&subqueue, &pace));
	weight->sender_tk = pace.departure_tk;
	return true;
}

/* As weir_pace, where there are sub-queues, or a sender, who is charged already. */
static __noinline int weir_pace_payers(struct __sk_buff *skb, const struct weir_port *port, __u32 index,
				       const struct weir_packet *destination,
				       const struct weir_weight *weight)
{
	struct weir_subqueue subqueue = {};
	struct weir_pace pace = {
		.now_tk = weight->now_ns << WEIR_TICK_SHIFT,
		.limit_mask = port->mode != WEIR_POLICE ? ~0ULL : 0,
		.burst_min = port->burst_min,
		.bytes = weir_charged_bytes(weight, port->overhead_bytes),
	};
	struct weir_waiting wait = {
		.pace = &pace,
		.payer.index = index,
		.other = weight->sender,
		.other_host = weight->sender_host,
		.ecn = destination->ecn,
		.l3_offset = weight->l3_offset,
		.segments = weight->segments,
		.ip_bytes = weight->ip_bytes,
	};
	int conformance = WEIR_OVER_LIMIT;
	__u32 host;

	wait.payer.line = weir_line(index);
	if (!wait.payer.line)
		return WEIR_NEXT;
	host = weir_find_subqueue(skb, port, destination, &wait.payer, &subqueue);
	if (weir_is_looked_at(index, pace.now_tk)) {
		weir_see_round_trip(skb, index, weight->l3_offset);
		weir_see_loss(skb, index, weight->l3_offset);
	}
	if (!wait.payer.subqueue || !weir_subqueue_over(&subqueue, &pace))
		conformance = weir_enter_called(index, &pace);
	if (conformance != WEIR_CONFORMS) {
		if (pace.limit_mask && weir_pass_over(skb, &wait))
			return WEIR_NEXT;
		if (wait.other)
			weir_refund_other(wait.other, wait.other_host, pace.bytes);
		return weir_drop_over(&wait.payer, weight, conformance);
	}
	if (wait.payer.subqueue)
		weir_depart_after(&pace, weir_subqueue_charge(&subqueue, &pace));
	if (wait.other && weir_after(weight->sender_tk, pace.departure_tk)) {
		pace.departure_tk = weight->sender_tk;
		wait.payer = (struct weir_payer){ .line = weir_line(wait.other), .index = wait.other };
		wait.other = index;
		wait.other_host = host;
	}
	if (pace.limit_mask && weir_after(pace.departure_tk, pace.now_tk))
		return weir_wait(skb, &wait) ? WEIR_NEXT : TC_ACT_SHOT;
	weir_count_both(&wait);
	return WEIR_NEXT;
}

/* What both directions share is judged, and the packet not charged. False: it was over such a limit. */
static __noinline bool weir_totals_let_pass(const struct weir_port *port, __u32 index,
					    const struct weir_weight *weight)
{
	struct weir_pace pace = {
		.now_tk = bpf_ktime_get_ns() << WEIR_TICK_SHIFT,
		.burst_min = port->burst_min,
		.bytes = weir_charged_bytes(weight, port->overhead_bytes),
	};

	if (weir_charge_totals(index, &pace))
		return true;
	weir_count_drop(&index, weight->segments, weight->ip_bytes, true);
	if (weight->sender)
		weir_refund_other(weight->sender, weight->sender_host, pace.bytes);
	return false;
}

/* HTB holds the packet; what both directions share is judged here, and the sender before. */
static __always_inline int weir_hand_to_tree(struct __sk_buff *skb, const struct weir_port *port, __u32 index,
					     struct weir_line *line, const struct weir_packet *packet,
					     __u32 sender)
{
	struct weir_weight weight = weir_weigh(skb, packet->l3_offset);
	struct weir_detail *detail;

	weight.sender = sender;
	if (sender) {
		weight.now_ns = bpf_ktime_get_ns();
		if (!weir_enter_sender(skb, port, packet, &weight))
			return TC_ACT_SHOT;
	}
	if (weir_is_looked_at(index, bpf_ktime_get_coarse_ns() << WEIR_TICK_SHIFT))
		weir_see_round_trip(skb, index, weight.l3_offset);
	if (weir_has_totals() && !weir_totals_let_pass(port, index, &weight))
		return TC_ACT_SHOT;
	detail = bpf_map_lookup_elem(&weir_details, &index);
	if (detail)
		skb->priority = detail->htb_classid;
	weir_count_sent(line, weight.segments, weight.ip_bytes);
	line = weir_line_of(sender);
	if (line)
		weir_count_sent(line, weight.segments, weight.ip_bytes);
	return WEIR_NEXT;
}

#endif
