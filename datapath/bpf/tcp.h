/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP with timestamps, as everybody sends them: where its header lies, and between whom. `far` is the end that the line is
 * not of; it is the same on both sides of NAT.
 */
#ifndef WEIR_BPF_TCP_H
#define WEIR_BPF_TCP_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

#include "parse.h"

#define WEIR_TIMESTAMPS 0x0101080a /* RFC 7323, appendix A: no-op, no-op, timestamps */

struct weir_tcp_stamped {
	struct tcphdr tcp;
	__be32 kind;
	__be32 value;
	__be32 echo;
};

struct weir_tcp_packet {
	__u32 far; /* address, or what is made of it */
	__u32 near;
	__u16 far_port;
	__u16 near_port;
	__u32 payload; /* header and data; 0: larger than the field can say */
	bool goes_on; /* the first of several fragments */
};

static __always_inline __u32 weir_tcp_mix6(const __be32 *address)
{
	return address[0] ^ address[1] * 3 ^ address[2] * 5 ^ address[3] * 7;
}

static __always_inline struct weir_tcp_stamped *weir_tcp_find4(struct iphdr *ip, void *end, bool to_far,
							       struct weir_tcp_packet *packet)
{
	__u32 length;

	if ((void *)(ip + 1) > end || ip->ihl != 5 || ip->protocol != IPPROTO_TCP ||
	    ip->frag_off & bpf_htons(0x1fff))
		return NULL;
	length = bpf_ntohs(ip->tot_len);
	packet->payload = length ? length - sizeof(*ip) : 0;
	packet->goes_on = ip->frag_off & bpf_htons(0x2000);
	packet->far = to_far ? ip->daddr : ip->saddr;
	packet->near = to_far ? ip->saddr : ip->daddr;
	return (void *)(ip + 1);
}

static __always_inline struct weir_tcp_stamped *weir_tcp_find6(struct ipv6hdr *ip, void *end, bool to_far,
							       struct weir_tcp_packet *packet)
{
	__u32 source, destination;

	if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_TCP)
		return NULL;
	source = weir_tcp_mix6(ip->saddr.in6_u.u6_addr32);
	destination = weir_tcp_mix6(ip->daddr.in6_u.u6_addr32);
	packet->payload = bpf_ntohs(ip->payload_len);
	packet->goes_on = false;
	packet->far = to_far ? destination : source;
	packet->near = to_far ? source : destination;
	return (void *)(ip + 1);
}

/* NULL: it is something else. `to_far`: the packet is an upload. */
static __always_inline struct weir_tcp_stamped *weir_tcp_find(void *ip, void *end, bool to_far,
							      struct weir_tcp_packet *packet)
{
	struct weir_tcp_stamped *tcp;

	if (ip + 1 > end)
		return NULL;
	tcp = *(__u8 *)ip >> 4 == 4 ? weir_tcp_find4(ip, end, to_far, packet) :
				      weir_tcp_find6(ip, end, to_far, packet);
	if (!tcp || (void *)(tcp + 1) > end || tcp->kind != bpf_htonl(WEIR_TIMESTAMPS) || tcp->tcp.doff < 8)
		return NULL;
	packet->far_port = to_far ? tcp->tcp.dest : tcp->tcp.source;
	packet->near_port = to_far ? tcp->tcp.source : tcp->tcp.dest;
	return tcp;
}

/* Of the far end's address and port; not 0. */
static __always_inline __u32 weir_tcp_far(const struct weir_tcp_packet *packet)
{
	return (packet->far ^ packet->far_port) * 0x9e3779b1U | 1;
}

#endif
