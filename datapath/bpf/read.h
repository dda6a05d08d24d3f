/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet in the stack: its addresses, wherever in the skb they are, and what it weighs. */
#ifndef WEIR_BPF_READ_H
#define WEIR_BPF_READ_H

#include "weir/abi.h"

#include "parse.h"

/* What a packet weighs. A GSO packet leaves as `segments` packets with headers of their own. */
struct weir_weight {
	__u64 now_ns; /* when it was looked at */
	__u64 sender_tk; /* when it may leave for its sender's part */
	__u32 sender; /* his line, if the receiver is a customer as well; 0 = there is none */
	__u32 sender_host; /* his sub-queue */
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

/*
 * What is behind more tags than are read in passing: its offset and its protocol; 0 = tags without end. Global, so
 * that the verifier walks the tags once.
 */
__noinline __u32 weir_behind_tags(struct __sk_buff *skb)
{
	__u32 offset = sizeof(struct ethhdr);
	struct weir_vlan_header vlan;

	for (int tag = 0; tag < WEIR_VLAN_TAGS_MAX; tag++) {
		if (bpf_skb_load_bytes(skb, offset, &vlan, sizeof(vlan)))
			return 0;
		offset += sizeof(vlan);
		if (!weir_is_vlan(vlan.protocol))
			return offset << 16 | vlan.protocol;
	}
	return 0;
}

static __noinline int weir_parse_tagged(struct __sk_buff *skb, enum weir_end which,
					struct weir_packet *packet)
{
	__u32 behind = weir_behind_tags(skb), wanted = skb->len;

	if (!packet || !behind)
		return WEIR_DEEP_TAGS;
	if (wanted > WEIR_HEADERS_MAX)
		wanted = WEIR_HEADERS_MAX;
	if (bpf_skb_pull_data(skb, wanted))
		return WEIR_SHORT;
	packet->l3_offset = behind >> 16 & 63;
	return weir_parse_inner((void *)(long)skb->data, (void *)(long)skb->data_end, behind, which, packet);
}

/* Headers may lie in fragments: then make them linear and look again. */
static __always_inline int weir_parse(struct __sk_buff *skb, const struct weir_port *port,
				      enum weir_end which, struct weir_packet *packet)
{
	int reason = weir_parse_once(skb, port, which, packet);
	__u32 linear = skb->data_end - skb->data, wanted = skb->len;

	if (reason == WEIR_DEEP_TAGS)
		return weir_parse_tagged(skb, which, packet);
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
	struct weir_weight weight = { .segments = skb->gso_segs, .l3_offset = l3_offset };
	__u32 wire = skb->wire_len > skb->len ? skb->wire_len : skb->len;

	if (weight.segments <= 1)
		weight.segments = 1;
	weight.ip_bytes = wire - weight.segments * l3_offset;
	return weight;
}

static __always_inline __u32 weir_charged_bytes(const struct weir_weight *weight, __s32 overhead_bytes)
{
	__u32 bytes = weight->ip_bytes + weight->segments * overhead_bytes;

	if (bytes <= WEIR_MAX_BYTES)
		return bytes;
	return (__s32)bytes < 0 ? 0 : WEIR_MAX_BYTES;
}

#endif
