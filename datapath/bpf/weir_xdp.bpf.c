// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fast path: one program on XDP of every port with WEIR_ROLE_FAST.
 *
 * A plain unicast packet between two such ports is routed by the kernel's own FIB, classified as the tc
 * programs would, and then, by the clocks it shares with them:
 *   drops      when the class or an ancestor is over its limit (policing, or beyond the horizon);
 *   goes up    when it would have to wait: tc gives it a departure time and fq keeps it;
 *   is charged, rewritten and redirected otherwise.
 *
 * Order within a flow: a packet that went up is charged only in tc. So "would not wait" means that all
 * clocks are at least WEIR_FAST_GUARD behind now: whatever went up before has been charged, and has
 * left its queue, by then. A class that is busy near its rate therefore stays in tc as a whole.
 *
 * The agent gives WEIR_ROLE_FAST only to ports whose traffic no filter and no NAT has to see.
 * Maps and concurrency: as in weir_tc.bpf.c.
 */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "clock.h"
#include "counters.h"
#include "forward.h"
#include "lookup.h"
#include "ports.h"

#define WEIR_FAST_GUARD_NS 5000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, WEIR_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} weir_devices SEC(".maps");

/* As weir_classify_egress in weir_tc.bpf.c, with the source in place of the mark. */
static __always_inline __u32 weir_classify_fast(const struct weir_port *from, const struct weir_port *to,
						const struct weir_route *route)
{
	__u32 slot = weir_lookup(to, &route->destination);

	slot = slot ?: to->target_slot;
	if (slot)
		return slot * 2 + WEIR_DOWNLOAD;
	if (from->roles & WEIR_ROLE_CLASSIFY)
		slot = weir_lookup(from, &route->source) ?: from->target_slot;
	return slot ? slot * 2 + WEIR_UPLOAD : 0;
}

static __always_inline int weir_send_fast(struct xdp_md *ctx, const struct weir_route *route, __u32 place)
{
	return weir_rewrite(ctx, route) ? bpf_redirect_map(&weir_devices, place, XDP_DROP) : XDP_PASS;
}

/* Returns XDP_REDIRECT when the packet may go at once and has been charged. */
static __always_inline int weir_conform_fast(const struct weir_port *to, __u32 index, __u32 ip_bytes)
{
	__s64 bytes = (__s64)ip_bytes + to->overhead_bytes;
	struct weir_pace pace = {
		.now_tk = bpf_ktime_get_ns() << WEIR_TICK_SHIFT,
		.limit_mask = to->mode == WEIR_POLICE ? 0 : ~0ULL,
		.burst_min = to->burst_min,
		.bytes = bytes > 0 ? bytes : 0,
	};
	enum weir_conformance conformance = weir_conforms(index, &pace);

	if (conformance != WEIR_CONFORMS) {
		weir_count_drop(index, 1, ip_bytes, conformance == WEIR_ANCESTOR_OVER_LIMIT);
		return XDP_DROP;
	}
	if (to->mode != WEIR_POLICE) {
		struct weir_pace waits = pace;

		waits.limit_mask = 0;
		waits.now_tk -= WEIR_FAST_GUARD_NS << WEIR_TICK_SHIFT;
		if (weir_conforms(index, &waits) != WEIR_CONFORMS)
			return XDP_PASS;
	}
	weir_charge(index, &pace);
	weir_count_fast(index, ip_bytes);
	return XDP_REDIRECT;
}

static __always_inline int weir_shape_fast(struct xdp_md *ctx, const struct weir_port *from,
					   const struct weir_port *to, __u32 to_place,
					   const struct weir_route *route)
{
	struct weir_line *line;
	__u32 index;
	int action;

	if (to->mode == WEIR_HTB)
		return XDP_PASS;
	if (!(to->roles & WEIR_ROLE_SHAPE) || to->mode == WEIR_NONE)
		return weir_send_fast(ctx, route, to_place);
	index = weir_classify_fast(from, to, route);
	line = weir_line(index);
	if (!index || !line || !line->key) {
		weir_port_count(to_place, index ? WEIR_STALE_CLASS : WEIR_NO_CLASS, route->ip_bytes);
		return weir_send_fast(ctx, route, to_place);
	}
	action = weir_conform_fast(to, index, route->ip_bytes);
	return action == XDP_REDIRECT ? weir_send_fast(ctx, route, to_place) : action;
}

SEC("xdp")
int weir_fast(struct xdp_md *ctx)
{
	struct weir_route route = {};
	struct weir_port *from, *to;
	__u32 place;

	from = weir_port_find(ctx->ingress_ifindex, &place);
	if (!from || !(from->roles & WEIR_ROLE_FAST) || !weir_forwardable(ctx, &route))
		return XDP_PASS;
	if (bpf_fib_lookup(ctx, &route.fib, sizeof(route.fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;
	to = weir_port_find(route.fib.ifindex, &place);
	if (!to || !(to->roles & WEIR_ROLE_FAST))
		return XDP_PASS;
	return weir_shape_fast(ctx, from, to, place, &route);
}

char LICENSE[] SEC("license")
= "GPL";
