/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which neighbours XDP sends to. The stack asks a neighbour again whose address it learnt long ago and still uses; of
 * what XDP uses it does not know. So the agent takes these marks every second and tells it (api/weir/agent/neighbours.py).
 *
 * Concurrency: bytes are set by any CPU, and only those that are not, so that a line is shared while nobody takes the marks.
 */
#ifndef WEIR_BPF_USED_H
#define WEIR_BPF_USED_H

#include "weir/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_used);
} weir_used SEC(".maps");

static __always_inline void weir_use_neighbour(const __u8 *mac)
{
	__u32 first = 0;
	struct weir_used *used = bpf_map_lookup_elem(&weir_used, &first);
	volatile __u8 *mark;

	if (!used)
		return;
	mark = &used->marks[*(const __u16 *)(mac + 4) % WEIR_USED_MARKS];
	if (!*mark)
		*mark = 1;
}

#endif
