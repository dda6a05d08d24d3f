/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of the line that a packet matched. Ancestors are not counted here: their lines are shared
 * by CPUs, and readers add up what is below (weir_line.parent). What the fast path and the stack send on is
 * counted apart, so that each takes two atomics; readers add both.
 */
#ifndef WEIR_BPF_COUNTERS_H
#define WEIR_BPF_COUNTERS_H

#include "weir/abi.h"

#include "line.h"

static __always_inline void weir_count_sent(struct weir_line *line, __u32 packets, __u32 bytes)
{
	__sync_fetch_and_add(&line->packets, packets);
	__sync_fetch_and_add(&line->bytes, bytes);
}

static __always_inline void weir_count_fast(struct weir_line *line, __u32 bytes)
{
	__sync_fetch_and_add(&line->packets, 1);
	__sync_fetch_and_add(&line->fast_bytes, bytes);
}

/* `index`: of the line. */
static __always_inline void weir_count_delay(const __u32 *index, __u64 delay_us)
{
	struct weir_detail *detail = delay_us ? bpf_map_lookup_elem(&weir_details, index) : NULL;

	if (detail)
		__sync_fetch_and_add(&detail->delay_us, delay_us);
}

static __always_inline void weir_count_mark(const __u32 *index, __u32 packets)
{
	struct weir_detail *detail = bpf_map_lookup_elem(&weir_details, index);

	if (detail)
		__sync_fetch_and_add(&detail->mark_packets, packets);
}

static __always_inline void weir_count_drop(const __u32 *index, __u32 packets, __u32 bytes, bool by_ancestor)
{
	struct weir_detail *detail = bpf_map_lookup_elem(&weir_details, index);

	if (!detail)
		return;
	__sync_fetch_and_add(&detail->drop_packets, packets);
	__sync_fetch_and_add(&detail->drop_bytes, bytes);
	if (by_ancestor)
		__sync_fetch_and_add(&detail->ancestor_drop_packets, packets);
}

#endif
