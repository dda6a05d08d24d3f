/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fast path may forward by itself: plain unicast IP to this router that the kernel would only
 * route. All else (options, extension headers, fragments, IPsec, tunnels, last hop, strange sources) goes up.
 */
#ifndef WEIR_BPF_FORWARD_H
#define WEIR_BPF_FORWARD_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "weir/abi.h"

#include "checks.h"
#include "parse.h"

#define WEIR_FLOWINFO 0x0fffffffU /* of the first word of an IPv6 header: traffic class and flow label */

/*
 * A frame that may be forwarded. Both addresses as they classify: in host order, a v4 address in the
 * first half; the source before NAT, the destination after it. `fib` is what is asked of the kernel.
 */
struct weir_route {
	struct weir_packet source, destination;
	__u32 ip_bytes;
	__u32 flow; /* index in weir_up */
	bool ends; /* TCP FIN or RST */
	bool translated; /* v4: to new_source, new_destination and new_ports */
	__be32 new_source, new_destination;
	__be16 new_ports[2];
	struct bpf_fib_lookup fib;
};

/* What may follow the addresses: a frame is at least 60 bytes long, and a switch that took tags off leaves 8 more. */
#define WEIR_PADDED_BYTES (60 + 8 - ETH_HLEN)

/* An impossible source (checks.h) or none at all. */
static __always_inline bool weir_strange4(__u32 address)
{
	__u32 net = address >> 24;

	return net == 0 || net == 127 || net >= 224;
}

/* Tunnels and IPsec have policies of the stack's. Of the numbers below 64 by a mask, which is one path to the verifier. */
static __always_inline bool weir_plain_protocol(__u8 protocol, __u8 icmp)
{
	__u64 plain = 1ULL << IPPROTO_TCP | 1ULL << IPPROTO_UDP | 1ULL << IPPROTO_DCCP | 1ULL << icmp;

	return protocol < 64 ? plain >> protocol & 1 : protocol == IPPROTO_SCTP;
}

/*
 * RFC 1071: the ones' complement sum of a sound header is 0. That is a multiple of 0xffff, and those are what the
 * inverse of 0xffff modulo 2^64 takes to the numbers up to 2^64 / 0xffff.
 */
static __always_inline bool weir_sound4(const struct iphdr *ip)
{
	const __u32 *words = (const void *)ip;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];

	return sum * 0xfffefffefffeffffULL <= 0x0001000100010001ULL;
}

static __always_inline bool weir_plain4(struct iphdr *ip, void *end, struct weir_route *route)
{
	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5)
		return false;
	if (!weir_sound4(ip) || ip->ttl <= 1 || ip->frag_off & bpf_htons(0x3fff))
		return false;
	if (!weir_plain_protocol(ip->protocol, IPPROTO_ICMP))
		return false;
	route->source.family = route->destination.family = 4;
	route->source.high = bpf_ntohl(ip->saddr);
	route->destination.high = bpf_ntohl(ip->daddr);
	if (weir_strange4(route->source.high) || weir_strange4(route->destination.high))
		return false;
	route->ip_bytes = bpf_ntohs(ip->tot_len);
	if (route->ip_bytes < sizeof(*ip))
		return false;
	route->fib.family = WEIR_AF_INET;
	route->fib.tos = ip->tos;
	route->fib.l4_protocol = ip->protocol;
	route->fib.ipv4_src = ip->saddr;
	route->fib.ipv4_dst = ip->daddr;
	return true;
}

/* Link-local, multicast and ::/8 (loopback, unspecified, mapped). */
static __always_inline bool weir_strange6(__u64 high)
{
	return high >> 56 == 0xff || high >> 54 == 0x3fa || high >> 56 == 0;
}

static __always_inline bool weir_plain6(struct ipv6hdr *ip, void *end, struct weir_route *route)
{
	if (weir_parse_ipv6(ip, end, WEIR_SOURCE, &route->source) != WEIR_OK ||
	    weir_parse_ipv6(ip, end, WEIR_DESTINATION, &route->destination) != WEIR_OK)
		return false;
	if (ip->hop_limit <= 1 || !weir_plain_protocol(ip->nexthdr, IPPROTO_ICMPV6))
		return false;
	if (weir_strange6(route->source.high) || weir_strange6(route->destination.high))
		return false;
	route->ip_bytes = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	route->fib.family = WEIR_AF_INET6;
	route->fib.flowinfo = *(__be32 *)ip & bpf_htonl(WEIR_FLOWINFO);
	route->fib.l4_protocol = ip->nexthdr;
	__builtin_memcpy(route->fib.ipv6_src, &ip->saddr, sizeof(route->fib.ipv6_src));
	__builtin_memcpy(route->fib.ipv6_dst, &ip->daddr, sizeof(route->fib.ipv6_dst));
	return true;
}

/*
 * Ports, which SCTP and DCCP have in the same place, and whether a TCP connection ends. `bytes`: what the packet has
 * after its IP header; what follows that is padding. False when the header is not all there.
 */
static __always_inline bool weir_plain_transport(void *header, void *end, __u32 bytes, __u8 icmp,
						 struct weir_route *route)
{
	struct udphdr *udp = header;
	struct tcphdr *tcp = header;

	if (route->fib.l4_protocol == icmp)
		return true;
	if ((void *)(udp + 1) > end || bytes < sizeof(*udp))
		return false;
	route->fib.sport = udp->source;
	route->fib.dport = udp->dest;
	if (route->fib.l4_protocol != IPPROTO_TCP)
		return true;
	if ((void *)(tcp + 1) > end || bytes < sizeof(*tcp))
		return false;
	route->ends = tcp->fin || tcp->rst;
	return true;
}

/* Both directions of a flow differ, flows of one host spread: multiplicative hashing (Knuth, 6.4). */
static __always_inline __u32 weir_flow_hash(const struct weir_route *route)
{
	__u64 mixed = route->source.high ^ route->source.low;

	mixed = mixed * 0x9e3779b97f4a7c15ULL ^ route->destination.high ^ route->destination.low;
	mixed = mixed * 0x9e3779b97f4a7c15ULL ^
		((__u64)route->fib.sport << 32 | (__u32)route->fib.dport << 8 | route->fib.l4_protocol);
	mixed = mixed * 0x9e3779b97f4a7c15ULL >> 32;
	return WEIR_UP_GROUPS + (mixed * (WEIR_UP_STAMPS - WEIR_UP_GROUPS) >> 32);
}

static __always_inline bool weir_is_for(const struct ethhdr *ethernet, const struct weir_port *port)
{
	const __u8 *to = ethernet->h_dest, *own = port->mac;

	return *(const __u32 *)to == *(const __u32 *)own &&
	       *(const __u16 *)(to + 4) == *(const __u16 *)(own + 4);
}

static __always_inline bool weir_forwardable(struct xdp_md *ctx, const struct weir_port *from,
					     struct weir_route *route)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *ethernet = data;
	void *ip = ethernet + 1;
	__u64 after;
	__be16 protocol;

	if (ip > end || !weir_is_for(ethernet, from))
		return false;
	protocol = weir_ethernet_protocol(ethernet);
	if (protocol == bpf_htons(ETH_P_IP)) {
		if (!weir_plain4(ip, end, route) ||
		    !weir_plain_transport(ip + sizeof(struct iphdr), end,
					  route->ip_bytes - sizeof(struct iphdr), IPPROTO_ICMP, route))
			return false;
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		if (!weir_plain6(ip, end, route) ||
		    !weir_plain_transport(ip + sizeof(struct ipv6hdr), end,
					  route->ip_bytes - sizeof(struct ipv6hdr), IPPROTO_ICMPV6, route))
			return false;
	} else {
		return false;
	}
	after = end - ip;
	/* A little that follows the IP packet is padding, which is cut off (rewrite.h); more is unusual. */
	if (route->ip_bytes != after && (route->ip_bytes > after || after > WEIR_PADDED_BYTES))
		return false;
	route->fib.tot_len = route->ip_bytes;
	route->fib.ifindex = from->ifindex;
	route->flow = weir_flow_hash(route);
	return true;
}

#endif
