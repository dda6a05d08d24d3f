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

/* The only element of the map of this name, as weir_sources in source.h. */
struct weir_used weir_used SEC(".data.weir_used");

static __always_inline void weir_use_neighbour(const __u8 *mac)
{
	volatile __u8 *mark = &weir_used.marks[*(const __u16 *)(mac + 4) % WEIR_USED_MARKS];

	if (!*mark)
		*mark = 1;
}

#endif
