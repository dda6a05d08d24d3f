// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a lookup of a route and one of a listening socket cost in the running kernel's tables.
 *
 * The programs are attached nowhere: the loader runs them by BPF_PROG_TEST_RUN in its network namespace, many times in a row, and the
 * kernel tells how long one took. No packet is sent or seen. Each run in mode WEIR_METER_NOTHING does all but the lookup, which is
 * what the others are compared with. One process runs them, one after the other.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/meter.h"

#define INET 2
#define SKIP_NEIGHBOR (1U << 2) /* BPF_FIB_LOOKUP_SKIP_NEIGH, Linux 6.3 */
/* Random destinations are of 1.0.0.0 to 223.255.255.255, 0.0.0.0/8 and what is not unicast left out. */
#define FIRST 0x01000000u
#define MANY 0xdf000000u

volatile __u32 meter_mode = 0;
volatile __u32 meter_ifindex = 0;
volatile __u32 meter_source = 0, meter_destination = 0; /* as packets have them */
struct weir_meter_end meter_from = {}, meter_to = {};
__u64 meter_results[WEIR_METER_RESULTS] = {};

SEC("tc")
int meter_route(struct __sk_buff *skb)
{
	__u32 any = bpf_htonl(FIRST + bpf_get_prandom_u32() % MANY), mode = meter_mode;
	struct bpf_fib_lookup asked = { .family = INET };
	long result;

	asked.ifindex = meter_ifindex;
	asked.ipv4_src = meter_source;
	asked.ipv4_dst = mode == WEIR_METER_FIXED ? meter_destination : any;
	if (mode == WEIR_METER_NOTHING) {
		meter_results[asked.ipv4_dst & (WEIR_METER_RESULTS - 1)]++;
		return 0;
	}
	result = bpf_fib_lookup(skb, &asked, sizeof(asked), SKIP_NEIGHBOR);
	if (result >= 0 && result < WEIR_METER_RESULTS)
		meter_results[result]++;
	return result < 0;
}

SEC("tc")
int meter_listener(struct __sk_buff *skb)
{
	struct bpf_sock_tuple asked = {};
	struct bpf_sock *found;

	if (meter_to.family == 4) {
		asked.ipv4.saddr = meter_from.address[0];
		asked.ipv4.daddr = meter_to.address[0];
		asked.ipv4.sport = meter_from.port;
		asked.ipv4.dport = meter_to.port;
	} else {
		__builtin_memcpy(asked.ipv6.saddr, meter_from.address, sizeof(asked.ipv6.saddr));
		__builtin_memcpy(asked.ipv6.daddr, meter_to.address, sizeof(asked.ipv6.daddr));
		asked.ipv6.sport = meter_from.port;
		asked.ipv6.dport = meter_to.port;
	}
	if (meter_mode == WEIR_METER_NOTHING)
		return 0;
	found = bpf_skc_lookup_tcp(skb, &asked,
				   meter_to.family == 4 ? sizeof(asked.ipv4) : sizeof(asked.ipv6),
				   BPF_F_CURRENT_NETNS, 0);
	if (found)
		bpf_sk_release(found);
	return 0;
}

char LICENSE[] SEC("license")
= "GPL";
