// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paced path. Two programs on every routed port, by tcx links (clsact where there is no tcx):
 *
 *   weir_ingress  drops what may not come in by the port (checks.h), classifies upload by source address, before
 *                 NAT rewrites it, and leaves the class in the reserved bits of skb->mark (WEIR_MARK_MASK),
 *                 which survive forwarding and NAT; and whether that is full (full.h).
 *   weir_egress   finds the class: download by destination, which NAT has restored by then; else the
 *                 port's interface target, or that of the bridge whose member it is, if that yields to
 *                 its members; else the upload class in the mark. Then it charges the
 *                 class and everything above it, the sender's class as well where both ends have one (pace.h), and, by the port's mode, paces (departure time for
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

#include "admit.h"
#include "bounded.h"
#include "checks.h"
#include "far.h"
#include "full.h"
#include "hosts.h"
#include "lookup.h"
#include "pace.h"
#include "plain.h"
#include "ports.h"
#include "read.h"
#include "tagged.h"

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

/* What the stack may route although it is not understood here: never to be let through without a class. */
static __always_inline bool weir_is_unread(int reason)
{
	return reason == WEIR_DEEP_TAGS || reason == WEIR_UNREADABLE;
}

/* The line a leaving packet belongs to; 0 = none. `packet`: NULL at compile time if it could not be read. */
static __always_inline __u32 weir_classify_egress(struct __sk_buff *skb, const struct weir_port *port,
						  const struct weir_packet *packet)
{
	__u32 slot = packet ? weir_lookup(port, packet) : 0;

	if (!slot)
		slot = port->target_slot;
	if (!slot && port->above_slot)
		slot = weir_classify_above(skb, port);
	if (slot)
		return slot * 2 + WEIR_DOWNLOAD;
	slot = (skb->mark & WEIR_MARK_SLOT) >> WEIR_MARK_SHIFT;
	return slot ? slot * 2 + WEIR_UPLOAD : 0;
}

/* The class that the packet came to is a fork: look at both of its ends. Returns a line, 0 = none. In a function of its
 * own for its stack: two packets, which clang 19 would keep beside all that pacing takes. Global, so that the verifier
 * looks at it once. */
__noinline __u32 weir_classify_far(struct __sk_buff *skb, const struct weir_port *port,
				   const struct weir_packet *packet)
{
	struct weir_ends ends = {};
	struct weir_port *from;
	__u32 place;

	if (!port || !packet || weir_parse(skb, port, WEIR_SOURCE, &ends.source) != WEIR_OK)
		return 0;
	ends.destination = *packet;
	ends.destination_slot = weir_lookup(port, packet);
	ends.mark_slot = (skb->mark & WEIR_MARK_SLOT) >> WEIR_MARK_SHIFT;
	from = weir_port_find(skb->ingress_ifindex, &place);
	return weir_choose(from, port, &ends);
}

/* A packet to a customer that has an upload class, or was unreadable. */
static __always_inline bool weir_has_sender(struct __sk_buff *skb, __u32 index)
{
	return index & WEIR_DOWNLOAD && skb->mark & WEIR_MARK_SLOT;
}

/* The sender's line; 0 = there is none any more. */
static __noinline __u32 weir_sender(struct __sk_buff *skb, const struct weir_port *port,
				    const struct weir_packet *destination)
{
	__u32 slot = (skb->mark & WEIR_MARK_SLOT) >> WEIR_MARK_SHIFT, place;
	struct weir_line *line = weir_line(slot * 2);

	if (!port || !destination)
		return 0;
	if (line && line->flags & WEIR_LINE_FORK) {
		slot = weir_choose_sender(weir_port_find(skb->ingress_ifindex, &place), port, slot,
					  destination);
		line = weir_line(slot * 2);
	}
	return slot && line && line->flags & WEIR_LINE_LIVE ? slot * 2 + WEIR_UPLOAD : 0;
}

/* Whether the packet has the tag of a VLAN interface whose program has dealt with it. */
static __always_inline bool weir_is_of_vlan(struct __sk_buff *skb, const struct weir_port *lower)
{
	__u32 place = WEIR_PORTS;
	struct weir_port *port;

	if (skb->vlan_present)
		place = weir_tagged_place(lower->ifindex, skb->vlan_proto, skb->vlan_tci & WEIR_TAG_MASK);
	if (place == WEIR_PORTS)
		return false;
	port = weir_port_at(place);
	return port->roles & WEIR_ROLE_SHAPE && port->mode != WEIR_NONE;
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

/* What the member found; what it could not read has been read here. */
static __always_inline __u32 weir_slot_of_member(struct __sk_buff *skb)
{
	__u32 slot = (skb->mark & WEIR_MARK_SLOT) >> WEIR_MARK_SHIFT;

	return slot == WEIR_SLOT_UNREAD ? 0 : slot;
}

/* Whether the stack would forward the packet. */
static __noinline bool weir_is_forwarded(struct __sk_buff *skb, const struct weir_port *port)
{
	struct weir_packet destination = {};

	return port && weir_parse(skb, port, WEIR_DESTINATION, &destination) == WEIR_OK &&
	       weir_way_to(skb, &destination, port->ifindex) != WEIR_NO_WAY;
}

/* Dropped and counted elsewhere than the checks. */
#define WEIR_OVER_BOUND (WEIR_CHECKS + 1)

/*
 * Of a port that does not take every source: the check that the packet fails, WEIR_CHECKS = none. `slot`: the source's. Each
 * packet is bounded once: where it comes in by several ports, by the last one.
 */
static __noinline __u32 weir_failed_check(struct __sk_buff *skb, const struct weir_port *port,
					  const struct weir_packet *source, __u32 slot)
{
	__u32 failed = WEIR_CHECKS;
	enum weir_frame frame;

	if (!port || !source || skb->pkt_type == WEIR_OTHERHOST)
		return failed;
	frame = weir_frame_is(skb, port);
	if (frame == WEIR_OF_VLAN)
		return failed;
	if (weir_has_check(port, WEIR_ROLE_BOUNDED) && frame == WEIR_OF_PORT && !port->above &&
	    weir_is_over_bound(source))
		return WEIR_OVER_BOUND;
	if (weir_has_check(port, WEIR_ROLE_KNOWN) && !slot)
		failed = WEIR_REFUSED;
	else if (weir_has_check(port, WEIR_ROLE_STRICT | WEIR_ROLE_LOOSE) &&
		 weir_comes_wrong(skb, port, source, frame == WEIR_OF_PORT))
		failed = WEIR_WRONG_WAY;
	return failed == WEIR_CHECKS || weir_is_forwarded(skb, port) ? failed : WEIR_CHECKS;
}

SEC("tc")
int weir_ingress(struct __sk_buff *skb)
{
	struct weir_packet packet = {};
	struct weir_port *port;
	__u32 place, slot, failed, mark, host = 0;
	int reason;

	port = weir_port_find(skb->ifindex, &place);
	if (!port || !(port->roles & WEIR_ROLE_CLASSIFY))
		return WEIR_NEXT;
	slot = 0;
	reason = weir_parse(skb, port, WEIR_SOURCE, &packet);
	if (reason == WEIR_OK) {
		slot = weir_lookup(port, &packet);
		if (!slot && port->more_roles & WEIR_ROLE_YIELDS >> WEIR_MORE_ROLES_SHIFT)
			slot = weir_slot_of_member(skb);
		if (!slot)
			slot = port->target_slot;
		if (weir_is_impossible(&packet) && skb->pkt_type != WEIR_OTHERHOST)
			return weir_refuse(skb, place, WEIR_IMPOSSIBLE_SOURCE);
		failed =
			weir_may_fail(port, slot) ? weir_failed_check(skb, port, &packet, slot) : WEIR_CHECKS;
		if (failed != WEIR_CHECKS)
			return failed == WEIR_OVER_BOUND ? TC_ACT_SHOT : weir_refuse(skb, place, failed);
	} else if (weir_is_unread(reason)) {
		slot = port->target_slot ?: WEIR_SLOT_UNREAD;
	}
	if (slot && port->roles & WEIR_ROLE_HOSTS)
		skb->tc_index = host = weir_host_before_nat(slot * 2 + WEIR_UPLOAD, &packet);
	mark = slot << WEIR_MARK_SHIFT;
	if (slot && port->more_roles & WEIR_ROLE_FULL >> WEIR_MORE_ROLES_SHIFT)
		mark |= weir_full_mark(port, slot, host);
	skb->mark = (skb->mark & ~WEIR_MARK_MASK) | mark;
	return WEIR_NEXT;
}

/* `index`: of the line that is not there, or nobody's; `reason`: of weir_parse. */
static __noinline int weir_has_no_class(struct __sk_buff *skb, const struct weir_port *port, __u32 place,
					__u32 index, int reason)
{
	bool unread = weir_is_unread(reason);

	if (reason == WEIR_OK)
		reason = index ? WEIR_STALE_CLASS : WEIR_NO_CLASS;
	if (index == WEIR_SLOT_UNREAD * 2 && !unread) {
		reason = WEIR_UNREADABLE;
		unread = true;
	}
	if (reason == WEIR_NO_CLASS && !weir_admit_unknown(skb, port, place))
		return TC_ACT_SHOT;
	weir_port_count(place, reason, skb->len);
	return unread ? TC_ACT_SHOT : WEIR_NEXT;
}

#define WEIR_DECIDED (1ULL << 63)

static __always_inline __u64 weir_decided(int action)
{
	return WEIR_DECIDED | (__u32)action;
}

/* What is found out of a packet that is not plain. */
struct weir_found {
	struct weir_packet packet;
	__u32 sender; /* line, if both ends are customers; 0 = they are not */
};

/*
 * The class of any packet. Returns weir_one of it, or what becomes of a packet that has none, or leaves by a port in HTB
 * mode. In a function of its own for its stack, and so that plain packets have all registers.
 */
static __noinline __u64 weir_find_class(struct __sk_buff *skb, const struct weir_port *port, __u32 place,
					struct weir_found *found)
{
	struct weir_packet *packet = &found->packet;
	struct weir_line *line;
	__u32 index, sender = 0;
	int reason;

	*found = (struct weir_found){};
	if ((port->roles & (WEIR_ROLE_SHAPE | WEIR_ROLE_TRUNK)) != WEIR_ROLE_SHAPE &&
	    (!(port->roles & WEIR_ROLE_SHAPE) || weir_is_shaped_above(skb, port)))
		return weir_decided(WEIR_NEXT);
	reason = weir_parse(skb, port, WEIR_DESTINATION, packet);
	if (reason == WEIR_OK) {
		index = weir_classify_egress(skb, port, packet);
	} else if (weir_is_unread(reason)) {
		index = weir_classify_egress(skb, port, NULL);
	} else {
		weir_port_count(place, reason, skb->len);
		return weir_decided(WEIR_NEXT);
	}
	line = weir_line_of(index);
	if (line)
		weir_fetch(line);
	if (line && line->flags & WEIR_LINE_FORK) {
		index = weir_classify_far(skb, port, packet);
		line = weir_line_of(index);
	}
	if (weir_has_sender(skb, index)) {
		if (reason == WEIR_OK && (skb->mark & WEIR_MARK_SLOT) == WEIR_SLOT_UNREAD << WEIR_MARK_SHIFT)
			return weir_decided(
				weir_has_no_class(skb, port, place, WEIR_SLOT_UNREAD * 2, reason));
		sender = weir_sender(skb, port, packet);
	}
	if (sender && (!line || !(line->flags & WEIR_LINE_LIVE))) {
		index = sender;
		line = weir_line(sender);
		sender = 0;
	}
	if (!line || !(line->flags & WEIR_LINE_LIVE))
		return weir_decided(weir_has_no_class(skb, port, place, index, reason));
	if (port->mode == WEIR_HTB)
		return weir_decided(weir_hand_to_tree(skb, port, index, line, packet, sender));
	found->sender = sender;
	return weir_one(index, packet->l3_offset, packet->ecn);
}

SEC("tc")
int weir_egress(struct __sk_buff *skb)
{
	struct weir_found found;
	struct weir_weight weight;
	struct weir_port *port;
	struct weir_line *line;
	__u32 place, index;
	__u64 one;

	port = weir_port_find(skb->ifindex, &place);
	if (!port)
		return WEIR_NEXT;
	index = weir_plain_index(skb, port);
	line = weir_line_of(index);
	if (line) {
		weir_fetch(line);
		if ((line->flags & (WEIR_LINE_LIVE | WEIR_LINE_STACK)) == WEIR_LINE_LIVE)
			return weir_pace(skb, port, index,
					 WEIR_ONE_PLAIN | weir_one(0, sizeof(struct ethhdr), 0), line);
	}
	if (port->mode == WEIR_NONE)
		return WEIR_NEXT;
	one = weir_find_class(skb, port, place, &found);
	if (one & WEIR_DECIDED)
		return one;
	line = weir_line(one);
	if (!line)
		return WEIR_NEXT;
	if (!found.sender && !(line->flags & WEIR_LINE_SUBQUEUES))
		return weir_pace(skb, port, one, one & ~(__u64)~0U, line);
	weight = weir_weigh(skb, found.packet.l3_offset);
	weight.now_ns = bpf_ktime_get_ns();
	weight.sender = found.sender;
	if (weight.sender && !weir_enter_sender(skb, port, &found.packet, &weight))
		return TC_ACT_SHOT;
	return weir_pace_payers(skb, port, one, &found.packet, &weight);
}

char LICENSE[] SEC("license")
= "GPL";
