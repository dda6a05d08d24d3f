/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VLAN interfaces as ports: found by the interface below and the tag; tags of frames in XDP.
 *
 * A frame with the tag of such a port is the plain frame without it, on that port: the fast path takes the tag off,
 * and puts it back when the frame goes up, so that the stack sees what came. Frames to such a port get its tag
 * when all else is done. The one tag, that is: what has two, or a tag that is no port's, goes up as it is.
 */
#ifndef WEIR_BPF_TAGGED_H
#define WEIR_BPF_TAGGED_H

#include <linux/if_ether.h>

#include "weir/abi.h"

#include "parse.h"
#include "ports.h"

#define WEIR_TAG_MASK 0x0fff

/* The place of the VLAN port with this tag; WEIR_PORTS = there is none. */
static __noinline __u32 weir_tagged_place(__u32 lower, __be16 protocol, __u32 tag)
{
	for (__u32 probe = 0; probe < WEIR_PORT_PROBES; probe++) {
		__u32 entry = (WEIR_TAG_ENTRY(lower, tag) + probe) % WEIR_PORTS, place;
		struct weir_port *port = weir_port_at(entry);

		place = *(volatile __u16 *)&port->tagged_place;
		if (!place--)
			continue;
		port = weir_port_at(place);
		if (port->lower == lower && port->tag == tag && port->tag_protocol == protocol &&
		    port->ifindex)
			return place;
	}
	return WEIR_PORTS;
}

struct weir_tagged_frame {
	struct ethhdr ethernet; /* h_proto: of the tag */
	struct weir_vlan_header vlan;
} __attribute__((packed));

/* Takes the tag off the frame, which has one. */
static __always_inline bool weir_pop_tag(struct xdp_md *ctx)
{
	struct weir_tagged_frame before;
	struct ethhdr *ethernet;
	void *data = (void *)(long)ctx->data;

	if (data + sizeof(before) > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(&before, data, sizeof(before));
	if (bpf_xdp_adjust_head(ctx, sizeof(before.vlan)))
		return false;
	ethernet = data = (void *)(long)ctx->data;
	if ((void *)(ethernet + 1) > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(ethernet, &before, 2 * ETH_ALEN);
	ethernet->h_proto = before.vlan.protocol;
	return true;
}

static __always_inline bool weir_push_tag(struct xdp_md *ctx, __be16 protocol, __be16 tag)
{
	struct weir_tagged_frame *tagged;
	struct ethhdr before;
	void *data = (void *)(long)ctx->data;

	if (data + sizeof(before) > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(&before, data, sizeof(before));
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct weir_vlan_header)))
		return false;
	tagged = data = (void *)(long)ctx->data;
	if ((void *)(tagged + 1) > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(&tagged->ethernet, &before, 2 * ETH_ALEN);
	tagged->ethernet.h_proto = protocol;
	tagged->vlan.tag = tag;
	tagged->vlan.protocol = before.h_proto;
	return true;
}

#endif
