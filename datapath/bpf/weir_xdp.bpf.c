// SPDX-License-Identifier: GPL-2.0-only
/* The fast path for kernels that XDP can ask for routes, and that cannot be looked into; theory of operation in fast.h. */
#include "fast.h"

SEC("xdp")
int weir_fast(struct xdp_md *ctx)
{
	return weir_fast_path(ctx, weir_find_no_flow);
}

char LICENSE[] SEC("license")
= "GPL";
