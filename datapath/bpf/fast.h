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
 * is asked all the same, so that a changed route holds at once. Two builds of the program differ in
 * that lookup only: weir_xdp.bpf.c has none and sends all of them up, weir_flow.bpf.c needs Linux 6.10.
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
#include "clock.h"
#include "counters.h"
#include "forward.h"
#include "held.h"
#include "lookup.h"
#include "ports.h"
#include "rewrite.h"
#include "round_trip.h"
#include "source.h"
#include "tagged.h"
#include "used.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, WEIR_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} weir_devices SEC(".maps");

/* A packet on its way through the program, and the ports it is between. */
struct weir_passage {
	struct weir_port *from, *to;
	__u32 index; /* of the destination's line; of the source's, if that has none; 0 = none */
	__u32 sender; /* the source's line, if the destination has one as well; 0 = none */
	__u16 from_place, to_place;
	__u64 now_ns;
	struct weir_route route;
};

/* Finds the packet in the flow table and fills in what becomes of its addresses. False: not there. */
typedef bool (*weir_find_flow)(struct xdp_md *ctx, struct weir_route *route);

/* Takes numbers only, so that a passage need not lie in memory for a function that is seldom called. */
static __noinline int weir_note_up(__u32 flow, __u64 now_ns, __u32 from_place, enum weir_up_reason reason)
{
	weir_goes_up(flow, now_ns);
	weir_port_count_up(from_place, reason);
	return XDP_PASS;
}

static __always_inline int weir_go_up(const struct weir_passage *passage, enum weir_up_reason reason)
{
	return weir_note_up(passage->route.flow, passage->now_ns, passage->from_place, reason);
}

/* A packet is its receiver's, or, if that is no customer, its sender's; of two customers it is charged to both. */
static __always_inline void weir_set_ends(struct weir_passage *passage, __u32 receiver_slot, __u32 sender)
{
	passage->index = receiver_slot ? receiver_slot * 2 + WEIR_DOWNLOAD : sender;
	passage->sender = receiver_slot ? sender : 0;
}

/*
 * Look up both ends before the route is known, and have the class's line fetched while the FIB is asked: with
 * many classes it is far away in memory.
 */
static __always_inline void weir_find_slots(struct weir_passage *passage)
{
	const struct weir_port *from = passage->from;
	__u32 slot = weir_lookup(from, &passage->route.destination), sender = 0;
	struct weir_line *line;

	if (from->roles & WEIR_ROLE_CLASSIFY)
		sender = (weir_lookup(from, &passage->route.source) ?: from->target_slot) * 2 + WEIR_UPLOAD;
	weir_set_ends(passage, slot, sender);
	line = weir_line_of(passage->index);
	if (line)
		weir_fetch(line);
}

static __noinline __u32 weir_lookup_called(const struct weir_port *port, const struct weir_packet *packet)
{
	return port && packet ? weir_lookup(port, packet) : 0;
}

/* Behind a port of another domain the destination may be somebody else's. */
static __always_inline void weir_find_slots_across(struct weir_passage *passage)
{
	const struct weir_port *from = passage->from;
	__u32 slot = weir_lookup_called(passage->to, &passage->route.destination), sender = 0;

	if (from->roles & WEIR_ROLE_CLASSIFY)
		sender = (weir_lookup_called(from, &passage->route.source) ?: from->target_slot) * 2 +
			 WEIR_UPLOAD;
	weir_set_ends(passage, slot, sender);
}

static __always_inline int weir_send_fast(struct xdp_md *ctx, const struct weir_passage *passage)
{
	weir_use_neighbour(passage->route.fib.dmac);
	if (!weir_cut_padding(ctx, passage->route.ip_bytes) || !weir_rewrite(ctx, &passage->route))
		return XDP_DROP; /* all headers were there a moment ago */
	return bpf_redirect_map(&weir_devices, passage->to_place, XDP_DROP);
}

/* Global: called when a class is over its rate, verified once. */
__attribute__((noinline)) int weir_conforms_called(__u32 index, const struct weir_pace *pace)
{
	return pace ? weir_conforms(index, pace) : WEIR_OVER_LIMIT;
}

static __always_inline void weir_count_sender(__u32 index, __u32 bytes)
{
	struct weir_line *line = weir_line(index);

	if (line)
		weir_count_fast(line, bytes);
}

/* Returns XDP_REDIRECT when the packet may go at once and has been charged. */
static __always_inline int weir_conform_fast(const struct weir_passage *passage, __u32 index,
					     struct weir_line *line, __u32 sender)
{
	const struct weir_port *to = passage->to;
	__u32 ip_bytes = passage->route.ip_bytes;
	__s64 bytes = (__s64)ip_bytes + to->overhead_bytes;
	bool police = to->mode == WEIR_POLICE;
	struct weir_pace pace = {
		.now_tk = passage->now_ns << WEIR_TICK_SHIFT,
		.burst_min = to->burst_min,
		.bytes = bytes > 0 ? bytes : 0,
	};
	enum weir_conformance conformance;

	if (police || !weir_is_held(line, passage->now_ns)) {
		conformance = sender ? weir_enter_called(sender, &pace) : WEIR_CONFORMS;
		if (conformance == WEIR_CONFORMS) {
			conformance = weir_enter(line, &pace);
			if (sender && conformance != WEIR_CONFORMS)
				weir_refund(sender, pace.bytes);
		}
		if (conformance == WEIR_CONFORMS) {
			weir_count_fast(line, ip_bytes);
			if (sender)
				weir_count_sender(sender, ip_bytes);
			return XDP_REDIRECT;
		}
	}
	if (!police)
		pace.limit_mask = ~0ULL;
	if (!police || sender) {
		conformance = weir_conforms_called(index, &pace);
		if (conformance == WEIR_CONFORMS && sender) {
			index = sender;
			conformance = weir_conforms_called(index, &pace);
		}
		if (conformance == WEIR_CONFORMS)
			return weir_go_up(passage, WEIR_UP_WAITS);
	}
	weir_count_drop(&index, 1, ip_bytes, conformance == WEIR_ANCESTOR_OVER_LIMIT);
	return XDP_DROP;
}

/*
 * Global: verified once, with a stack of its own. Before the packet is judged, because there no value more has to be
 * kept over the call, for which this program has no stack; one that goes up is seen again by tc, which finds that
 * what it says is known.
 */
__attribute__((noinline)) int weir_see_round_trip_fast(struct xdp_md *ctx, __u32 index)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	weir_trip_see(index, data + sizeof(struct ethhdr), end);
	return 0;
}

/* As above, with a stack of its own. */
__attribute__((noinline)) int weir_see_loss_fast(struct xdp_md *ctx, __u32 index)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	weir_loss_see(index, data + sizeof(struct ethhdr), end, true);
	return 0;
}

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

/* As weir_admit_unknown in admit.h. */
static __noinline bool weir_admit_unknown_fast(const struct weir_passage *passage)
{
	__u32 bytes;

	if (!passage)
		return true;
	bytes = passage->route.ip_bytes + ETH_HLEN;

	if (weir_has_check(passage->to, WEIR_ROLE_KNOWN)) {
		weir_count_check(passage->to_place, WEIR_REFUSED, 1, bytes);
		return false;
	}
	weir_count_check(passage->to_place, WEIR_UNKNOWN_TX, 1, bytes);
	weir_count_check(passage->from_place, WEIR_UNKNOWN_RX, 1, bytes);
	return true;
}

/* A sender whose class is not for the fast path, or is gone. */
static __always_inline bool weir_is_of_stack(__u32 sender)
{
	struct weir_line *line = weir_line(sender);

	return !line || (line->flags & (WEIR_LINE_STACK | WEIR_LINE_LIVE)) != WEIR_LINE_LIVE;
}

/*
 * The same index, of which the verifier knows nothing any more: what a global function returns may be anything. What makes
 * an address has to be known exactly on each path there is to it, and to the class of a packet there are many.
 */
__noinline __u32 weir_of_any_path(__u32 index)
{
	asm volatile("" : "+r"(index));
	return index;
}

/* `two`: whether a packet between two customers may be judged here; the others have no stack left for that. */
static __always_inline int weir_shape_fast(struct xdp_md *ctx, const struct weir_passage *passage, bool two)
{
	const struct weir_port *to = passage->to;
	struct weir_line *line;
	__u32 index = passage->index, sender = passage->sender;
	int action;

	if (!(to->roles & WEIR_ROLE_SHAPE) || to->mode == WEIR_NONE)
		return weir_send_fast(ctx, passage);
	/* As weir_classify_egress in weir_tc.bpf.c, with the source in place of the mark. */
	if ((index & 1) != WEIR_DOWNLOAD && to->target_slot) {
		sender = index;
		index = to->target_slot * 2 + WEIR_DOWNLOAD;
	}
	line = weir_line_of(weir_of_any_path(index));
	if (!line || !(line->flags & WEIR_LINE_LIVE)) {
		if (!index && !weir_admit_unknown_fast(passage))
			return XDP_DROP;
		weir_port_count(passage->to_place, index ? WEIR_STALE_CLASS : WEIR_NO_CLASS,
				passage->route.ip_bytes);
		return weir_send_fast(ctx, passage);
	}
	if (line->flags & WEIR_LINE_STACK || (sender && (!two || weir_is_of_stack(sender))))
		return weir_go_up(passage, WEIR_UP_WAITS);
	if (weir_is_looked_at(index, passage->now_ns << WEIR_TICK_SHIFT)) {
		weir_see_round_trip_fast(ctx, index);
		weir_see_loss_fast(ctx, index);
	}
	action = weir_conform_fast(passage, index, line, two ? sender : 0);
	return action == XDP_REDIRECT ? weir_send_fast(ctx, passage) : action;
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

	passage->now_ns = bpf_ktime_get_ns();
	if (weir_went_up(route->flow, passage->now_ns))
		return weir_go_up(passage, WEIR_UP_ORDER);
	if (passage->from->roles & WEIR_ROLE_FLOW && (route->ends || !find_flow(ctx, route)))
		return weir_go_up(passage, WEIR_UP_FLOW);
	if (route->source.family == 4 && weir_source_may_be_refused(route->source.high) &&
	    weir_source_is_refused(ctx, route->fib.ipv4_src, passage->from->ifindex))
		return weir_go_up(passage, WEIR_UP_UNUSUAL);
	if (weir_has_check(passage->from, WEIR_ROLE_LOOSE | WEIR_ROLE_STRICT | WEIR_ROLE_BOUNDED)) {
		int action = weir_check_fast(ctx, passage->from, &route->source);

		if (action != XDP_REDIRECT)
			return action == XDP_DROP ? XDP_DROP : weir_go_up(passage, WEIR_UP_UNUSUAL);
	}
	weir_find_slots(passage);
	if (bpf_fib_lookup(ctx, &route->fib, sizeof(route->fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
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
