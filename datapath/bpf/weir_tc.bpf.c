// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paced path. Two programs on every routed port, by tcx links (clsact where there is no tcx):
 *
 *   weir_ingress  classifies upload by source address, before NAT rewrites it, and leaves the class in
 *                 the reserved bits of skb->mark (WEIR_MARK_MASK), which survive forwarding and NAT.
 *   weir_egress   finds the class: download by destination, which NAT has restored by then; else the
 *                 port's interface target, or that of the bridge whose member it is, if that yields to
 *                 its members; else the upload class in the mark. Then it charges the
 *                 class and everything above it and, by the port's mode, paces (departure time for
 *                 fq), polices (drops), or hands the packet to its HTB class.
 *
 * Maps: all pinned and owned by the loader; struct comments in weir/abi.h say who writes what.
 * Concurrency: both run on any number of CPUs at once; the only shared writes are atomics on clocks
 * and counters (clock.h), and per-CPU counters of ports.
 * Return: TCX_NEXT (equal to TC_ACT_UNSPEC), so that other programs on the hook still run, or drop.
 */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "clock.h"
#include "counters.h"
#include "far.h"
#include "hosts.h"
#include "lookup.h"
#include "parse.h"
#include "ports.h"
#include "round_trip.h"
#include "tagged.h"
#include "totals.h"
#include "wait.h"

#define WEIR_NEXT (-1) /* TCX_NEXT and TC_ACT_UNSPEC */

/* What a packet weighs. A GSO packet leaves as `segments` packets with headers of their own. */
struct weir_weight {
	__u32 segments;
	__u32 ip_bytes;
	__u32 l3_offset;
};

static __always_inline int weir_parse_once(struct __sk_buff *skb, const struct weir_port *port,
					   enum weir_end which, struct weir_packet *packet)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (!(port->roles & WEIR_ROLE_L3))
		return weir_parse_ethernet(data, end, which, packet);
	packet->l3_offset = 0;
	return weir_parse_ip(data, end, skb->protocol, which, packet);
}

/* Headers may lie in fragments: then make them linear and look again. */
static __always_inline int weir_parse(struct __sk_buff *skb, const struct weir_port *port,
				      enum weir_end which, struct weir_packet *packet)
{
	int reason = weir_parse_once(skb, port, which, packet);
	__u32 linear = skb->data_end - skb->data, wanted = skb->len;

	if (reason != WEIR_SHORT || linear >= wanted)
		return reason;
	if (wanted > WEIR_HEADERS_MAX)
		wanted = WEIR_HEADERS_MAX;
	if (bpf_skb_pull_data(skb, wanted))
		return WEIR_SHORT;
	return weir_parse_once(skb, port, which, packet);
}

/* The qdisc layer sets wire_len to the length of all segments with their headers before this hook. */
static __always_inline struct weir_weight weir_weigh(struct __sk_buff *skb, __u32 l3_offset)
{
	struct weir_weight weight = { .segments = 1, .l3_offset = l3_offset };
	__u32 wire = skb->wire_len > skb->len ? skb->wire_len : skb->len;

	if (skb->gso_segs > 1)
		weight.segments = skb->gso_segs;
	weight.ip_bytes = wire - weight.segments * l3_offset;
	return weight;
}

static __always_inline __u32 weir_charged_bytes(const struct weir_weight *weight, __s32 overhead_bytes)
{
	__s64 bytes = weight->ip_bytes + (__s64)weight->segments * overhead_bytes;

	if (bytes < 0)
		return 0;
	return bytes > WEIR_MAX_BYTES ? WEIR_MAX_BYTES : bytes;
}

static __noinline int weir_see_round_trip(struct __sk_buff *skb, __u32 index, __u32 l3_offset)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (l3_offset <= WEIR_HEADERS_MAX)
		weir_trip_see(index, data + l3_offset, end);
	return 0;
}

/* What the functions of wait.h need, gathered only when one is called. */
#define WEIR_WAITING                                                                                         \
	((struct weir_waiting){ .pace = &pace,                                                               \
				.line = line,                                                                \
				.subqueue = subqueue,                                                        \
				.index = index,                                                              \
				.ecn = ecn,                                                                  \
				.l3_offset = weight->l3_offset,                                              \
				.segments = weight->segments,                                                \
				.ip_bytes = weight->ip_bytes })

/* `subqueue` is NULL at compile time for classes that have none. */
static __always_inline int weir_pace(struct __sk_buff *skb, const struct weir_port *port, __u32 index,
				     struct weir_line *line, __u32 ecn, const struct weir_weight *weight,
				     struct weir_subqueue *subqueue, __u64 now_ns)
{
	bool paced = port->mode != WEIR_POLICE;
	struct weir_pace pace = {
		.now_tk = now_ns << WEIR_TICK_SHIFT,
		.limit_mask = paced ? ~0ULL : 0,
		.burst_min = port->burst_min,
		.bytes = weir_charged_bytes(weight, port->overhead_bytes),
	};
	enum weir_conformance conformance = WEIR_OVER_LIMIT;

	if (weir_is_looked_at(index, pace.now_tk))
		weir_see_round_trip(skb, index, weight->l3_offset);
	if (!subqueue)
		conformance = weir_enter(line, &pace);
	else if (!weir_subqueue_over(subqueue, &pace))
		conformance = weir_enter_called(index, &pace);
	if (conformance != WEIR_CONFORMS) {
		if (paced && weir_pass_over(skb, &WEIR_WAITING))
			return WEIR_NEXT;
		if (subqueue && subqueue->host)
			__sync_fetch_and_add(&subqueue->host->drops, 1);
		weir_count_drop(&index, weight->segments, weight->ip_bytes,
				conformance == WEIR_ANCESTOR_OVER_LIMIT);
		return TC_ACT_SHOT;
	}
	if (subqueue)
		weir_depart_after(&pace, weir_subqueue_charge(subqueue, &pace));
	if (paced && weir_after(pace.departure_tk, pace.now_tk))
		return weir_wait(skb, &WEIR_WAITING) ? WEIR_NEXT : TC_ACT_SHOT;
	weir_count_sent(line, weight->segments, weight->ip_bytes);
	return WEIR_NEXT;
}

/* HTB holds the packet; only what both directions share is judged here. */
static __always_inline int weir_hand_to_tree(struct __sk_buff *skb, const struct weir_port *port, __u32 index,
					     struct weir_line *line, const struct weir_weight *weight)
{
	struct weir_pace pace = { .burst_min = port->burst_min };
	struct weir_detail *detail;

	if (weir_is_looked_at(index, bpf_ktime_get_coarse_ns() << WEIR_TICK_SHIFT))
		weir_see_round_trip(skb, index, weight->l3_offset);
	if (weir_has_totals()) {
		pace.now_tk = bpf_ktime_get_ns() << WEIR_TICK_SHIFT;
		pace.bytes = weir_charged_bytes(weight, port->overhead_bytes);
		if (!weir_charge_totals(index, &pace)) {
			weir_count_drop(&index, weight->segments, weight->ip_bytes, true);
			return TC_ACT_SHOT;
		}
	}
	detail = bpf_map_lookup_elem(&weir_details, &index);
	if (detail)
		skb->priority = detail->htb_classid;
	weir_count_sent(line, weight->segments, weight->ip_bytes);
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

/* A class with sub-queues: the packet's host first. */
static __noinline int weir_pace_host(struct __sk_buff *skb, const struct weir_port *port, __u32 index,
				     const struct weir_packet *destination, const struct weir_weight *weight)
{
	struct weir_line *line = weir_line(index);
	__u32 row = line ? line->flags >> WEIR_LINE_ROW_SHIFT : 0;
	struct weir_subqueues *subqueues = bpf_map_lookup_elem(&weir_subqueues, &row);
	struct weir_subqueue subqueue = {};
	__u32 host = skb->tc_index;
	__u64 mixed = 0;

	if (!line || !subqueues)
		return WEIR_NEXT;
	if (!weir_host_is_of(host, index)) {
		if (subqueues->key & WEIR_BY_DESTINATION)
			mixed = weir_host_mix(subqueues, destination);
		if (subqueues->key & WEIR_BY_SOURCE)
			mixed ^= weir_host_mix_source(skb, port, subqueues);
		host = weir_host_find(index, mixed, row);
	}
	weir_subqueue_at(&subqueue, subqueues, index, host, port->burst_min);
	return weir_pace(skb, port, index, line, destination->ecn, weight, &subqueue, bpf_ktime_get_ns());
}

/* An upload's sub-queue by its source, which NAT is about to rewrite. */
static __noinline __u32 weir_host_before_nat(__u32 index, const struct weir_packet *source)
{
	struct weir_line *line = weir_line(index);
	__u32 row = line ? line->flags >> WEIR_LINE_ROW_SHIFT : 0;
	struct weir_subqueues *subqueues = row ? bpf_map_lookup_elem(&weir_subqueues, &row) : NULL;

	if (!subqueues || subqueues->key != WEIR_BY_SOURCE)
		return 0;
	return weir_host_find(index, weir_host_mix(subqueues, source) * WEIR_BY_SOURCE_FACTOR, row);
}

static __noinline __u32 weir_classify_above(struct __sk_buff *skb, const struct weir_port *member)
{
	__u32 place;

	return member ? weir_slot_above(weir_port_find(skb->ingress_ifindex, &place), member) : 0;
}

/* The line a leaving packet belongs to; 0 = none. */
static __always_inline __u32 weir_classify_egress(struct __sk_buff *skb, const struct weir_port *port,
						  const struct weir_packet *packet)
{
	__u32 slot = weir_lookup(port, packet);

	if (!slot)
		slot = port->target_slot;
	if (!slot && port->above_slot)
		slot = weir_classify_above(skb, port);
	if (slot)
		return slot * 2 + WEIR_DOWNLOAD;
	slot = (skb->mark & WEIR_MARK_SLOT) >> WEIR_MARK_SHIFT;
	return slot ? slot * 2 + WEIR_UPLOAD : 0;
}

/* The class that the packet came to is a fork: look at both of its ends. Returns a line, 0 = none. */
static __always_inline __u32 weir_classify_far(struct __sk_buff *skb, const struct weir_port *port,
					       const struct weir_packet *packet)
{
	struct weir_ends ends = { .destination = *packet };
	struct weir_port *from;
	__u32 place;

	if (weir_parse(skb, port, WEIR_SOURCE, &ends.source) != WEIR_OK)
		return 0;
	ends.destination_slot = weir_lookup(port, packet);
	ends.mark_slot = (skb->mark & WEIR_MARK_SLOT) >> WEIR_MARK_SHIFT;
	from = weir_port_find(skb->ingress_ifindex, &place);
	return weir_choose(from, port, &ends);
}

/* Whether the packet has the tag of a VLAN interface whose program has dealt with it. */
static __always_inline bool weir_is_of_vlan(struct __sk_buff *skb, const struct weir_port *lower)
{
	__u32 place = WEIR_PORTS;
	struct weir_port *port;

	if (skb->vlan_present)
		place = weir_tagged_place(lower->ifindex, skb->vlan_proto, skb->vlan_tci & WEIR_TAG_MASK);
	port = bpf_map_lookup_elem(&weir_ports, &place);
	return port && port->roles & WEIR_ROLE_SHAPE && port->mode != WEIR_NONE;
}

/*
 * Where packets leave by two ports, one upon the other (VLANs, tunnels, PPP, bridges): whether the first one's program has
 * dealt with this one. The mark says so to the ports below; it stays with the packet in whatever it is wrapped.
 */
static __noinline bool weir_is_shaped_above(struct __sk_buff *skb, const struct weir_port *port)
{
	bool above;

	if (!port)
		return false;
	above = skb->mark & WEIR_MARK_CHARGED || weir_is_of_vlan(skb, port);
	if (above || port->more_roles & WEIR_ROLE_CARRIED >> WEIR_MORE_ROLES_SHIFT)
		skb->mark |= WEIR_MARK_CHARGED;
	if (above && port->mode == WEIR_HTB)
		skb->priority = 0; /* a class of the tree above; this tree passes it unshaped */
	return above;
}

SEC("tc")
int weir_ingress(struct __sk_buff *skb)
{
	struct weir_packet packet = {};
	struct weir_port *port;
	__u32 place, slot;

	port = weir_port_find(skb->ifindex, &place);
	if (!port || !(port->roles & WEIR_ROLE_CLASSIFY))
		return WEIR_NEXT;
	slot = 0;
	if (weir_parse(skb, port, WEIR_SOURCE, &packet) == WEIR_OK) {
		slot = weir_lookup(port, &packet);
		if (!slot && port->more_roles & WEIR_ROLE_YIELDS >> WEIR_MORE_ROLES_SHIFT)
			slot = (skb->mark & WEIR_MARK_SLOT) >> WEIR_MARK_SHIFT; /* the member's */
		if (!slot)
			slot = port->target_slot;
	}
	skb->mark = (skb->mark & ~WEIR_MARK_MASK) | slot << WEIR_MARK_SHIFT;
	if (slot && port->roles & WEIR_ROLE_HOSTS)
		skb->tc_index = weir_host_before_nat(slot * 2 + WEIR_UPLOAD, &packet);
	return WEIR_NEXT;
}

SEC("tc")
int weir_egress(struct __sk_buff *skb)
{
	struct weir_packet packet = {};
	struct weir_weight weight;
	struct weir_port *port;
	struct weir_line *line;
	__u32 place, index;
	__u64 now_ns;
	int reason;

	port = weir_port_find(skb->ifindex, &place);
	if (!port || port->mode == WEIR_NONE)
		return WEIR_NEXT;
	if ((port->roles & (WEIR_ROLE_SHAPE | WEIR_ROLE_TRUNK)) != WEIR_ROLE_SHAPE &&
	    (!(port->roles & WEIR_ROLE_SHAPE) || weir_is_shaped_above(skb, port)))
		return WEIR_NEXT;
	reason = weir_parse(skb, port, WEIR_DESTINATION, &packet);
	if (reason != WEIR_OK) {
		weir_port_count(place, reason, skb->len);
		return WEIR_NEXT;
	}
	index = weir_classify_egress(skb, port, &packet);
	line = weir_line_of(index);
	if (line)
		weir_fetch(line);
	/* Takes its time, while the line is fetched. */
	now_ns = port->mode == WEIR_HTB ? 0 : bpf_ktime_get_ns();
	if (line && line->flags & WEIR_LINE_FORK) {
		index = weir_classify_far(skb, port, &packet);
		line = weir_line_of(index);
	}
	if (!line || !(line->flags & WEIR_LINE_LIVE)) {
		weir_port_count(place, index ? WEIR_STALE_CLASS : WEIR_NO_CLASS, skb->len);
		return WEIR_NEXT;
	}
	weight = weir_weigh(skb, packet.l3_offset);
	if (port->mode == WEIR_HTB)
		return weir_hand_to_tree(skb, port, index, line, &weight);
	if (line->flags & WEIR_LINE_SUBQUEUES)
		return weir_pace_host(skb, port, index, &packet, &weight);
	return weir_pace(skb, port, index, line, packet.ecn, &weight, NULL, now_ns);
}

char LICENSE[] SEC("license")
= "GPL";
