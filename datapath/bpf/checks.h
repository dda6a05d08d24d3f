/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose packets may come in by a port: sources that cannot be, sources whose way back is another port (BCP 38), and
 * sources that are in no queue. Asked by the programs of tc and XDP alike; what is refused is counted by port.
 *
 * Only packets that would be forwarded are refused for their way back or for being unknown. What is for the router
 * itself goes to the stack: DHCP, neighbour discovery, and a person who has to reach the router to repair it.
 *
 * Maps: weir_checks, counters of each CPU; weir_question, scratch. The switches are roles of the port.
 */
#ifndef WEIR_BPF_CHECKS_H
#define WEIR_BPF_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "parse.h"

#define WEIR_AF_INET 2
#define WEIR_AF_INET6 10

/* By the place of a port's record: the loader makes the entries, so that ports which are not there take no memory. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WEIR_PORTS);
	__type(key, __u32);
	__type(value, struct weir_check_counters);
} weir_checks SEC(".maps");

/* What is asked of the kernel's FIB: not on the stack, of which the programs have none left. Both hooks run without
 * being interrupted by each other on one processor. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_fib_lookup);
} weir_question SEC(".maps");

/* `place`: of the port's record. */
static __always_inline void weir_count_check(__u32 place, enum weir_check check, __u32 packets, __u32 bytes)
{
	struct weir_check_counters *counters = bpf_map_lookup_elem(&weir_checks, &place);

	if (!counters)
		return;
	counters->packets[check] += packets;
	counters->bytes[check] += bytes;
}

/* Whether a check is left that a source of this class may fail. */
static __always_inline bool weir_may_fail(const struct weir_port *port, __u32 slot)
{
	__u32 checks = slot ? WEIR_ROLE_LOOSE | WEIR_ROLE_STRICT | WEIR_ROLE_BOUNDED :
			      WEIR_ROLE_CHECKS | WEIR_ROLE_BOUNDED;

	return port->more_roles & (checks >> WEIR_MORE_ROLES_SHIFT);
}

static __always_inline bool weir_has_check(const struct weir_port *port, __u32 role)
{
	return port->more_roles & role >> WEIR_MORE_ROLES_SHIFT;
}

/* "This network", loopback, multicast, and 240.0.0.0/4 (RFC 6890). 0.0.0.0 is who has no address yet. */
static __always_inline bool weir_impossible4(__u32 source)
{
	return source - 1 < 0x00ffffffU || source >> 24 == 127 || source >= 0xe0000000U;
}

/* ::/64 but for the unspecified address: loopback, compatible and mapped ones (RFC 4291, 2.5); and multicast. */
static __always_inline bool weir_impossible6(__u64 high, __u64 low)
{
	return high >> 56 == 0xff || (!high && low);
}

/* No host has this address. `source` may be empty. */
static __always_inline bool weir_is_impossible(const struct weir_packet *source)
{
	if (source->family == 4)
		return weir_impossible4(source->high);
	return source->family == 6 && weir_impossible6(source->high, source->low);
}

enum weir_way { WEIR_NO_WAY, WEIR_ANOTHER_WAY, WEIR_THIS_WAY };

/*
 * Where the stack would send a packet for `address` that came in by a port. Without neighbours, it is still known where; what is
 * the router's own, or nobody's, has no way.
 */
static __always_inline enum weir_way weir_way_to(void *ctx, const struct weir_packet *address, __u32 ifindex)
{
	__u32 zero = 0;
	struct bpf_fib_lookup *fib = bpf_map_lookup_elem(&weir_question, &zero);
	long answer;

	if (!fib)
		return WEIR_THIS_WAY; /* not with an array */
	__builtin_memset(fib, 0, sizeof(*fib));
	fib->ifindex = ifindex;
	if (address->family == 4) {
		fib->family = WEIR_AF_INET;
		fib->ipv4_dst = bpf_htonl(address->high);
	} else {
		fib->family = WEIR_AF_INET6;
		fib->ipv6_dst[0] = bpf_htonl(address->high >> 32);
		fib->ipv6_dst[1] = bpf_htonl(address->high);
		fib->ipv6_dst[2] = bpf_htonl(address->low >> 32);
		fib->ipv6_dst[3] = bpf_htonl(address->low);
	}
	answer = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	if (answer != BPF_FIB_LKUP_RET_SUCCESS && answer != BPF_FIB_LKUP_RET_NO_NEIGH &&
	    answer != BPF_FIB_LKUP_RET_FRAG_NEEDED && answer != BPF_FIB_LKUP_RET_UNSUPP_LWT)
		return WEIR_NO_WAY;
	return fib->ifindex == ifindex ? WEIR_THIS_WAY : WEIR_ANOTHER_WAY;
}

/*
 * Whether a packet from there may not come in by this port, which has WEIR_ROLE_LOOSE or _STRICT. `is_of_port` is false where
 * the way back is by an interface upon the port: then there has to be one.
 */
static __always_inline bool weir_comes_wrong(void *ctx, const struct weir_port *port,
					     const struct weir_packet *source, bool is_of_port)
{
	enum weir_way way = weir_way_to(ctx, source, port->ifindex);

	return way == WEIR_NO_WAY ||
	       (way == WEIR_ANOTHER_WAY && is_of_port && weir_has_check(port, WEIR_ROLE_STRICT));
}

#endif
