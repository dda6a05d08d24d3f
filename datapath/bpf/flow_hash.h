/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tells flows of a class with a backlog apart: the hash that a card or a socket has given the packet, as in fq;
 * where there is none, addresses, protocol and ports. The kernel would dissect the packet for it
 * (bpf_get_hash_recalc), tunnels and all, which costs five times as much, and packets that a flooded class drops
 * would pay for that, too. So a tunnel is one flow here.
 *
 * Fragments are told apart by addresses and protocol alone, all of them, so that they stay in order.
 */
#ifndef WEIR_BPF_FLOW_HASH_H
#define WEIR_BPF_FLOW_HASH_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "parse.h"

#define WEIR_FLOW_LABEL 0x000fffffU

/* Protocols that begin with two ports, or with what stands for them. */
static __always_inline bool weir_has_ports(__u8 protocol)
{
	return protocol == IPPROTO_UDP || protocol == IPPROTO_TCP || protocol == IPPROTO_ESP ||
	       protocol == IPPROTO_SCTP || protocol == IPPROTO_DCCP || protocol == IPPROTO_UDPLITE;
}

/* Multiplicative hashing (Knuth, 6.4). */
static __always_inline __u64 weir_flow_mix(__u64 mixed, __u64 word)
{
	return (mixed ^ word) * 0x9e3779b97f4a7c15ULL;
}

static __always_inline __u32 weir_ports_at(struct __sk_buff *skb, __u32 offset)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u32 ports = 0;

	if (data + offset + sizeof(ports) <= end)
		return *(__u32 *)(data + offset);
	bpf_skb_load_bytes(skb, offset, &ports,
			   sizeof(ports)); /* in a fragment of the buffer; or nowhere: 0 */
	return ports;
}

static __noinline __u32 weir_packet_hash(struct __sk_buff *skb, __u32 l3_offset)
{
	void *end = (void *)(long)skb->data_end, *header = (void *)(long)skb->data + l3_offset;
	struct ipv6hdr *ip6 = header;
	struct iphdr *ip = header;
	__u64 mixed;

	if (skb->hash)
		return skb->hash;
	if (l3_offset > WEIR_HEADERS_MAX || (void *)(ip + 1) > end)
		return 0;
	if (ip->version == 4) {
		mixed = weir_flow_mix((__u64)ip->saddr << 32 | ip->daddr, ip->protocol);
		if (!(ip->frag_off & bpf_htons(0x3fff)) && weir_has_ports(ip->protocol))
			mixed = weir_flow_mix(mixed, weir_ports_at(skb, l3_offset + ip->ihl * 4));
		return mixed >> 32;
	}
	if ((void *)(ip6 + 1) > end)
		return 0;
	mixed = ip6->nexthdr;
#pragma unroll
	for (int at = 0; at < 4; at++)
		mixed = weir_flow_mix(mixed, (__u64)ip6->saddr.in6_u.u6_addr32[at] << 32 |
						     ip6->daddr.in6_u.u6_addr32[at]);
	if (weir_has_ports(ip6->nexthdr))
		mixed = weir_flow_mix(mixed, weir_ports_at(skb, l3_offset + sizeof(*ip6)));
	else
		mixed = weir_flow_mix(mixed, *(__u32 *)ip6 & bpf_htonl(WEIR_FLOW_LABEL));
	return mixed >> 32;
}

#endif
