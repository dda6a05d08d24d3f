// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of the forwarding rig: one that makes packets, one that counts them.
 *
 * `generate` runs by BPF_PROG_RUN with live frames: each run writes a whole UDP packet to the next of
 * `addresses` destinations and gives it to the stack of the ingress device (XDP_PASS), to the link behind it
 * (XDP_TX), or to nobody (XDP_DROP). Receive, forwarding and egress happen on the CPU that called. Pages
 * are recycled dirty, so nothing of the frame may be assumed. Each destination is one flow and comes to one CPU,
 * as a card's receive-side scaling would have it, unless every CPU is to send to all (docs/adr/0084).
 * `count` sits on the far end of each egress link, counts and drops. `pass` gives the router's devices a
 * registered receive queue, which live frames need. Each CPU has its own slot in each map.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define UDP_PORT 9

struct target {
	__u32 network; /* first octet of the destinations */
	__u32 addresses; /* how many of them */
	__u32 sharers; /* CPUs that share the destinations; 1: each sends to all */
	__u8 mac[ETH_ALEN]; /* of the ingress device */
	__u16 verdict; /* enum xdp_action */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

enum { GENERATED, COUNTED };

static __always_inline __u64 next(__u32 which)
{
	__u64 *count = bpf_map_lookup_elem(&counts, &which);

	if (!count)
		return 0;
	return (*count)++;
}

static __always_inline __u16 checksum(const struct iphdr *ip)
{
	const __u16 *words = (const void *)ip;
	__u32 sum = 0;

	for (int at = 0; at < 10; at++)
		sum += words[at];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Steps of the golden ratio visit all of `many` evenly, in an order without locality. */
static __always_inline __u32 step(__u32 many)
{
	return (__u64)((__u32)next(GENERATED) * 2654435769U) * many >> 32;
}

/* Of each group of as many destinations as sharers one is this CPU's; a hash of the group says which. */
static __always_inline __u32 destination(const struct target *target)
{
	__u32 sharers = target->sharers, group;

	if (sharers < 2 || target->addresses < sharers)
		return step(target->addresses);
	group = step(target->addresses / sharers);
	return group * sharers + (bpf_get_smp_processor_id() + (group * 2246822519U >> 16)) % sharers;
}

SEC("xdp")
int generate(struct xdp_md *context)
{
	void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	struct ethhdr *ethernet = data;
	struct iphdr *ip = (void *)(ethernet + 1);
	struct udphdr *udp = (void *)(ip + 1);
	struct target *target;
	__u32 zero = 0;

	target = bpf_map_lookup_elem(&targets, &zero);
	if (!target || (void *)(udp + 1) > end)
		return XDP_ABORTED;
	__builtin_memcpy(ethernet->h_dest, target->mac, ETH_ALEN);
	__builtin_memset(ethernet->h_source, 2, ETH_ALEN);
	ethernet->h_proto = bpf_htons(ETH_P_IP);
	__builtin_memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = bpf_htons((__u16)(end - (void *)ip));
	ip->saddr = bpf_htonl(0xc6120001);
	ip->daddr = bpf_htonl(target->network << 24 | (destination(target) + 256));
	ip->check = checksum(ip);
	udp->source = udp->dest = bpf_htons(UDP_PORT);
	udp->len = bpf_htons((__u16)(end - (void *)udp));
	udp->check = 0;
	return target->verdict;
}

SEC("xdp")
int count(struct xdp_md *context)
{
	void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	struct ethhdr *ethernet = data;

	if ((void *)(ethernet + 1) <= end && ethernet->h_proto == bpf_htons(ETH_P_IP))
		next(COUNTED);
	return XDP_DROP;
}

SEC("xdp")
int pass(struct xdp_md *context)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license")
= "GPL";
