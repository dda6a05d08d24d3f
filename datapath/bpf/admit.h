/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the checks of a port (checks.h) have to know of an skb: whether the stack will route it as a packet of this port,
 * and the verdict, counted.
 */
#ifndef WEIR_BPF_ADMIT_H
#define WEIR_BPF_ADMIT_H

#include <linux/pkt_cls.h>

#include "checks.h"
#include "parse.h"
#include "ports.h"
#include "tagged.h"

/* PACKET_OTHERHOST of <linux/if_packet.h>: a frame to another station is switched, never routed. */
#define WEIR_OTHERHOST 3

enum weir_frame {
	WEIR_OF_PORT, /* the packet is this port's */
	WEIR_OF_SESSION, /* it is in a PPPoE session, and comes in again by a PPP interface */
	WEIR_OF_VLAN, /* a VLAN interface upon the port has it, and checks of its own */
};

/* As the stack: tags of VID 0 are taken off, however many there are. */
static __noinline enum weir_frame weir_frame_is(struct __sk_buff *skb, const struct weir_port *port)
{
	__u32 offset = offsetof(struct ethhdr, h_proto);

	if (!port || port->roles & WEIR_ROLE_L3)
		return WEIR_OF_PORT;
	if (skb->vlan_present && skb->vlan_tci & WEIR_TAG_MASK)
		return WEIR_OF_VLAN;
	for (int tag = 0; tag <= WEIR_VLAN_TAGS_MAX; tag++) {
		__be16 fields[2]; /* protocol, and what it is of */

		if (bpf_skb_load_bytes(skb, offset, fields, sizeof(fields)))
			return WEIR_OF_PORT;
		if (!weir_is_vlan(fields[0]))
			return fields[0] == bpf_htons(ETH_P_PPP_SES) ? WEIR_OF_SESSION : WEIR_OF_PORT;
		if (bpf_ntohs(fields[1]) & WEIR_TAG_MASK)
			return WEIR_OF_VLAN;
		offset += sizeof(struct weir_vlan_header);
	}
	return WEIR_OF_PORT;
}

static __always_inline void weir_count_skb(const struct __sk_buff *skb, __u32 place, enum weir_check check)
{
	weir_count_check(place, check, skb->gso_segs ?: 1, skb->len);
}

static __noinline int weir_refuse(struct __sk_buff *skb, __u32 place, enum weir_check check)
{
	weir_count_skb(skb, place, check);
	return TC_ACT_SHOT;
}

/* A packet that leaves by `to` and is in no queue. Returns whether it may: what the router itself sends may always. */
static __noinline bool weir_admit_unknown(struct __sk_buff *skb, const struct weir_port *to, __u32 place)
{
	__u32 from_place = 0;

	if (!to || !skb->ingress_ifindex || skb->pkt_type == WEIR_OTHERHOST)
		return true;
	if (weir_has_check(to, WEIR_ROLE_KNOWN)) {
		weir_count_skb(skb, place, WEIR_REFUSED);
		return false;
	}
	weir_count_skb(skb, place, WEIR_UNKNOWN_TX);
	if (weir_port_find(skb->ingress_ifindex, &from_place))
		weir_count_skb(skb, from_place, WEIR_UNKNOWN_RX);
	return true;
}

#endif
