// SPDX-License-Identifier: GPL-2.0-only
/* The fast path for kernels whose flow table cannot be asked from XDP; theory of operation in fast.h. */
#include "fast.h"

static __always_inline bool weir_no_flow(struct xdp_md *ctx, struct weir_route *route)
{
	(void)ctx;
	(void)route;
	return false;
}

SEC("xdp")
int weir_fast(struct xdp_md *ctx)
{
	return weir_fast_path(ctx, weir_no_flow);
}

char LICENSE[] SEC("license")
= "GPL";
