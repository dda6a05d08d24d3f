// SPDX-License-Identifier: GPL-2.0-only
/* The fast path with the kernel's flow table (Linux 6.10 and nf_flow_table); theory of operation in fast.h. */
#define WEIR_KEEPS_ANSWERS
#include "fast.h"
#include "flow.h"

SEC("xdp")
int weir_fast(struct xdp_md *ctx)
{
	return weir_fast_path(ctx, weir_flow_find);
}

char LICENSE[] SEC("license")
= "GPL";
