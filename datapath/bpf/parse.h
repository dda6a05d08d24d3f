/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a frame to one IP address: Ethernet, up to eight VLAN tags in the packet (another one may be in
 * the skb), PPPoE session, IPv4 or IPv6. Only addresses classify, so IPv6 extension headers, IPv4
 * options and fragments need no walking: every fragment carries both addresses.
 *
 * What the stack reads has to be read here as well, or a customer can send what has no class: it takes off any number
 * of tags of VID 0, and in a PPPoE session it takes a protocol field of one byte and any version and code.
 * What is behind more tags is found by a function of its own (weir_tc.bpf.c), so that plain frames do not pay for it.
 */
#ifndef WEIR_BPF_PARSE_H
#define WEIR_BPF_PARSE_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "weir/abi.h"

#define WEIR_OK (-1) /* else: enum weir_reason */
#define WEIR_VLAN_TAGS 2 /* in the common case */
#define WEIR_VLAN_TAGS_MAX 8
#define WEIR_PPP_IP 0x0021
#define WEIR_PPP_IPV6 0x0057
#define WEIR_PPP_CONTROL 0x4000 /* from here on: what sets a session up (RFC 1661, 2) */
/* Ethernet, tags, PPPoE and PPP, IPv6: all that is ever read. */
#define WEIR_HEADERS_MAX (14 + 4 * WEIR_VLAN_TAGS_MAX + 8 + 40)

enum weir_end { WEIR_SOURCE, WEIR_DESTINATION };

struct weir_packet {
	__u64 high; /* IPv4: the address; host byte order */
	__u64 low;
	__u32 family; /* 4 or 6 */
	__u16 l3_offset;
	__u16 ecn; /* RFC 3168: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE */
};

struct weir_vlan_header {
	__be16 tag;
	__be16 protocol;
};

struct weir_pppoe_header {
	__u8 version_type;
	__u8 code; /* 0: session data */
	__be16 session;
	__be16 length;
	__be16 protocol;
};

static __always_inline int weir_parse_ipv4(void *header, void *end, enum weir_end which,
					   struct weir_packet *packet)
{
	struct iphdr *ip = header;

	if ((void *)(ip + 1) > end)
		return WEIR_SHORT;
	if (ip->version != 4 || ip->ihl < 5)
		return WEIR_BAD_HEADER;
	packet->ecn = ip->tos & 3;
	packet->family = 4;
	packet->high = bpf_ntohl(which == WEIR_SOURCE ? ip->saddr : ip->daddr);
	packet->low = 0;
	return WEIR_OK;
}

static __always_inline int weir_parse_ipv6(void *header, void *end, enum weir_end which,
					   struct weir_packet *packet)
{
	struct ipv6hdr *ip = header;
	const __be32 *address;

	if ((void *)(ip + 1) > end)
		return WEIR_SHORT;
	if (ip->version != 6)
		return WEIR_BAD_HEADER;
	address = which == WEIR_SOURCE ? ip->saddr.in6_u.u6_addr32 : ip->daddr.in6_u.u6_addr32;
	packet->ecn = ip->flow_lbl[0] >> 4 & 3;
	packet->family = 6;
	packet->high = (__u64)bpf_ntohl(address[0]) << 32 | bpf_ntohl(address[1]);
	packet->low = (__u64)bpf_ntohl(address[2]) << 32 | bpf_ntohl(address[3]);
	return WEIR_OK;
}

static __always_inline int weir_parse_ip(void *data, void *end, __be16 protocol, enum weir_end which,
					 struct weir_packet *packet)
{
	if (protocol == bpf_htons(ETH_P_IP))
		return weir_parse_ipv4(data + packet->l3_offset, end, which, packet);
	if (protocol == bpf_htons(ETH_P_IPV6))
		return weir_parse_ipv6(data + packet->l3_offset, end, which, packet);
	return WEIR_NOT_IP;
}

/* The protocol of a session's data, which has one byte if that is odd; `length`: of the field. */
static __always_inline __u16 weir_ppp_protocol(__be16 field, __u32 *length)
{
	__u16 protocol = bpf_ntohs(field);

	*length = protocol & 0x0100 ? 1 : 2;
	return *length == 1 ? protocol >> 8 : protocol;
}

/* As the kernel's pppoe_rcv and ppp_decompress_proto, which look at neither version nor code. */
static __always_inline int weir_parse_pppoe(void *data, void *end, enum weir_end which,
					    struct weir_packet *packet)
{
	struct weir_pppoe_header *pppoe = data + packet->l3_offset;
	__u32 length;
	__u16 protocol;

	if ((void *)(pppoe + 1) > end)
		return WEIR_SHORT;
	protocol = weir_ppp_protocol(pppoe->protocol, &length);
	packet->l3_offset += offsetof(struct weir_pppoe_header, protocol) + length;
	if (protocol == WEIR_PPP_IP)
		return weir_parse_ipv4(data + packet->l3_offset, end, which, packet);
	if (protocol == WEIR_PPP_IPV6)
		return weir_parse_ipv6(data + packet->l3_offset, end, which, packet);
	return protocol < WEIR_PPP_CONTROL ? WEIR_UNREADABLE : WEIR_NOT_IP;
}

/* In one load: `struct ethhdr` is packed, and the compiler would take its bytes. */
static __always_inline __be16 weir_ethernet_protocol(const struct ethhdr *ethernet)
{
	return *(const __be16 *)((const void *)ethernet + offsetof(struct ethhdr, h_proto));
}

/* Ethernet's protocol IPv4, then IPv4's version 4 and five words, as they lie in the frame; a byte of TOS follows. */
#define WEIR_PLAIN_HEADERS bpf_htonl(0x08004500)
#define WEIR_PLAIN_HEADERS_MASK bpf_htonl(0xffffff00)

static __always_inline const struct iphdr *weir_plain_ip(const void *frame)
{
	return frame + sizeof(struct ethhdr);
}

/* IPv4 without options in an Ethernet frame without a tag, whose headers are there. */
static __always_inline bool weir_is_plain_frame(const void *frame, const void *end)
{
	return (const void *)(weir_plain_ip(frame) + 1) <= end &&
	       (*(const __u32 *)(frame + offsetof(struct ethhdr, h_proto)) & WEIR_PLAIN_HEADERS_MASK) ==
		       WEIR_PLAIN_HEADERS;
}

static __always_inline bool weir_is_vlan(__be16 protocol)
{
	return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/* What `protocol` says is at packet->l3_offset. */
static __always_inline int weir_parse_inner(void *data, void *end, __be16 protocol, enum weir_end which,
					    struct weir_packet *packet)
{
	if (protocol == bpf_htons(ETH_P_PPP_SES))
		return weir_parse_pppoe(data, end, which, packet);
	return weir_parse_ip(data, end, protocol, which, packet);
}

/* An Ethernet frame from `data`. Returns WEIR_OK with the address at `which` end, or the reason. */
static __always_inline int weir_parse_ethernet(void *data, void *end, enum weir_end which,
					       struct weir_packet *packet)
{
	struct ethhdr *ethernet = data;
	__be16 protocol;

	if ((void *)(ethernet + 1) > end)
		return WEIR_SHORT;
	protocol = weir_ethernet_protocol(ethernet);
	packet->l3_offset = sizeof(*ethernet);
#pragma unroll
	for (int tag = 0; tag < WEIR_VLAN_TAGS; tag++) {
		struct weir_vlan_header *vlan = data + packet->l3_offset;

		if (!weir_is_vlan(protocol))
			break;
		if ((void *)(vlan + 1) > end)
			return WEIR_SHORT;
		protocol = vlan->protocol;
		packet->l3_offset += sizeof(*vlan);
	}
	if (weir_is_vlan(protocol))
		return WEIR_DEEP_TAGS;
	return weir_parse_inner(data, end, protocol, which, packet);
}

#endif
