/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack takes no IPv4 packet whose source is one of its own addresses or a broadcast one (fib_validate_source). To
 * ask the FIB for each source would be a second lookup for each packet; so the agent keeps one bit for each hash of an
 * address of that kind, and only where it is set the FIB is asked. All bits are set until the agent has told.
 *
 * Concurrency: words are stored whole by the loader; a packet meets the old one or the new one.
 */
#ifndef WEIR_BPF_SOURCE_H
#define WEIR_BPF_SOURCE_H

#include "forward.h"

/* The only element of the map of this name, whose address the verifier puts into the program (loader/programs.c). */
struct weir_sources weir_sources SEC(".data.weir_sources");

static __always_inline bool weir_source_may_be_refused(__u32 source)
{
	__u32 bit = WEIR_SOURCE_BIT(source);

	return *(volatile __u64 *)&weir_sources.words[bit / 64] >> (bit % 64) & 1;
}

/* Global: verified once. `source` in network byte order. What has no way back goes up as well. */
__attribute__((noinline)) int weir_source_is_refused(struct xdp_md *ctx, __u32 source, __u32 ifindex)
{
	struct bpf_fib_lookup back = { .family = WEIR_AF_INET, .ifindex = ifindex, .ipv4_dst = source };
	long found = bpf_fib_lookup(ctx, &back, sizeof(back), 0);

	return found < 0 || found == BPF_FIB_LKUP_RET_NOT_FWDED || found == BPF_FIB_LKUP_RET_FWD_DISABLED;
}

#endif
