// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the fast path keeps of the kernel's answers holds as long as the next hop's neighbour stays as it is: changes of
 * neighbours are counted here. Changes of routes the kernel counts itself (hops.h).
 *
 * Hooks: tp_btf where the kernel has changed a neighbour or taken one out of its table, each time after the fact and before
 * the one that asked for the change is answered. The links are pinned, as those of the fast path are: answers hold without the agent.
 * `weir_hops_look` is run by BPF_PROG_TEST_RUN and attached nowhere.
 *
 * Concurrency: a program that is running on a processor is passed over by what interrupts it there (__bpf_trace_run). A change
 * in process context may be interrupted by one in softirq, after it was counted; so each place has two programs, one
 * after the other, of which one is never running. Nothing changes neighbours in an interrupt.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "kernel_routes.h"

#define WEIR_AF_INET 2
#define WEIR_NUD_VALID 0xde /* permanent, noarp, reachable, probe, stale, delay: include/net/neighbour.h */

/* Of the kernel, as far as it is read. */
struct neigh_table {
	int family;
} __attribute__((preserve_access_index));

struct neighbour {
	struct neigh_table *tbl;
	__u8 nud_state;
	__u8 primary_key[];
} __attribute__((preserve_access_index));

struct weir_hop_state weir_hop_state SEC(".data.weir_hop_state");

/*
 * First that something has changed, then where: an answer that was asked for before the change, and finds the group counted up
 * already, finds this counted up as well, and is not kept (weir_ask_and_keep).
 */
static __always_inline int weir_neighbour_changed(const struct neighbour *neighbour)
{
	__u32 address = 0;

	if (neighbour->tbl->family != WEIR_AF_INET)
		return 0;
	bpf_probe_read_kernel(&address, sizeof(address), neighbour->primary_key);
	__sync_fetch_and_add(&weir_hop_state.neighbours, 1);
	__sync_fetch_and_add(&weir_hop_state.groups[WEIR_HOP_GROUP(address) % WEIR_HOP_GROUPS], 1);
	return 0;
}

static __always_inline int weir_neighbour_timed(const struct neighbour *neighbour)
{
	return neighbour->nud_state & WEIR_NUD_VALID ? 0 : weir_neighbour_changed(neighbour);
}

SEC("tp_btf/neigh_update_done")
int weir_updated_first(__u64 *arguments)
{
	return weir_neighbour_changed((const struct neighbour *)arguments[0]);
}

SEC("tp_btf/neigh_update_done")
int weir_updated_again(__u64 *arguments)
{
	return weir_neighbour_changed((const struct neighbour *)arguments[0]);
}

/* A timer leaves the address as it is: a neighbour only becomes a valid one, or ceases to be one. */
SEC("tp_btf/neigh_timer_handler")
int weir_timed_first(__u64 *arguments)
{
	return weir_neighbour_timed((const struct neighbour *)arguments[0]);
}

SEC("tp_btf/neigh_timer_handler")
int weir_timed_again(__u64 *arguments)
{
	return weir_neighbour_timed((const struct neighbour *)arguments[0]);
}

SEC("tp_btf/neigh_cleanup_and_release")
int weir_removed_first(__u64 *arguments)
{
	return weir_neighbour_changed((const struct neighbour *)arguments[0]);
}

SEC("tp_btf/neigh_cleanup_and_release")
int weir_removed_again(__u64 *arguments)
{
	return weir_neighbour_changed((const struct neighbour *)arguments[0]);
}

/* Which namespace this is, and the generation of its routes. */
SEC("xdp")
int weir_hops_look(struct xdp_md *ctx)
{
	struct net *net = weir_net_of(ctx);

	weir_hop_state.seen_net = (__u64)net;
	weir_hop_state.seen_routes = net->ipv4.rt_genid.counter;
	return XDP_PASS;
}

char LICENSE[] SEC("license")
= "GPL";
