/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of the line that a packet matched. Ancestors are not counted here: their lines are shared
 * by CPUs, and readers add up what is below (weir_line.parent).
 */
#ifndef WEIR_BPF_COUNTERS_H
#define WEIR_BPF_COUNTERS_H

#include "weir/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_counters);
} weir_counters SEC(".maps");

/*
 * Fetch the row while the class's line is on its way: with many classes both are far away in memory, and
 * an atomic waits for its line where a load does not.
 */
static __always_inline void weir_counters_fetch(__u32 line)
{
	struct weir_counters *counters = bpf_map_lookup_elem(&weir_counters, &line);

	if (counters)
		(void)*(volatile __u64 *)&counters->packets;
}

static __always_inline void weir_count_sent(__u32 line, __u32 packets, __u32 bytes, __u64 delay_us)
{
	struct weir_counters *counters = bpf_map_lookup_elem(&weir_counters, &line);

	if (!counters)
		return;
	__sync_fetch_and_add(&counters->packets, packets);
	__sync_fetch_and_add(&counters->bytes, bytes);
	if (delay_us)
		__sync_fetch_and_add(&counters->delay_us, delay_us);
}

static __always_inline void weir_count_mark(__u32 line, __u32 packets)
{
	struct weir_counters *counters = bpf_map_lookup_elem(&weir_counters, &line);

	if (counters)
		__sync_fetch_and_add(&counters->mark_packets, packets);
}

static __always_inline void weir_count_fast(__u32 line, __u32 bytes)
{
	struct weir_counters *counters = bpf_map_lookup_elem(&weir_counters, &line);

	if (!counters)
		return;
	__sync_fetch_and_add(&counters->packets, 1);
	__sync_fetch_and_add(&counters->bytes, bytes);
	__sync_fetch_and_add(&counters->fast_bytes, bytes);
}

static __always_inline void weir_count_drop(__u32 line, __u32 packets, __u32 bytes, bool by_ancestor)
{
	struct weir_counters *counters = bpf_map_lookup_elem(&weir_counters, &line);

	if (!counters)
		return;
	__sync_fetch_and_add(&counters->drop_packets, packets);
	__sync_fetch_and_add(&counters->drop_bytes, bytes);
	if (by_ancestor)
		__sync_fetch_and_add(&counters->ancestor_drop_packets, packets);
}

#endif
