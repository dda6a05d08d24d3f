// SPDX-License-Identifier: GPL-2.0-only
/*
 * Capture: packets of an interface that the fast path forwards, copied as long as somebody looks.
 *
 * Hook: the kernel's tracepoint of a packet that XDP has redirected, where it is found as redirected.h says: as it
 * leaves. So nothing of the datapath is another program than before, and without a capture it runs no instruction more.
 * The link belongs to the process that reads, and ends with it.
 *
 * Maps: the datapath's ports are read. `capture_ring` is bounded; what finds no room is counted and not waited for, and
 * once it is full nothing is looked for that need not be. Nobody is woken up: the reader comes by itself. Constants are written by
 * the loader before the program is loaded: the filter means what api/weir/probes/packet_filter.py makes for the stack.
 */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"
#include "weir/capture.h"

#include "parse.h"
#include "ports.h"
#include "redirected.h"

/* So much of the ring is not read yet that there may be no room for a packet. */
#define CAPTURE_FULL (WEIR_CAPTURE_RING - 2 * (WEIR_CAPTURE_MOST + sizeof(struct weir_capture_packet)))

const volatile __u32 capture_ifindex = 0;
const volatile __u32 capture_devices = 0; /* the map by which the fast path redirects */
const volatile __u32 capture_bytes = WEIR_CAPTURE_MOST; /* of a packet, a multiple of 8 */
const volatile __u8 capture_family = 0; /* 4, 6, or 0 = both: then the network is not looked at */
const volatile __u8 capture_protocols[2] = {}; /* 0 = all */
const volatile __u16 capture_port = 0; /* 0 = all, also what has none */
const volatile __u32 capture_network[4] = {}; /* as in the packet; of IPv4 only the first */
const volatile __u32 capture_mask[4] = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WEIR_CAPTURE_RING);
} capture_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_capture_counts);
} capture_counts SEC(".maps");

/* The part of a packet that the filter is about. */
struct capture_head {
	__u32 source[4], destination[4];
	__u8 family, protocol;
	bool has_ports; /* not of a later fragment */
	const void *payload;
};

static __always_inline bool capture_read4(const void *at, struct capture_head *head)
{
	struct iphdr ip;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), at))
		return false;
	head->family = 4;
	head->protocol = ip.protocol;
	head->source[0] = ip.saddr;
	head->destination[0] = ip.daddr;
	head->has_ports = !(ip.frag_off & bpf_htons(0x1fff));
	head->payload = at + ip.ihl * 4;
	return true;
}

/* Extension headers are not followed: their packets are of another protocol. */
static __always_inline bool capture_read6(const void *at, struct capture_head *head)
{
	struct ipv6hdr ip;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), at))
		return false;
	head->family = 6;
	head->protocol = ip.nexthdr;
	__builtin_memcpy(head->source, &ip.saddr, sizeof(head->source));
	__builtin_memcpy(head->destination, &ip.daddr, sizeof(head->destination));
	head->has_ports = true;
	head->payload = at + sizeof(ip);
	return true;
}

static __always_inline bool capture_read(const void *frame, struct capture_head *head)
{
	struct {
		struct ethhdr ethernet;
		struct weir_vlan_header vlan;
	} link;
	const void *at = frame + sizeof(link.ethernet);
	__be16 protocol;

	if (bpf_probe_read_kernel(&link, sizeof(link), frame))
		return false;
	protocol = link.ethernet.h_proto;
	if (weir_is_vlan(protocol)) {
		at += sizeof(link.vlan);
		protocol = link.vlan.protocol;
	}
	if (protocol == bpf_htons(ETH_P_IP))
		return capture_read4(at, head);
	return protocol == bpf_htons(ETH_P_IPV6) && capture_read6(at, head);
}

static __always_inline bool capture_is_inside(const __u32 *address)
{
	for (int word = 0; word < 4; word++)
		if ((address[word] & capture_mask[word]) != capture_network[word])
			return false;
	return true;
}

static __always_inline bool capture_has_port(const struct capture_head *head)
{
	__be16 ports[2];

	if (!head->has_ports || (head->protocol != IPPROTO_TCP && head->protocol != IPPROTO_UDP) ||
	    bpf_probe_read_kernel(ports, sizeof(ports), head->payload))
		return false;
	return ports[0] == bpf_htons(capture_port) || ports[1] == bpf_htons(capture_port);
}

static __always_inline bool capture_has_filter(void)
{
	return capture_family || capture_protocols[0] || capture_port;
}

static __noinline bool capture_passes(const void *frame)
{
	struct capture_head head = {};

	if (!capture_has_filter())
		return true;
	if (!capture_read(frame, &head))
		return false;
	if (capture_family && (head.family != capture_family ||
			       (!capture_is_inside(head.source) && !capture_is_inside(head.destination))))
		return false;
	if (capture_protocols[0] && head.protocol != capture_protocols[0] &&
	    head.protocol != capture_protocols[1])
		return false;
	return !capture_port || capture_has_port(&head);
}

static __always_inline void capture_copy(struct weir_capture_counts *counts, const struct xdp_frame *frame,
					 enum weir_capture_way way, bool is_tagged)
{
	__u32 length = BPF_CORE_READ_BITFIELD_PROBED(frame, len), kept = length;
	struct weir_capture_packet *packet;

	packet = bpf_ringbuf_reserve(&capture_ring, sizeof(*packet) + capture_bytes, 0);
	if (!packet) {
		counts->dropped++;
		return;
	}
	if (kept > capture_bytes)
		kept = capture_bytes;
	packet->at_ns = bpf_ktime_get_ns();
	packet->length = length;
	packet->way = way;
	packet->is_tagged = is_tagged;
	packet->kept = bpf_probe_read_kernel(packet + 1, kept, BPF_CORE_READ(frame, data)) ? 0 : kept;
	bpf_ringbuf_submit(packet, BPF_RB_NO_WAKEUP);
}

/* 0: not of the interface that is looked at. What comes in and leaves by it again is seen where it leaves. */
static __always_inline __u32 capture_way(const struct net_device *from, const struct weir_port *to)
{
	if (to->ifindex == capture_ifindex || to->lower == capture_ifindex)
		return WEIR_CAPTURE_OUT;
	return (__u32)BPF_CORE_READ(from, ifindex) == capture_ifindex ? WEIR_CAPTURE_IN : 0;
}

/* Nobody can say of how many of the lost packets the filter speaks. */
static __always_inline void capture_look(struct weir_capture_counts *counts,
					 const struct bpf_dtab_netdev *entry, enum weir_capture_way way,
					 bool is_tagged)
{
	bool is_full = bpf_ringbuf_query(&capture_ring, BPF_RB_AVAIL_DATA) > CAPTURE_FULL;
	const struct xdp_frame *frame = NULL;

	if (!is_full || capture_has_filter()) {
		frame = weir_redirected(&counts->base, entry);
		if (!frame)
			counts->lost++;
		if (!frame || !capture_passes(BPF_CORE_READ(frame, data)))
			return;
	}
	counts->seen++;
	if (is_full || !frame)
		counts->dropped++;
	else
		capture_copy(counts, frame, way, is_tagged);
}

SEC("raw_tp/xdp_redirect")
int capture_fast(__u64 *arguments)
{
	__u32 place = arguments[WEIR_REDIRECT_PLACE], zero = 0, way;
	struct weir_capture_counts *counts;
	struct weir_port *to;

	if ((__u32)arguments[WEIR_REDIRECT_MAP] != capture_devices || place >= WEIR_PORTS)
		return 0;
	to = weir_port_at(place);
	way = capture_way((const struct net_device *)arguments[WEIR_REDIRECT_FROM], to);
	counts = way ? bpf_map_lookup_elem(&capture_counts, &zero) : NULL;
	if (counts)
		capture_look(counts, (void *)arguments[WEIR_REDIRECT_ENTRY], way,
			     to->ifindex == capture_ifindex && to->lower);
	return 0;
}

char LICENSE[] SEC("license")
= "GPL";
