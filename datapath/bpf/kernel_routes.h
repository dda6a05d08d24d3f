/* SPDX-License-Identifier: GPL-2.0-only */
/* Of the kernel, as far as it is read to know that routes have changed: by CO-RE. */
#ifndef WEIR_BPF_KERNEL_ROUTES_H
#define WEIR_BPF_KERNEL_ROUTES_H

typedef struct {
	int counter;
} atomic_t;

struct netns_ipv4 {
	atomic_t rt_genid; /* counts changes of routes, rules, addresses and links */
} __attribute__((preserve_access_index));

struct net {
	struct netns_ipv4 ipv4;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

struct xdp_rxq_info {
	struct net_device *dev;
} __attribute__((preserve_access_index));

struct xdp_buff {
	struct xdp_rxq_info *rxq;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *context) __ksym; /* Linux 6.2 */

static __always_inline struct net *weir_net_of(struct xdp_md *ctx)
{
	return ((struct xdp_buff *)bpf_cast_to_kern_ctx(ctx))->rxq->dev->nd_net.net;
}

#endif
