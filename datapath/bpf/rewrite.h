/* SPDX-License-Identifier: GPL-2.0-only */
/* What forwarding changes in a frame: Ethernet addresses, hop count, and addresses and ports under NAT. */
#ifndef WEIR_BPF_REWRITE_H
#define WEIR_BPF_REWRITE_H

#include "forward.h"

/* RFC 1624: one less hop in the high byte of its word. */
static __always_inline void weir_decrement_ttl(struct iphdr *ip)
{
	__u32 check = ip->check + bpf_htons(0x0100);

	ip->check = check + (check >= 0xffff);
	ip->ttl--;
}

/* RFC 1624, equation 3: HC' = ~(~HC + sum of ~m + m'); `change` is that sum. */
static __always_inline __u16 weir_update_check(__u16 check, __u64 change)
{
	__u64 sum = (__u16)~check + change;

	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* The transport header of a translated packet; `change` is that of the pseudo header. */
static __always_inline bool weir_translate_ports(void *header, void *end, const struct weir_route *route,
						 __u64 change)
{
	struct udphdr *udp = header;
	struct tcphdr *tcp = header;

	if ((void *)(udp + 1) > end)
		return false;
	change += (__u64)(__u16)~udp->source + (__u16)~udp->dest + route->new_ports[0] + route->new_ports[1];
	if (route->fib.l4_protocol == IPPROTO_UDP) {
		if (udp->check) /* 0: none was computed; one that comes out as 0 is sent as ffff (RFC 768) */
			udp->check = weir_update_check(udp->check, change) ?: 0xffff;
	} else {
		if ((void *)(tcp + 1) > end)
			return false;
		tcp->check = weir_update_check(tcp->check, change);
	}
	udp->source = route->new_ports[0];
	udp->dest = route->new_ports[1];
	return true;
}

static __always_inline bool weir_translate(struct iphdr *ip, void *end, const struct weir_route *route)
{
	__u64 change =
		(__u64)(__u32)~ip->saddr + (__u32)~ip->daddr + route->new_source + route->new_destination;

	if (!weir_translate_ports(ip + 1, end, route, change))
		return false;
	ip->check = weir_update_check(ip->check, change);
	ip->saddr = route->new_source;
	ip->daddr = route->new_destination;
	return true;
}

/* By words: the compiler does not know that they are aligned and would take single bytes. */
static __always_inline void weir_set_address(void *to, const void *address)
{
	const __u16 *from = address;
	__u16 *words = to;

	words[0] = from[0];
	words[1] = from[1];
	words[2] = from[2];
}

/* The stack cuts off what follows the IP packet; a device pads what is then too short for the wire, with zeros. */
static __always_inline bool weir_cut_padding(struct xdp_md *ctx, __u32 ip_bytes)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__s64 more = end - data - (__s64)(sizeof(struct ethhdr) + ip_bytes);

	return !more || !bpf_xdp_adjust_tail(ctx, -more);
}

static __always_inline bool weir_rewrite(struct xdp_md *ctx, const struct weir_route *route)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *ethernet = data;

	if (data + sizeof(*ethernet) + sizeof(struct iphdr) > end)
		return false;
	if (route->destination.family == 4) {
		struct iphdr *ip = (void *)(ethernet + 1);

		if (route->translated && !weir_translate(ip, end, route))
			return false;
		weir_decrement_ttl(ip);
	} else {
		struct ipv6hdr *ip = (void *)(ethernet + 1);

		if ((void *)(ip + 1) > end)
			return false;
		ip->hop_limit--;
	}
	weir_set_address(ethernet->h_dest, route->fib.dmac);
	weir_set_address(ethernet->h_source, route->fib.smac);
	return true;
}

#endif
