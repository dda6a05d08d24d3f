/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet on its way through the fast path: the ports it is between, and whose it is. */
#ifndef WEIR_BPF_PASSAGE_H
#define WEIR_BPF_PASSAGE_H

#include <linux/bpf.h>

#include "weir/abi.h"

#include "forward.h"
#include "held.h"
#include "lookup.h"
#include "ports.h"

/* A packet on its way through the program, and the ports it is between. */
struct weir_passage {
	struct weir_port *from, *to;
	__u32 index; /* of the destination's line; of the source's, if that has none; 0 = none */
	__u32 sender; /* the source's line, if the destination has one as well; 0 = none */
	__u16 from_place, to_place;
	__u64 now_ns;
	struct weir_route route;
};

/* Takes numbers only, so that a passage need not lie in memory for a function that is seldom called. */
static __noinline int weir_note_up(__u32 flow, __u32 from_place, enum weir_up_reason reason)
{
	weir_goes_up(flow, bpf_ktime_get_ns());
	weir_port_count_up(from_place, reason);
	return XDP_PASS;
}

static __always_inline int weir_go_up(const struct weir_passage *passage, enum weir_up_reason reason)
{
	return weir_note_up(passage->route.flow, passage->from_place, reason);
}

/* A packet is its receiver's, or, if that is no customer, its sender's; of two customers it is charged to both. */
static __always_inline void weir_set_ends(struct weir_passage *passage, __u32 receiver_slot, __u32 sender)
{
	passage->index = receiver_slot ? receiver_slot * 2 + WEIR_DOWNLOAD : sender;
	passage->sender = receiver_slot ? sender : 0;
}

/*
 * Look up both ends before the clock is read and the route is known, and have the class's line fetched meanwhile: with
 * many classes it is far away in memory (docs/adr/0275).
 */
static __always_inline void weir_find_slots(struct weir_passage *passage)
{
	const struct weir_port *from = passage->from;
	__u32 slot = weir_lookup(from, &passage->route.destination), sender = 0;
	struct weir_line *line;

	if (from->roles & WEIR_ROLE_CLASSIFY)
		sender = (weir_lookup(from, &passage->route.source) ?: from->target_slot) * 2 + WEIR_UPLOAD;
	weir_set_ends(passage, slot, sender);
	line = weir_line_of(passage->index);
	if (line)
		weir_fetch(line);
}

static __noinline __u32 weir_lookup_called(const struct weir_port *port, const struct weir_packet *packet)
{
	return port && packet ? weir_lookup(port, packet) : 0;
}

/* Behind a port of another domain the destination may be somebody else's. */
static __always_inline void weir_find_slots_across(struct weir_passage *passage)
{
	const struct weir_port *from = passage->from;
	__u32 slot = weir_lookup_called(passage->to, &passage->route.destination), sender = 0;

	if (from->roles & WEIR_ROLE_CLASSIFY)
		sender = (weir_lookup_called(from, &passage->route.source) ?: from->target_slot) * 2 +
			 WEIR_UPLOAD;
	weir_set_ends(passage, slot, sender);
}

#endif
