// SPDX-License-Identifier: GPL-2.0-only
/*
 * For whom routes are looked up, and of how many destinations, as long as somebody looks: who scans networks (E1).
 *
 * Hooks: the kernel's tracepoints fib_table_lookup and fib6_table_lookup, which both the stack and the fast path come by. The links
 * belong to the process that reads and end with it; without them no packet runs an instruction more. Only lookups that
 * found a way for a packet that came in are counted, in the network namespace of the reader.
 *
 * Maps: scan_sources gives way to sources that are seen later when it is full. Its rows are written by all processors, by atomics.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/hash.h"
#include "weir/scan.h"

#include "namespaces.h"

const volatile __u32 scan_namespace = 0; /* its inode */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WEIR_SCAN_SOURCES);
	__type(key, struct weir_scan_key);
	__type(value, struct weir_scan_row);
} scan_sources SEC(".maps");

/* Of the kernel, as far as it is read. */
struct fib_nh_common {
	struct net_device *nhc_dev;
} __attribute__((preserve_access_index));

struct fib6_result {
	void *f6i;
} __attribute__((preserve_access_index));

struct flowi_common {
	int flowic_iif;
} __attribute__((preserve_access_index));

struct flowi4 {
	struct flowi_common __fl_common;
	__be32 saddr, daddr;
} __attribute__((preserve_access_index));

struct in6_words {
	__u32 word[4];
};

struct flowi6 {
	struct flowi_common __fl_common;
	struct in6_words daddr, saddr;
} __attribute__((preserve_access_index));

#define LOOPBACK 1 /* what the router itself sends is looked up as if it came in there, or by none */

static __always_inline int scan_note(const struct weir_scan_key *source, __u64 destination)
{
	static const struct weir_scan_row nothing;
	struct weir_scan_row *row = bpf_map_lookup_elem(&scan_sources, source);
	__u32 bit = (destination * 0x9e3779b97f4a7c15ULL) >> 54;

	if (!row) {
		bpf_map_update_elem(&scan_sources, source, &nothing, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&scan_sources, source);
	}
	if (!row)
		return 0;
	__sync_fetch_and_add(&row->lookups, 1);
	__sync_fetch_and_or(&row->bits[bit / 64 % WEIR_SCAN_WORDS], 1ULL << (bit % 64));
	return 0;
}

/* Arguments: table, flow, next hop, error. */
SEC("tp_btf/fib_table_lookup")
int scan_v4(__u64 *arguments)
{
	const struct flowi4 *flow = (void *)arguments[1];
	const struct fib_nh_common *way = (void *)arguments[2];
	struct weir_scan_key source = { .word = { 0, 0, bpf_htonl(0xffff), 0 } };

	if (!way || BPF_CORE_READ(flow, __fl_common.flowic_iif) <= LOOPBACK ||
	    BPF_CORE_READ(way, nhc_dev, nd_net.net, ns.inum) != scan_namespace)
		return 0;
	source.word[3] = BPF_CORE_READ(flow, saddr);
	return source.word[3] ? scan_note(&source, BPF_CORE_READ(flow, daddr)) : 0;
}

/* Arguments: network namespace, what was found, table, flow. */
SEC("tp_btf/fib6_table_lookup")
int scan_v6(__u64 *arguments)
{
	const struct net *net = (void *)arguments[0];
	const struct fib6_result *found = (void *)arguments[1];
	const struct flowi6 *flow = (void *)arguments[3];
	struct weir_scan_key source = {};
	struct in6_words from, to;

	if (BPF_CORE_READ(net, ns.inum) != scan_namespace || !BPF_CORE_READ(found, f6i) ||
	    BPF_CORE_READ(flow, __fl_common.flowic_iif) <= LOOPBACK)
		return 0;
	BPF_CORE_READ_INTO(&from, flow, saddr);
	BPF_CORE_READ_INTO(&to, flow, daddr);
	source.word[0] = from.word[0];
	source.word[1] = from.word[1];
	return scan_note(&source, ((__u64)to.word[0] << 32 | to.word[1]) * 31 +
					  ((__u64)to.word[2] << 32 | to.word[3]));
}

char LICENSE[] SEC("license")
= "GPL";
