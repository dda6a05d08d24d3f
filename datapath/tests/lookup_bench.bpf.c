// SPDX-License-Identifier: GPL-2.0-only
/* Many lookups in a row of addresses given in a map, for datapath_bench: cost without any packet. */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "../bpf/lookup4.h"
#include "../bpf/lookup6.h"

#define ADDRESSES 131072

struct bench_address {
	__u64 high;
	__u64 low;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ADDRESSES);
	__type(key, __u32);
	__type(value, struct bench_address);
} bench_addresses SEC(".maps");

__u32 bench_at = 0;

struct bench_loop {
	__u32 family;
	__u32 found;
};

static long bench_one(__u32 index, struct bench_loop *loop)
{
	__u32 at = (bench_at + index) % ADDRESSES, slot = 0;
	struct bench_address *address = bpf_map_lookup_elem(&bench_addresses, &at);

	if (!address)
		return 1;
	if (loop->family == 4)
		slot = weir_lookup4(0, address->high);
	else if (loop->family == 6)
		slot = weir_lookup6(0, address->high, address->low);
	loop->found += slot != 0;
	return 0;
}

/* How many of them have a class. */
static __always_inline int bench(__u32 family)
{
	struct bench_loop loop = { .family = family };

	bpf_loop(ADDRESSES, bench_one, &loop, 0);
	return loop.found;
}

SEC("tc")
int bench_none(struct __sk_buff *skb)
{
	return bench(0);
}

SEC("tc")
int bench_v4(struct __sk_buff *skb)
{
	return bench(4);
}

SEC("tc")
int bench_v6(struct __sk_buff *skb)
{
	return bench(6);
}

char LICENSE[] SEC("license")
= "GPL";
