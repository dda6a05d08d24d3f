/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way of nearly all packets through weir_egress: IPv4 without options in an Ethernet frame without a tag, of one
 * customer, whose class is neither a fork nor has sub-queues, by a port that paces or polices what no other port has
 * charged. All that is asked of other packets is asked of these in a few comparisons (docs/adr/0194).
 *
 * Nothing is charged or counted before that is known, so that all else is left to the general way as it came.
 */
#ifndef WEIR_BPF_PLAIN_H
#define WEIR_BPF_PLAIN_H

#include "weir/abi.h"

#include "lookup4.h"
#include "pace.h"
#include "parse.h"

#define WEIR_PLAIN_IPV4 0x45 /* version 4, five words */

/* Where some class has sub-queues by source (WEIR_ROLE_HOSTS) others usually have some, and would be looked up twice. */
static __always_inline bool weir_is_plain_port(const struct weir_port *port)
{
	__u32 roles = port->roles & (WEIR_ROLE_SHAPE | WEIR_ROLE_TRUNK | WEIR_ROLE_L3 | WEIR_ROLE_HOSTS);

	return roles == WEIR_ROLE_SHAPE && port->mode != WEIR_HTB;
}

/* The header of such a packet; NULL = it is another. */
static __always_inline struct iphdr *weir_plain_header(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *ethernet = data;
	struct iphdr *ip = (void *)(ethernet + 1);

	if ((void *)(ip + 1) > end || weir_ethernet_protocol(ethernet) != bpf_htons(ETH_P_IP) ||
	    *(__u8 *)ip != WEIR_PLAIN_IPV4)
		return NULL;
	return ip;
}

/* Its line by destination, or by the mark if neither that nor the port has one; 0 = both ends have, or none. */
static __always_inline __u32 weir_plain_index(struct __sk_buff *skb, const struct weir_port *port,
					      const struct iphdr *ip)
{
	__u32 slot = weir_lookup4(port->domain, bpf_ntohl(ip->daddr));
	__u32 sender = skb->mark & WEIR_MARK_SLOT;

	if (slot)
		return sender ? 0 : slot * 2 + WEIR_DOWNLOAD;
	if (!sender || port->target_slot || port->above_slot)
		return 0;
	return (sender >> (WEIR_MARK_SHIFT - 1)) + WEIR_UPLOAD;
}

/* The line of a plain packet, which is being fetched then; NULL = it is another, or is not known to be plain. */
static __always_inline struct weir_line *weir_plain_line(struct __sk_buff *skb, const struct weir_port *port,
							 __u32 *index, __u32 *tos)
{
	struct iphdr *ip = weir_is_plain_port(port) ? weir_plain_header(skb) : NULL;
	struct weir_line *line;

	if (!ip)
		return NULL;
	*tos = ip->tos;
	*index = weir_plain_index(skb, port, ip);
	line = weir_line_of(*index);
	if (!line)
		return NULL;
	weir_fetch(line);
	return (line->flags & (WEIR_LINE_LIVE | WEIR_LINE_STACK)) == WEIR_LINE_LIVE ? line : NULL;
}

#endif
