/* SPDX-License-Identifier: GPL-2.0-only */
/* Of the kernel, as far as it is read to know the network namespace of a device: at tracepoints, by CO-RE. */
#ifndef WEIR_NAMESPACES_H
#define WEIR_NAMESPACES_H

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

#endif
