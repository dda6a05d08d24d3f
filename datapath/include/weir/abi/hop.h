/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the kernel's FIB said of a destination, and until when that holds (bpf/hops.h). */
#ifndef WEIR_ABI_HOP_H
#define WEIR_ABI_HOP_H

#include <linux/types.h>

/* An answer. Each CPU has rows of its own, so that one is never half another. */
struct weir_hop {
	__u64 net; /* the namespace that was asked; 0: there is none */
	__u32 routes; /* its generation of routes then */
	__u32 neighbours; /* that of the next hop's group */
	__u32 key; /* what was asked: the destination in host byte order, or its region; */
	__u32 from; /* the interface it came in by */
	__u32 to; /* the answer: the interface it leaves by */
	__u16 mtu, group;
	__u32 addresses[3]; /* smac and dmac, as in struct bpf_fib_lookup */
	__u32 reserved;
};

#define WEIR_HOP_ROWS 8192 /* of one CPU; power of two */
#define WEIR_HOP_CPUS 64 /* those above keep nothing */
#define WEIR_HOP_GROUPS 4096 /* of neighbours, by a hash of their IPv4 address; power of two */
#define WEIR_HOP_GROUP(address) ((__u32)((address)*0x9e3779b1U) >> 20)

/*
 * weir_regions has a number for each 16 bits that a destination begins with: 0, or that of the route which all of them take, by a
 * gateway. No address begins like such a number (0.0.0.0/8 is nobody's), so both can be a key.
 */
#define WEIR_REGIONS 65536
#define WEIR_REGION(address) ((address) >> 16)

/* `neighbours` and `groups` are counted up by BPF; the rest is the loader's. */
struct weir_hop_state {
	__u64 net; /* the namespace that `routes` is of; 0: no answers are kept */
	__u32 routes; /* while routes are of this generation answers may be kept, and regions are right */
	__u32 is_watched; /* changes of neighbours are counted */
	__u64 seen_net; /* what weir_hops_look saw */
	__u32 seen_routes, reserved;
	__u64 neighbours; /* changes of any */
	__u32 groups[WEIR_HOP_GROUPS]; /* of those in a group */
};

#endif
