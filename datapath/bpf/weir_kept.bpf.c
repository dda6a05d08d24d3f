// SPDX-License-Identifier: GPL-2.0-only
/* The fast path that keeps the FIB's answers, without the flow table; theory of operation in fast.h and hops.h. */
#define WEIR_KEEPS_ANSWERS
#include "fast.h"

SEC("xdp")
int weir_fast(struct xdp_md *ctx)
{
	return weir_fast_path(ctx, weir_find_no_flow);
}

char LICENSE[] SEC("license")
= "GPL";
