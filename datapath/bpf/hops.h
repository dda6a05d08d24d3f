/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The next hop of a packet: the kernel's FIB is asked, and over IPv4 its answer is kept as long as it is right (docs/adr/0240).
 *
 * An answer depends on the destination, on the interface the packet came in by, and on
 *   routes, rules, addresses and links: net->ipv4.rt_genid is counted up by the kernel after each change of these, for its own
 *   kept routes. A row has the number that was read before the FIB was asked, so an older answer has an older number.
 *   the next hop's neighbour: changes are counted in groups by weir_hops.bpf.c, after the fact.
 * What else a packet says (TOS, source, ports, or chance among several gateways) decides where routes and rules ask for it. So
 * nothing is kept unless the agent has found routes of this very generation plain. Without the agent answers hold until the next change.
 *
 * Where all addresses that begin alike take one route by a gateway (a region), one answer is all of theirs: a sweep of addresses
 * is as fast as one.
 *
 * Concurrency: rows belong to a CPU, which handles one packet at a time here (bottom halves are off). The loader changes regions
 * while nothing may be kept; who kept an answer looks the region up again after having seen that it may.
 */
#ifndef WEIR_BPF_HOPS_H
#define WEIR_BPF_HOPS_H

#include "forward.h"
#include "kernel_routes.h"
#include "table.h"

#define WEIR_HOP_HASH_SHIFT 19 /* 32 bits less those of WEIR_HOP_ROWS */

WEIR_TABLE(struct weir_hop, weir_hops);
WEIR_TABLE(__u16, weir_regions);

const volatile __u32 weir_hop_count = WEIR_SECTION_ROWS; /* rows */

/* The only element of the map of this name, as weir_sources in source.h. */
struct weir_hop_state weir_hop_state SEC(".data.weir_hop_state");

static __always_inline __u32 weir_hop_key(__u32 destination)
{
	__u32 region = *(volatile __u16 *)weir_row(weir_regions, (__u64)destination >> 16);

	return region ?: destination;
}

static __always_inline __u32 weir_neighbours_now(__u32 group)
{
	return *(volatile __u32 *)&weir_hop_state.groups[group % WEIR_HOP_GROUPS];
}

/* Routes of the generation that was read before the FIB was asked are plain, and neighbours are watched. */
static __always_inline bool weir_may_keep(__u64 net, __u32 routes)
{
	volatile struct weir_hop_state *state = &weir_hop_state;

	return state->net == net && state->routes == routes && state->is_watched;
}

/* NULL: this CPU keeps nothing. */
static __always_inline struct weir_hop *weir_hop_row(__u32 key)
{
	return weir_row_below(weir_hops,
			      bpf_get_smp_processor_id() * WEIR_HOP_ROWS +
				      (key * 0x9e3779b1U >> WEIR_HOP_HASH_SHIFT),
			      weir_hop_count);
}

/* Fills in the answer, if there is one for a packet of this size. */
static __noinline bool weir_hop_is_known(struct xdp_md *ctx, struct weir_route *route)
{
	struct bpf_fib_lookup *fib = &route->fib;
	__u32 key = weir_hop_key(route->destination.high);
	struct weir_hop *hop = weir_hop_row(key);
	struct net *net = weir_net_of(ctx);

	if (!hop || hop->key != key || hop->from != fib->ifindex || hop->net != (__u64)net ||
	    hop->routes != (__u32)net->ipv4.rt_genid.counter ||
	    hop->neighbours != weir_neighbours_now(hop->group) || hop->mtu < fib->tot_len)
		return false;
	fib->ifindex = hop->to;
	__builtin_memcpy(fib->smac, hop->addresses, sizeof(hop->addresses));
	return true;
}

/* Which neighbour was asked for is known only afterwards: `neighbours` tells of changes of any meanwhile. */
static __noinline long weir_ask_and_keep(struct xdp_md *ctx, struct weir_route *route)
{
	volatile struct weir_hop_state *state = &weir_hop_state;
	struct bpf_fib_lookup *fib = &route->fib;
	__u32 destination = route->destination.high, from = fib->ifindex, key = weir_hop_key(destination);
	struct net *net = weir_net_of(ctx);
	__u32 routes = net->ipv4.rt_genid.counter, group, neighbours;
	__u64 changes = state->neighbours;
	long found = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	struct weir_hop *hop = weir_hop_row(key);

	if (found != BPF_FIB_LKUP_RET_SUCCESS || fib->family != WEIR_AF_INET || !hop ||
	    !weir_may_keep((__u64)net, routes))
		return found;
	group = WEIR_HOP_GROUP(fib->ipv4_dst); /* the gateway, if there is one */
	neighbours = weir_neighbours_now(group);
	if (state->neighbours != changes || weir_hop_key(destination) != key)
		return found;
	if (key != destination && fib->ipv4_dst == bpf_htonl(destination))
		return found; /* no gateway: the answer is this address's alone */
	hop->net = (__u64)net;
	hop->routes = routes;
	hop->neighbours = neighbours;
	hop->key = key;
	hop->from = from;
	hop->to = fib->ifindex;
	hop->mtu = fib->mtu_result;
	hop->group = group;
	__builtin_memcpy(hop->addresses, fib->smac, sizeof(hop->addresses));
	return found;
}

/* As bpf_fib_lookup for `route->fib`. */
static __always_inline long weir_ask_route(struct xdp_md *ctx, struct weir_route *route)
{
	if (route->fib.family != WEIR_AF_INET)
		return bpf_fib_lookup(ctx, &route->fib, sizeof(route->fib), 0);
	return weir_hop_is_known(ctx, route) ? BPF_FIB_LKUP_RET_SUCCESS : weir_ask_and_keep(ctx, route);
}

#endif
