// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why the kernel drops packets, and at which interface, as long as somebody looks.
 *
 * Hook: the kernel's tracepoint kfree_skb, which fires for each packet that is dropped and for none that is not. The link
 * belongs to the process that reads and ends with it; without it a drop costs nothing more. Only packets of the
 * reader's network namespace are counted.
 *
 * Maps: both are by processor and written by that processor alone. A drop within a drop (an interrupt) may lose the other's count:
 * these are rates, no balances. Drops come in rows of one reason at one interface, so the last one of a reason is counted in place,
 * which costs less than a hash. A full table of rows counts what is left under no interface and no reason.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "weir/dropped.h"

#include "namespaces.h"

const volatile __u32 dropped_namespace = 0; /* its inode */

/* Of the kernel, as far as it is read. */
struct dst_entry {
	struct net_device *dev;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
	int skb_iif;
	unsigned long _skb_refdst;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, WEIR_DROPPED_ROWS);
	__type(key, struct weir_dropped_key);
	__type(value, __u64);
} dropped_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_DROPPED_LAST);
	__type(key, __u32);
	__type(value, struct weir_dropped_last);
} dropped_last SEC(".maps");

static __always_inline void dropped_add(__u32 reason, __u32 ifindex, __u64 packets)
{
	struct weir_dropped_key key = { .reason = reason, .ifindex = ifindex };
	__u64 *count = bpf_map_lookup_elem(&dropped_rows, &key);

	if (count) {
		*count += packets;
		return;
	}
	if (!bpf_map_update_elem(&dropped_rows, &key, &packets, BPF_NOEXIST))
		return;
	key.reason = key.ifindex = 0;
	count = bpf_map_lookup_elem(&dropped_rows, &key);
	if (count)
		*count += packets;
}

static __always_inline int dropped_count(__u32 reason, __u32 ifindex)
{
	struct weir_dropped_last *last = bpf_map_lookup_elem(&dropped_last, &reason);

	if (!last) {
		dropped_add(reason, ifindex, 1);
		return 0;
	}
	if (last->ifindex != ifindex) {
		if (last->packets)
			dropped_add(reason, last->ifindex, last->packets);
		last->ifindex = ifindex;
		last->packets = 0;
	}
	last->packets++;
	return 0;
}

/* A packet that was given to a socket has no interface any more, and numbers of the socket in its place. */
static __always_inline int dropped_without(const struct sk_buff *skb, __u32 reason)
{
	const struct dst_entry *way = (void *)(skb->_skb_refdst & ~1UL);

	if (!way || BPF_CORE_READ(way, dev, nd_net.net, ns.inum) != dropped_namespace)
		return 0;
	return dropped_count(reason, skb->skb_iif);
}

/* Arguments: packet, where in the kernel, reason. */
SEC("tp_btf/kfree_skb")
int dropped_seen(__u64 *arguments)
{
	const struct sk_buff *skb = (void *)arguments[0];
	const struct net_device *device = skb->dev;
	__u32 reason = arguments[2], ifindex = 0;

	if (device)
		ifindex = device->ifindex;
	if (!ifindex)
		return dropped_without(skb, reason);
	if (device->nd_net.net->ns.inum != dropped_namespace)
		return 0;
	return dropped_count(reason, ifindex);
}

char LICENSE[] SEC("license")
= "GPL";
