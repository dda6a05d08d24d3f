/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fast path may forward by itself: plain unicast IP that the kernel would only route. All
 * else (options, extension headers, fragments, IPsec, last hop, strange sources) goes up the stack.
 */
#ifndef WEIR_BPF_FORWARD_H
#define WEIR_BPF_FORWARD_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "weir/abi.h"

#include "parse.h"

#define WEIR_AF_INET 2
#define WEIR_AF_INET6 10

/* A frame that may be forwarded; both addresses in host order, a v4 address in the first half. */
struct weir_route {
	struct weir_packet source, destination;
	__u32 ip_bytes;
	struct bpf_fib_lookup fib;
};

static __always_inline bool weir_strange4(__u32 source)
{
	__u32 net = source >> 24;

	return net == 0 || net == 127 || net >= 224;
}

static __always_inline bool weir_plain4(struct iphdr *ip, void *end, struct weir_route *route)
{
	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5)
		return false;
	if (ip->ttl <= 1 || ip->frag_off & bpf_htons(0x3fff))
		return false;
	if (ip->protocol == IPPROTO_ESP || ip->protocol == IPPROTO_AH)
		return false;
	route->source.family = route->destination.family = 4;
	route->source.high = bpf_ntohl(ip->saddr);
	route->destination.high = bpf_ntohl(ip->daddr);
	if (weir_strange4(route->source.high) || weir_strange4(route->destination.high))
		return false;
	route->ip_bytes = bpf_ntohs(ip->tot_len);
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

static __always_inline bool weir_plain_header6(__u8 next)
{
	return next == IPPROTO_TCP || next == IPPROTO_UDP || next == IPPROTO_ICMPV6 || next == IPPROTO_SCTP ||
	       next == IPPROTO_DCCP;
}

static __always_inline bool weir_plain6(struct ipv6hdr *ip, void *end, struct weir_route *route)
{
	if (weir_parse_ipv6(ip, end, WEIR_SOURCE, &route->source) != WEIR_OK ||
	    weir_parse_ipv6(ip, end, WEIR_DESTINATION, &route->destination) != WEIR_OK)
		return false;
	if (ip->hop_limit <= 1 || !weir_plain_header6(ip->nexthdr))
		return false;
	if (weir_strange6(route->source.high) || weir_strange6(route->destination.high))
		return false;
	route->ip_bytes = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	route->fib.family = WEIR_AF_INET6;
	route->fib.l4_protocol = ip->nexthdr;
	__builtin_memcpy(route->fib.ipv6_src, &ip->saddr, sizeof(route->fib.ipv6_src));
	__builtin_memcpy(route->fib.ipv6_dst, &ip->daddr, sizeof(route->fib.ipv6_dst));
	return true;
}

static __always_inline bool weir_forwardable(struct xdp_md *ctx, struct weir_route *route)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *ethernet = data;
	bool plain = false;

	if ((void *)(ethernet + 1) > end || ethernet->h_dest[0] & 1)
		return false;
	if (ethernet->h_proto == bpf_htons(ETH_P_IP))
		plain = weir_plain4((void *)(ethernet + 1), end, route);
	else if (ethernet->h_proto == bpf_htons(ETH_P_IPV6))
		plain = weir_plain6((void *)(ethernet + 1), end, route);
	if (!plain || route->ip_bytes > (__u64)(end - data) - sizeof(*ethernet))
		return false;
	route->fib.tot_len = route->ip_bytes;
	route->fib.ifindex = ctx->ingress_ifindex;
	return true;
}

/* RFC 1624: one less hop in the high byte of its word. */
static __always_inline void weir_decrement_ttl(struct iphdr *ip)
{
	__u32 check = ip->check + bpf_htons(0x0100);

	ip->check = check + (check >= 0xffff);
	ip->ttl--;
}

static __always_inline bool weir_rewrite(struct xdp_md *ctx, const struct weir_route *route)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *ethernet = data;

	if (data + sizeof(*ethernet) + sizeof(struct iphdr) > end)
		return false;
	if (route->destination.family == 4) {
		weir_decrement_ttl((void *)(ethernet + 1));
	} else {
		struct ipv6hdr *ip = (void *)(ethernet + 1);

		if ((void *)(ip + 1) > end)
			return false;
		ip->hop_limit--;
	}
	__builtin_memcpy(ethernet->h_dest, route->fib.dmac, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, route->fib.smac, ETH_ALEN);
	return true;
}

#endif
