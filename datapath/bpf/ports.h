/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports: how an interface is shaped, found by its index; what it let through unshaped and what it sent up. */
#ifndef WEIR_BPF_PORTS_H
#define WEIR_BPF_PORTS_H

#include "weir/abi.h"

#include "table.h"

WEIR_TABLE(struct weir_port, weir_ports); /* WEIR_PORTS rows */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_PORTS);
	__type(key, __u32);
	__type(value, struct weir_port_counters);
} weir_port_counts SEC(".maps");

/* `place` below WEIR_PORTS, a power of two. */
static __always_inline struct weir_port *weir_port_at(__u32 place)
{
	return weir_row(weir_ports, place % WEIR_PORTS);
}

/* Open addressing by interface index: the first probe hits but for colliding indexes. */
static __always_inline struct weir_port *weir_port_find(__u32 ifindex, __u32 *place)
{
	for (__u32 probe = 0; probe < WEIR_PORT_PROBES; probe++) {
		__u32 index = (ifindex + probe) % WEIR_PORTS;
		struct weir_port *port = weir_port_at(index);

		if (port->ifindex == ifindex) {
			*place = index;
			return port;
		}
	}
	return NULL;
}

/*
 * The class of the bridge (or bond) that a member is of, for what leaves by it: not for what came in by another
 * member of the same, which the bridge switched and never had itself.
 */
static __always_inline __u32 weir_slot_above(const struct weir_port *from, const struct weir_port *member)
{
	return from && from->above == member->above ? 0 : member->above_slot;
}

static __always_inline void weir_port_count(__u32 place, __u32 reason, __u32 bytes)
{
	struct weir_port_counters *counters = bpf_map_lookup_elem(&weir_port_counts, &place);

	if (!counters || reason >= WEIR_REASONS)
		return;
	counters->packets[reason]++;
	counters->bytes[reason] += bytes;
}

static __always_inline void weir_port_count_up(__u32 place, enum weir_up_reason reason)
{
	struct weir_port_counters *counters = bpf_map_lookup_elem(&weir_port_counts, &place);

	if (counters && reason < WEIR_UPS)
		counters->up[reason]++;
}

#endif
