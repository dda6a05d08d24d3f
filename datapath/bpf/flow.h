/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's flow table: connections that conntrack has established and the rules let pass (flow
 * statement of nft). What a packet looks like afterwards is the reverse of the other direction's tuple,
 * whatever NAT there is. The lookup keeps the entry alive and never returns one that is being torn down.
 *
 * The structures are the running kernel's, read by CO-RE. Several modules carry a copy of these types, so
 * nothing here may need a type's id; sizes and offsets agree in all of them.
 */
#ifndef WEIR_BPF_FLOW_H
#define WEIR_BPF_FLOW_H

#include <linux/in6.h>

#include <bpf/bpf_core_read.h>

#include "forward.h"

struct bpf_flowtable_opts {
	__s32 error;
};

struct flow_offload_tuple {
	struct in6_addr src_v6; /* in unions with src_v4 and dst_v4 */
	struct in6_addr dst_v6;
	__be16 src_port;
	__be16 dst_port;
	__u8 dir : 2;
} __attribute__((preserve_access_index));

struct flow_offload_tuple_rhash {
	struct flow_offload_tuple tuple;
} __attribute__((preserve_access_index));

extern struct flow_offload_tuple_rhash *bpf_xdp_flow_lookup(struct xdp_md *ctx, struct bpf_fib_lookup *tuple,
							    struct bpf_flowtable_opts *opts,
							    __u32 opts_size) __ksym;

/*
 * Both directions lie in one array. The verifier accepts constant offsets to a kernel pointer, no computed
 * ones, and the compiler would make one of both arms: hence the assembly.
 */
static __always_inline struct flow_offload_tuple_rhash *
weir_flow_other(struct flow_offload_tuple_rhash *found)
{
	__u64 size = bpf_core_type_size(struct flow_offload_tuple_rhash);

	/* Not (&found->tuple, dir): the offset is relocated from `found`, and would be added to that address. */
	if (BPF_CORE_READ_BITFIELD_PROBED(found, tuple.dir))
		asm volatile("%0 -= %1" : "+r"(found) : "r"(size));
	else
		asm volatile("%0 += %1" : "+r"(found) : "r"(size));
	return found;
}

static __always_inline bool weir_flow_same6(const struct weir_route *route, const struct in6_addr *source,
					    const struct in6_addr *destination)
{
	__u32 differs = 0;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		differs |= route->fib.ipv6_src[i] ^ source->in6_u.u6_addr32[i];
		differs |= route->fib.ipv6_dst[i] ^ destination->in6_u.u6_addr32[i];
	}
	return !differs;
}

/* A weir_find_flow. Called, so that what it needs of the stack is not there below the functions for tags. */
static __noinline bool weir_flow_find(struct xdp_md *ctx, struct weir_route *route)
{
	struct bpf_flowtable_opts opts = {};
	struct flow_offload_tuple_rhash *found, *other;
	struct in6_addr source, destination;

	found = bpf_xdp_flow_lookup(ctx, &route->fib, &opts, sizeof(opts));
	if (!found)
		return false;
	other = weir_flow_other(found);
	if (bpf_core_read(&source, sizeof(source), &other->tuple.dst_v6) ||
	    bpf_core_read(&destination, sizeof(destination), &other->tuple.src_v6) ||
	    bpf_core_read(&route->new_ports[0], sizeof(__be16), &other->tuple.dst_port) ||
	    bpf_core_read(&route->new_ports[1], sizeof(__be16), &other->tuple.src_port))
		return false;
	if (route->fib.family == WEIR_AF_INET6) /* we never translate IPv6; who does keeps it in the stack */
		return route->new_ports[0] == route->fib.sport && route->new_ports[1] == route->fib.dport &&
		       weir_flow_same6(route, &source, &destination);
	route->translated = true;
	route->new_source = source.in6_u.u6_addr32[0];
	route->new_destination = destination.in6_u.u6_addr32[0];
	route->destination.high = bpf_ntohl(route->new_destination);
	route->fib.ipv4_dst = route->new_destination;
	route->fib.dport = route->new_ports[1];
	return true;
}

#endif
