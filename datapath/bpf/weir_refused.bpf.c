// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that XDP redirected to a port and its device refused: it is down, or a veth whose peer does not poll. They are
 * gone, and XDP does not learn of it. The kernel tells by a tracepoint, once for each bunch of packets; where there
 * was no error, nothing is done here. A full ring is none: the driver takes fewer packets then.
 *
 * Hook: tp_btf of xdp_devmap_xmit, as long as the agent holds the link. Maps: the ports, and one counter for each, which
 * several CPUs may add to.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "namespaces.h"
#include "ports.h"

const volatile __u32 refused_namespace = 0; /* its inode: others have devices of the same numbers */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_PORTS);
	__type(key, __u32);
	__type(value, __u64);
} weir_refusals SEC(".maps");

/* Its arguments: where packets came from, where they go, how many were sent, how many were not, and why. */
SEC("tp_btf/xdp_devmap_xmit")
int weir_refused(__u64 *arguments)
{
	const struct net_device *to = (const struct net_device *)arguments[1];
	int drops = (int)arguments[3], error = (int)arguments[4];
	__u32 place = 0;
	__u64 *count;

	if (error >= 0 || drops <= 0 || to->nd_net.net->ns.inum != refused_namespace ||
	    !weir_port_find(to->ifindex, &place))
		return 0;
	count = bpf_map_lookup_elem(&weir_refusals, &place);
	if (count)
		__sync_fetch_and_add(count, drops);
	return 0;
}

char LICENSE[] SEC("license")
= "GPL";
