/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues with a `dst`: a target that several queues share leads to a *fork*, a class that takes no packets.
 * The far end decides who does: its longest prefix or the interface it is behind, whichever has the better
 * rank; else the fork's default, which is its parent. Only packets of forks pay for that.
 *
 * All is looked at where the packet leaves, as RouterOS does: its destination is what DNAT made of it, and
 * the interface it goes out through is known. A download's far end is its source, an upload's its destination.
 *
 * weir_far: a trie of the kernel's, keyed by fork and far end; the loader writes, programs read. An entry is
 * there before its fork is, and goes after it.
 */
#ifndef WEIR_BPF_FAR_H
#define WEIR_BPF_FAR_H

#include "clock.h"
#include "parse.h"
#include "ports.h"

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, struct weir_far_key);
	__type(value, struct weir_far);
} weir_far SEC(".maps");

static __always_inline void weir_far_address(struct weir_far_key *key, const struct weir_packet *far)
{
	key->family = far->family;
	if (far->family == 4) {
		key->word[0] = bpf_htonl(far->high);
		key->bits = WEIR_FAR_FIXED_BITS + 32;
		return;
	}
	key->word[0] = bpf_htonl(far->high >> 32);
	key->word[1] = bpf_htonl(far->high);
	key->word[2] = bpf_htonl(far->low >> 32);
	key->word[3] = bpf_htonl(far->low);
	key->bits = WEIR_FAR_FIXED_BITS + 128;
}

struct weir_ends {
	struct weir_packet source, destination;
	__u32 destination_slot; /* what the destination was looked up as */
	__u32 mark_slot; /* what the source was, at ingress */
};

/* Of two far ends the one with the better rank; either may be NULL. */
static __always_inline struct weir_far *weir_far_better(struct weir_far *one, struct weir_far *other)
{
	return !one || (other && other->rank < one->rank) ? other : one;
}

static __always_inline struct weir_far *weir_far_port(struct weir_far_key *key, const struct weir_port *port)
{
	key->family = WEIR_FAR_INTERFACE;
	key->bits = WEIR_FAR_FIXED_BITS + 128;
	__builtin_memcpy(key->end, port->name, sizeof(key->end));
	return bpf_map_lookup_elem(&weir_far, key);
}

/* The slot that a packet of this slot's target belongs to; the slot itself if it is no fork. */
static __noinline __u32 weir_settle(__u32 slot, const struct weir_packet *far, const struct weir_port *behind)
{
	struct weir_far_key key = { .fork = slot };
	struct weir_line *line = weir_line(slot * 2);
	struct weir_port *above;
	struct weir_far *found;
	__u32 place;

	if (!far || !slot || !line || !(line->flags & WEIR_LINE_FORK))
		return slot;
	weir_far_address(&key, far);
	found = bpf_map_lookup_elem(&weir_far, &key);
	if (behind) {
		found = weir_far_better(found, weir_far_port(&key, behind));
		above = behind->above ? weir_port_find(behind->above, &place) : NULL;
		if (above)
			found = weir_far_better(found, weir_far_port(&key, above));
	}
	return found ? found->slot : line->parent / 2;
}

/* Whose upload it is: a class or a fork was found at ingress; what none of the fork's takes is the port's. */
static __always_inline __u32 weir_choose_sender(const struct weir_port *from, const struct weir_port *to,
						__u32 mark_slot, const struct weir_packet *destination)
{
	__u32 slot = weir_settle(mark_slot, destination, to);

	return slot || !from ? slot : weir_settle(from->target_slot, destination, to);
}

/*
 * As weir_classify_egress, for a packet that came to a fork on the way: each class that it might belong to is
 * asked in the same order, until one of them, or a fork on its behalf, takes it. Returns a line, 0 = none.
 */
static __noinline __u32 weir_choose(const struct weir_port *from, const struct weir_port *to,
				    const struct weir_ends *ends)
{
	__u32 slot = weir_settle(ends->destination_slot, &ends->source, from);

	if (!slot && to)
		slot = weir_settle(to->target_slot, &ends->source, from);
	if (!slot && to)
		slot = weir_settle(weir_slot_above(from, to), &ends->source, from);
	if (slot)
		return slot * 2 + WEIR_DOWNLOAD;
	slot = weir_choose_sender(from, to, ends->mark_slot, &ends->destination);
	return slot ? slot * 2 + WEIR_UPLOAD : 0;
}

#endif
