/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fast path: one program on XDP of every port with WEIR_ROLE_FAST.
 *
 * A plain unicast packet between two such ports is routed by the kernel's own FIB, classified as the tc
 * programs would, and then, by the clocks it shares with them:
 *   drops      when the class or an ancestor is over its limit (policing, or beyond the horizon);
 *   goes up    when it would have to wait: tc gives it a departure time and fq keeps it;
 *   is charged, rewritten and redirected otherwise.
 *
 * On ports with WEIR_ROLE_FLOW, where a filter or NAT has to see the traffic, only packets of flows that
 * the kernel's flow table holds are forwarded: conntrack knows them and the rules let them pass. The FIB
 * is asked all the same, so that a changed route holds at once. Answers of the FIB are kept as long as they are right (hops.h).
 *
 * Three builds of the program differ in both: weir_flow.bpf.c has all of it and needs Linux 6.10, weir_kept.bpf.c has no lookup of
 * flows and sends those ports' packets up, and weir_xdp.bpf.c keeps no answers either, for kernels that cannot be looked into.
 *
 * Order within a flow: see held.h.
 *
 * Maps and concurrency: as in weir_tc.bpf.c; both stamps of held.h may be written by several CPUs.
 */
#ifndef WEIR_BPF_FAST_H
#define WEIR_BPF_FAST_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "bounded.h"
#include "checks.h"
#include "fast_class.h"
#include "forward.h"
#include "held.h"
#include "passage.h"
#include "ports.h"
#include "source.h"
#include "tagged.h"

#ifdef WEIR_KEEPS_ANSWERS
#include "hops.h"
#else
static __always_inline long weir_ask_route(struct xdp_md *ctx, struct weir_route *route)
{
	return bpf_fib_lookup(ctx, &route->fib, sizeof(route->fib), 0);
}
#endif

/* Finds the packet in the flow table and fills in what becomes of its addresses. False: not there. */
typedef bool (*weir_find_flow)(struct xdp_md *ctx, struct weir_route *route);

/*
 * Of a port that does not take every source: XDP_REDIRECT = this one; XDP_PASS = the stack is to drop it, unless it is for the
 * router itself.
 */
static __noinline int weir_check_fast(struct xdp_md *ctx, const struct weir_port *from,
				      const struct weir_packet *source)
{
	if (!from || !source)
		return XDP_REDIRECT;
	if (weir_has_check(from, WEIR_ROLE_BOUNDED) && weir_is_over_bound(source))
		return XDP_DROP;
	if (weir_has_check(from, WEIR_ROLE_LOOSE | WEIR_ROLE_STRICT) &&
	    weir_comes_wrong(ctx, from, source, true))
		return XDP_PASS;
	return XDP_REDIRECT;
}

/* Takes numbers only, as weir_note_up. */
static __noinline int weir_drop_unknown(__u32 place, __u32 bytes)
{
	weir_count_check(place, WEIR_REFUSED, 1, bytes);
	return XDP_DROP;
}

/* Whether the source of a packet, or the port that it came in by, has a class. */
static __always_inline bool weir_is_known(const struct weir_passage *passage)
{
	return passage->sender || (passage->index && (passage->index & 1) == WEIR_UPLOAD);
}

/* The port that the route leads to, and whose classes that makes the packet's. False: not of the fast path. */
static __always_inline bool weir_find_way_out(struct weir_passage *passage, __u32 roles)
{
	const struct weir_port *to = passage->to;

	if (!to || (to->roles & roles) != WEIR_ROLE_FAST || to->mode == WEIR_HTB)
		return false;
	if (to->domain != passage->from->domain)
		weir_find_slots_across(passage);
	return true;
}

/* To a VLAN interface, if `to` is one. */
static __always_inline int weir_shape_and_tag(struct xdp_md *ctx, struct weir_passage *passage)
{
	const struct weir_port *to;
	int action;

	if (!weir_find_way_out(passage, WEIR_ROLE_FAST))
		return weir_go_up(passage, WEIR_UP_PORT);
	to = passage->to;
	action = weir_shape_fast(ctx, passage, false);
	if (action == XDP_REDIRECT && to->roles & WEIR_ROLE_TAGGED &&
	    !weir_push_tag(ctx, to->tag_protocol, bpf_htons(to->tag)))
		return XDP_DROP; /* no room before the frame, which XDP promises */
	return action;
}

/* The way out is no plain fast port. */
static __noinline int weir_shape_tagged(struct xdp_md *ctx, struct weir_passage *passage)
{
	return weir_shape_and_tag(ctx, passage);
}

/*
 * Whether the stack would send the packet as the FIB says here: the agent knows of routes that say more than it, an MTU or
 * several gateways. And the stack tells a sender of a shorter way where a packet leaves by the port it came by.
 */
static __always_inline bool weir_route_is_plain(const struct weir_passage *passage)
{
	const struct weir_port *to = passage->to;

	return !to || (to != passage->from && passage->route.ip_bytes <= to->largest);
}

/* From `passage->from`, which is fast, as far as the way out. XDP_REDIRECT: it is known. */
static __always_inline int weir_route_fast(struct xdp_md *ctx, struct weir_passage *passage,
					   weir_find_flow find_flow)
{
	struct weir_route *route = &passage->route;
	__u32 place = 0;

	if (passage->from->roles & WEIR_ROLE_FLOW && (route->ends || !find_flow(ctx, route)))
		return weir_go_up(passage, WEIR_UP_FLOW);
	weir_find_slots(passage);
	passage->now_ns = bpf_ktime_get_ns();
	if (weir_went_up(route->flow, passage->now_ns))
		return weir_go_up(passage, WEIR_UP_ORDER);
	if (route->source.family == 4 && weir_source_may_be_refused(route->source.high) &&
	    weir_source_is_refused(ctx, route->fib.ipv4_src, passage->from->ifindex))
		return weir_go_up(passage, WEIR_UP_UNUSUAL);
	if (weir_has_check(passage->from, WEIR_ROLE_LOOSE | WEIR_ROLE_STRICT | WEIR_ROLE_BOUNDED)) {
		int action = weir_check_fast(ctx, passage->from, &route->source);

		if (action != XDP_REDIRECT)
			return action == XDP_DROP ? XDP_DROP : weir_go_up(passage, WEIR_UP_UNUSUAL);
	}
	if (weir_ask_route(ctx, route) != BPF_FIB_LKUP_RET_SUCCESS)
		return weir_go_up(passage, WEIR_UP_ROUTE);
	if (weir_has_check(passage->from, WEIR_ROLE_KNOWN) && !weir_is_known(passage))
		return weir_drop_unknown(passage->from_place, route->ip_bytes + ETH_HLEN);
	passage->to = weir_port_find(route->fib.ifindex, &place);
	passage->to_place = place;
	if (!weir_route_is_plain(passage))
		return weir_go_up(passage, WEIR_UP_ROUTE);
	return XDP_REDIRECT;
}

/* Flows of the flow table are known by the interface below; those of tags are the stack's. */
static __always_inline bool weir_find_no_flow(struct xdp_md *ctx, struct weir_route *route)
{
	(void)ctx;
	(void)route;
	return false;
}

static __always_inline bool weir_read_tag(struct xdp_md *ctx, struct weir_tagged_frame *frame)
{
	void *data = (void *)(long)ctx->data;

	if (data + sizeof(*frame) > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(frame, data, sizeof(*frame));
	return weir_is_vlan(frame->ethernet.h_proto);
}

/* What the stack has to see, but for a source that no host has: tc would drop it as well. */
static __always_inline int weir_leave_unusual(const struct xdp_md *ctx, const struct weir_passage *passage)
{
	if (weir_is_impossible(&passage->route.source)) {
		weir_count_check(passage->from_place, WEIR_IMPOSSIBLE_SOURCE, 1, ctx->data_end - ctx->data);
		return XDP_DROP;
	}
	weir_port_count_up(passage->from_place, WEIR_UP_UNUSUAL);
	return XDP_PASS;
}

/* A frame that is not plain, on a port with VLAN interfaces: perhaps a plain one of theirs with its tag. */
static __noinline int weir_fast_tagged(struct xdp_md *ctx, struct weir_passage *passage)
{
	struct weir_tagged_frame frame = {};
	__u32 place = WEIR_PORTS;
	int action = XDP_PASS;

	if (weir_read_tag(ctx, &frame))
		place = weir_tagged_place(ctx->ingress_ifindex, frame.ethernet.h_proto,
					  bpf_ntohs(frame.vlan.tag) & WEIR_TAG_MASK);
	passage->from = weir_port_at(place);
	if (place == WEIR_PORTS || !(passage->from->roles & WEIR_ROLE_FAST)) {
		weir_port_count_up(passage->from_place, WEIR_UP_UNUSUAL);
		return XDP_PASS;
	}
	passage->from_place = place;
	if (!weir_pop_tag(ctx))
		return XDP_DROP;
	if (!weir_forwardable(ctx, passage->from, &passage->route))
		action = weir_leave_unusual(ctx, passage);
	else if (weir_route_fast(ctx, passage, weir_find_no_flow) == XDP_REDIRECT)
		action = weir_shape_and_tag(ctx, passage);
	if (action == XDP_PASS && !weir_push_tag(ctx, frame.ethernet.h_proto, frame.vlan.tag))
		return XDP_DROP;
	return action;
}

static __always_inline int weir_fast_path(struct xdp_md *ctx, weir_find_flow find_flow)
{
	struct weir_passage passage = {};
	__u32 place = 0;
	int action;

	passage.from = weir_port_find(ctx->ingress_ifindex, &place);
	passage.from_place = place;
	if (!passage.from || !(passage.from->roles & WEIR_ROLE_FAST))
		return XDP_PASS;
	if (!weir_forwardable(ctx, passage.from, &passage.route)) {
		if (passage.from->roles & WEIR_ROLE_TRUNK)
			return weir_fast_tagged(ctx, &passage);
		return weir_leave_unusual(ctx, &passage);
	}
	action = weir_route_fast(ctx, &passage, find_flow);
	if (action != XDP_REDIRECT)
		return action;
	if (!weir_find_way_out(&passage, WEIR_ROLE_FAST | WEIR_ROLE_TAGGED))
		return weir_shape_tagged(ctx, &passage);
	return weir_shape_fast(ctx, &passage, true);
}

#endif
