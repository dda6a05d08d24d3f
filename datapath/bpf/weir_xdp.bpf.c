// SPDX-License-Identifier: GPL-2.0-only
/* The fast path for kernels whose flow table cannot be asked from XDP; theory of operation in fast.h. */
#include "fast.h"

SEC("xdp")
int weir_fast(struct xdp_md *ctx)
{
	return weir_fast_path(ctx, weir_find_no_flow);
}

char LICENSE[] SEC("license")
= "GPL";
