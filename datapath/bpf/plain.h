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

#define WEIR_PLAIN_ASKS (WEIR_ROLE_SHAPE | WEIR_ROLE_TRUNK | WEIR_ROLE_L3 | WEIR_ROLE_HOSTS)

/* `mode` and `roles` of a port in one load. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WEIR_MODE_AND_ROLES(mode, roles) ((mode) | (roles) << 8)
#else
#define WEIR_MODE_AND_ROLES(mode, roles) ((mode) << 8 | (roles))
#endif

/* Where some class has sub-queues by source (WEIR_ROLE_HOSTS) others usually have some, and would be looked up twice. */
static __always_inline bool weir_is_plain_port(const struct weir_port *port)
{
	__u32 both = *(const __u16 *)&port->mode & WEIR_MODE_AND_ROLES(0xff, WEIR_PLAIN_ASKS);

	/* One of two modes, which are one apart. */
	both -= WEIR_MODE_AND_ROLES(WEIR_EDT, WEIR_ROLE_SHAPE);
	return !(both & ~WEIR_MODE_AND_ROLES(WEIR_POLICE - WEIR_EDT, 0));
}

/* Its line by destination, or by the mark if neither that nor the port has one; 0 = both ends have, or none. */
static __always_inline __u32 weir_plain_class(struct __sk_buff *skb, const struct weir_port *port,
					      __u32 address)
{
	__u32 slot = weir_lookup4(port->domain, address);
	__u32 sender = skb->mark & WEIR_MARK_SLOT;

	if (slot)
		return sender ? 0 : slot * 2 + WEIR_DOWNLOAD;
	if (!sender || port->target_slot || port->above_slot)
		return 0;
	return (sender >> (WEIR_MARK_SHIFT - 1)) + WEIR_UPLOAD;
}

/* The line of a plain packet; 0 = it is another, or is not known to be plain. */
static __always_inline __u32 weir_plain_index(struct __sk_buff *skb, const struct weir_port *port)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u32 address;

	if (!weir_is_plain_port(port) || !weir_is_plain_frame(data, end))
		return 0;
	address = bpf_ntohl(weir_plain_ip(data)->daddr);
	asm volatile("" : "+r"(address)); /* or clang turns its half once more */
	return weir_plain_class(skb, port, address);
}

#endif
