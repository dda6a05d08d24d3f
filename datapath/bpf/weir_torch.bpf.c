// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torch: the flows of a port or of a queue, counted as long as somebody looks.
 *
 * Hooks: tcx of the ports, behind the programs that shape, for what the stack receives and sends; and the kernel's
 * tracepoint of a packet that XDP has redirected, for what the fast path forwards. So nothing of the datapath
 * is another program than before, and a port whose torch is off runs no instruction more. The links belong to the
 * process that reads, and end with it.
 *
 * A redirected packet is found as redirected.h says: rewritten already, so with the addresses that it leaves with. Where
 * the kernel has none of that, the loader says so. A tracepoint that is on costs every redirect about a tenth of its time, so under load
 * the reader attaches it for a small part of each second only. How long that was is taken from the packets' times: attaching
 * takes its time, and a reader that waits for a processor is late. In generic XDP nothing is counted.
 *
 * Maps: the datapath's ports and tables are read. `torch_flows` gives way to new flows when it is full; what became of
 * such a flow stays in the sums by processor, which only that processor writes. From WEIR_TORCH_LOOKS packets in a
 * period on, one at random stands for some, later for many, so that torch takes little of a full load; of the fast path
 * earlier, and the more the faster they come. A period ends when the reader adds to `torch_period`.
 */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/in.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"
#include "weir/torch.h"

#include "lookup.h"
#include "ports.h"
#include "redirected.h"

#define TCX_NEXT (-1) /* enum tcx_action_base, Linux 6.6 */
#define UDP_HEADER 8

const volatile __u32 torch_ifindex = 0; /* the port; 0: the classes of `torch_slots`, on all ports */
const volatile __u32 torch_devices = 0; /* the map by which the fast path redirects */
__u32 torch_period = 0;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WEIR_TORCH_FLOWS);
	__type(key, struct weir_torch_key);
	__type(value, struct weir_torch_counts);
} torch_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_torch_state);
} torch_states SEC(".maps");

/* A bit for each slot that is looked at. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, __u32);
	__type(value, __u64);
} torch_slots SEC(".maps");

/* Where a packet's IP header is: in an skb, or at an address of the kernel. */
struct torch_packet {
	struct __sk_buff *skb;
	const void *at;
	__be16 protocol;
	__u32 segments;
};

/* Both ends of a packet as the tables are asked for them, and what it adds. */
struct torch_seen {
	struct weir_torch_key key;
	struct weir_packet source, destination;
	__u64 bytes;
};

static __always_inline long torch_load(const struct torch_packet *packet, __u32 offset, void *to, __u32 size)
{
	if (packet->skb)
		return bpf_skb_load_bytes_relative(packet->skb, offset, to, size, BPF_HDR_START_NET);
	return bpf_probe_read_kernel(to, size, packet->at + offset);
}

static __always_inline struct weir_torch_state *torch_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&torch_states, &zero);
}

static __always_inline void torch_begin(struct weir_torch_turn *turn, __u32 period)
{
	turn->period = period;
	turn->looks = 0;
	turn->skip = 0;
}

/* Of all packets that the fast path forwards now, also by other ports: how many, when, and how fast they come. */
static __always_inline void torch_passed(struct weir_torch_state *state)
{
	__u32 period = *(volatile __u32 *)&torch_period;
	__u64 most = WEIR_TORCH_MANY, least;

	state->passed++;
	if (state->fast.period != period || !state->first_ns) {
		torch_begin(&state->fast, period);
		state->first_ns = state->last_ns = bpf_ktime_get_ns();
		return;
	}
	if (state->passed % WEIR_TORCH_TIMED)
		return;
	state->last_ns = bpf_ktime_get_ns();
	if (state->passed % WEIR_TORCH_PACED)
		return;
	least = WEIR_TORCH_PACED * WEIR_TORCH_LOOK_NS / (state->last_ns - state->paced_ns + 1);
	state->fast.least = least < most ? least : most;
	state->paced_ns = state->last_ns;
}

/* Whether this packet is looked at; `weight`: for how many it stands. */
static __always_inline bool torch_take(struct weir_torch_state *state, struct weir_torch_turn *turn,
				       __u32 *weight)
{
	if (turn->skip) {
		turn->skip--;
		return false;
	}
	*weight = 1;
	if (turn->looks >= WEIR_TORCH_LOOKS)
		*weight = turn->looks < 2 * WEIR_TORCH_LOOKS ? WEIR_TORCH_SOME : WEIR_TORCH_MANY;
	if (turn->looks >= WEIR_TORCH_FEW && turn->least > *weight)
		*weight = turn->least;
	if (*weight > 1) {
		turn->skip =
			bpf_get_prandom_u32() % (2 * *weight - 1); /* on average one less than `weight` */
		state->estimated += *weight;
	}
	turn->looks++;
	return true;
}

/* Ports, and how long the header is that each segment has. */
static __always_inline __u32 torch_read_ports(const struct torch_packet *packet, __u32 offset,
					      struct weir_torch_key *key)
{
	__u8 header[14] = {};

	if (key->protocol != IPPROTO_TCP && key->protocol != IPPROTO_UDP && key->protocol != IPPROTO_SCTP)
		return 0;
	if (torch_load(packet, offset, header, key->protocol == IPPROTO_TCP ? sizeof(header) : UDP_HEADER))
		return 0;
	__builtin_memcpy(&key->source_port, header, sizeof(__be16));
	__builtin_memcpy(&key->destination_port, header + 2, sizeof(__be16));
	return key->protocol == IPPROTO_TCP ? (header[12] >> 4) * 4 : UDP_HEADER;
}

static __always_inline void torch_read4(const struct torch_packet *packet, struct torch_seen *seen)
{
	struct weir_torch_key *key = &seen->key;
	struct iphdr ip;
	__u32 headers;

	if (torch_load(packet, 0, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl < 5)
		return;
	key->family = seen->source.family = seen->destination.family = 4;
	key->protocol = ip.protocol;
	__builtin_memcpy(key->source, &ip.saddr, sizeof(ip.saddr));
	__builtin_memcpy(key->destination, &ip.daddr, sizeof(ip.daddr));
	seen->source.high = bpf_ntohl(ip.saddr);
	seen->destination.high = bpf_ntohl(ip.daddr);
	headers = ip.ihl * 4;
	if (!(ip.frag_off & bpf_htons(0x1fff)))
		headers += torch_read_ports(packet, headers, key);
	seen->bytes = bpf_ntohs(ip.tot_len) + (__u64)(packet->segments - 1) * headers;
}

static __always_inline __u64 torch_word(const struct in6_addr *address, __u32 word)
{
	return (__u64)bpf_ntohl(address->in6_u.u6_addr32[word]) << 32 |
	       bpf_ntohl(address->in6_u.u6_addr32[word + 1]);
}

/* Extension headers are not followed: their packets are of another protocol. */
static __always_inline void torch_read6(const struct torch_packet *packet, struct torch_seen *seen)
{
	struct weir_torch_key *key = &seen->key;
	__u32 headers = sizeof(struct ipv6hdr);
	struct ipv6hdr ip;

	if (torch_load(packet, 0, &ip, sizeof(ip)) || ip.version != 6)
		return;
	key->family = seen->source.family = seen->destination.family = 6;
	key->protocol = ip.nexthdr;
	__builtin_memcpy(key->source, &ip.saddr, sizeof(ip.saddr));
	__builtin_memcpy(key->destination, &ip.daddr, sizeof(ip.daddr));
	seen->source.high = torch_word(&ip.saddr, 0);
	seen->source.low = torch_word(&ip.saddr, 2);
	seen->destination.high = torch_word(&ip.daddr, 0);
	seen->destination.low = torch_word(&ip.daddr, 2);
	headers += torch_read_ports(packet, headers, key);
	seen->bytes = sizeof(ip) + bpf_ntohs(ip.payload_len) + (__u64)(packet->segments - 1) * headers;
}

static __always_inline void torch_read(const struct torch_packet *packet, struct torch_seen *seen)
{
	if (packet->protocol == bpf_htons(ETH_P_IP))
		torch_read4(packet, seen);
	else if (packet->protocol == bpf_htons(ETH_P_IPV6))
		torch_read6(packet, seen);
}

static __always_inline void torch_add(struct weir_torch_count *count, const struct weir_torch_count *more)
{
	__sync_fetch_and_add(&count->bytes, more->bytes);
	__sync_fetch_and_add(&count->packets, more->packets);
}

static __always_inline void torch_count(struct weir_torch_state *state, const struct torch_seen *seen,
					__u32 way, __u32 segments, __u32 weight, bool fast)
{
	struct weir_torch_count more = { .bytes = seen->bytes * weight, .packets = (__u64)segments * weight };
	struct weir_torch_key key = seen->key;
	struct weir_torch_counts *counts, none = {};

	key.way = way;
	torch_add(fast ? &state->all.fast : &state->all.stack, &more);
	counts = bpf_map_lookup_elem(&torch_flows, &key);
	if (!counts) { /* or another processor is first */
		bpf_map_update_elem(&torch_flows, &key, &none, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&torch_flows, &key);
	}
	if (counts)
		torch_add(fast ? &counts->fast : &counts->stack, &more);
}

/* Whether an address behind a port is of a class that is looked at. */
static __noinline bool torch_is_wanted(const struct weir_port *port, const struct weir_packet *packet)
{
	__u32 slot, word;
	__u64 *bits;

	if (!port || !packet || !packet->family)
		return false;
	slot = weir_lookup(port, packet) ?: port->target_slot;
	word = slot / 64;
	bits = slot ? bpf_map_lookup_elem(&torch_slots, &word) : NULL;
	return bits && *bits >> slot % 64 & 1;
}

static __always_inline int torch_stack(struct __sk_buff *skb, __u32 way)
{
	struct torch_packet packet = { .skb = skb,
				       .protocol = skb->protocol,
				       .segments = skb->gso_segs > 1 ? skb->gso_segs : 1 };
	struct weir_torch_state *state = torch_state();
	struct torch_seen seen = {};
	__u32 period = *(volatile __u32 *)&torch_period, weight, place;

	if (!state)
		return TCX_NEXT;
	if (state->stack.period != period)
		torch_begin(&state->stack, period);
	if (!torch_take(state, &state->stack, &weight))
		return TCX_NEXT;
	torch_read(&packet, &seen);
	if (!seen.key.family)
		seen.bytes = skb->len;
	if (torch_ifindex || torch_is_wanted(weir_port_find(skb->ifindex, &place),
					     way == WEIR_TORCH_RECEIVED ? &seen.source : &seen.destination))
		torch_count(state, &seen, way, packet.segments, weight, false);
	return TCX_NEXT;
}

SEC("tc")
int torch_ingress(struct __sk_buff *skb)
{
	return torch_stack(skb, WEIR_TORCH_RECEIVED);
}

SEC("tc")
int torch_egress(struct __sk_buff *skb)
{
	return torch_stack(skb, WEIR_TORCH_SENT);
}

static __always_inline bool torch_read_frame(const struct xdp_frame *redirected, struct torch_packet *packet)
{
	const void *frame = redirected ? BPF_CORE_READ(redirected, data) : NULL;
	struct {
		struct ethhdr ethernet;
		struct weir_vlan_header vlan;
	} head;

	if (!frame || bpf_probe_read_kernel(&head, sizeof(head), frame))
		return false;
	packet->at = frame + sizeof(head.ethernet);
	packet->protocol = head.ethernet.h_proto;
	if (weir_is_vlan(packet->protocol)) {
		packet->at += sizeof(head.vlan);
		packet->protocol = head.vlan.protocol;
	}
	return true;
}

SEC("raw_tp/xdp_redirect")
int torch_fast(__u64 *arguments)
{
	__u32 from = BPF_CORE_READ((const struct net_device *)arguments[WEIR_REDIRECT_FROM], ifindex);
	__u32 place = arguments[WEIR_REDIRECT_PLACE], weight = 1, from_place;
	struct torch_packet packet = { .segments = 1 };
	struct weir_torch_state *state = torch_state();
	struct torch_seen seen = {};
	struct weir_port *to;
	bool came;

	if (!state || (__u32)arguments[WEIR_REDIRECT_MAP] != torch_devices || place >= WEIR_PORTS)
		return 0;
	torch_passed(state);
	to = weir_port_at(place);
	came = torch_ifindex && from == torch_ifindex;
	if (torch_ifindex && !came && to->ifindex != torch_ifindex && to->lower != torch_ifindex)
		return 0;
	if (!torch_take(state, &state->fast, &weight) ||
	    !torch_read_frame(weir_redirected(&state->base, (void *)arguments[WEIR_REDIRECT_ENTRY]), &packet))
		return 0;
	torch_read(&packet, &seen);
	if (torch_ifindex) {
		torch_count(state, &seen, came ? WEIR_TORCH_RECEIVED : WEIR_TORCH_SENT, 1, weight, true);
		return 0;
	}
	if (torch_is_wanted(weir_port_find(from, &from_place), &seen.source))
		torch_count(state, &seen, WEIR_TORCH_RECEIVED, 1, weight, true);
	if (torch_is_wanted(to, &seen.destination))
		torch_count(state, &seen, WEIR_TORCH_SENT, 1, weight, true);
	return 0;
}

char LICENSE[] SEC("license")
= "GPL";
