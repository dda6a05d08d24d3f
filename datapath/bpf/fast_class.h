/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a packet of the fast path whose way is known: by the clocks of its class it is sent, goes up to wait, or is
 * dropped (theory of operation in fast.h).
 */
#ifndef WEIR_BPF_FAST_CLASS_H
#define WEIR_BPF_FAST_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "checks.h"
#include "clock.h"
#include "counters.h"
#include "passage.h"
#include "rewrite.h"
#include "round_trip.h"
#include "used.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, WEIR_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} weir_devices SEC(".maps");

static __always_inline int weir_send_fast(struct xdp_md *ctx, const struct weir_passage *passage)
{
	weir_use_neighbour(passage->route.fib.dmac);
	if (!weir_cut_padding(ctx, passage->route.ip_bytes) || !weir_rewrite(ctx, &passage->route))
		return XDP_DROP; /* all headers were there a moment ago */
	return bpf_redirect_map(&weir_devices, passage->to_place, XDP_DROP);
}

/* Global: called when a class is over its rate, verified once. */
__attribute__((noinline)) int weir_conforms_called(__u32 index, const struct weir_pace *pace)
{
	return pace ? weir_conforms(index, pace) : WEIR_OVER_LIMIT;
}

static __always_inline void weir_count_sender(__u32 index, __u32 bytes)
{
	struct weir_line *line = weir_line(index);

	if (line)
		weir_count_fast(line, bytes);
}

/* Returns XDP_REDIRECT when the packet may go at once and has been charged. */
static __always_inline int weir_conform_fast(const struct weir_passage *passage, __u32 index,
					     struct weir_line *line, __u32 sender)
{
	const struct weir_port *to = passage->to;
	__u32 ip_bytes = passage->route.ip_bytes;
	__s64 bytes = (__s64)ip_bytes + to->overhead_bytes;
	bool police = to->mode == WEIR_POLICE;
	struct weir_pace pace = {
		.now_tk = passage->now_ns << WEIR_TICK_SHIFT,
		.burst_min = to->burst_min,
		.bytes = bytes > 0 ? bytes : 0,
	};
	enum weir_conformance conformance;

	if (police || !weir_is_held(line, passage->now_ns)) {
		conformance = sender ? weir_enter_called(sender, &pace) : WEIR_CONFORMS;
		if (conformance == WEIR_CONFORMS) {
			conformance = weir_enter(line, &pace);
			if (sender && conformance != WEIR_CONFORMS)
				weir_refund(sender, pace.bytes);
		}
		if (conformance == WEIR_CONFORMS) {
			weir_count_fast(line, ip_bytes);
			if (sender)
				weir_count_sender(sender, ip_bytes);
			return XDP_REDIRECT;
		}
	}
	if (!police)
		pace.limit_mask = ~0ULL;
	if (!police || sender) {
		conformance = weir_conforms_called(index, &pace);
		if (conformance == WEIR_CONFORMS && sender) {
			index = sender;
			conformance = weir_conforms_called(index, &pace);
		}
		if (conformance == WEIR_CONFORMS)
			return weir_go_up(passage, WEIR_UP_WAITS);
	}
	weir_count_drop(&index, 1, ip_bytes, conformance == WEIR_ANCESTOR_OVER_LIMIT);
	return XDP_DROP;
}

/*
 * Global: verified once, with a stack of its own. Before the packet is judged, because there no value more has to be
 * kept over the call, for which this program has no stack; one that goes up is seen again by tc, which finds that
 * what it says is known.
 */
__attribute__((noinline)) int weir_see_round_trip_fast(struct xdp_md *ctx, __u32 index)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	weir_trip_see(index, data + sizeof(struct ethhdr), end);
	return 0;
}

/* As above, with a stack of its own. */
__attribute__((noinline)) int weir_see_loss_fast(struct xdp_md *ctx, __u32 index)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	weir_loss_see(index, data + sizeof(struct ethhdr), end, true);
	return 0;
}

/* As weir_admit_unknown in admit.h. */
static __noinline bool weir_admit_unknown_fast(const struct weir_passage *passage)
{
	__u32 bytes;

	if (!passage)
		return true;
	bytes = passage->route.ip_bytes + ETH_HLEN;

	if (weir_has_check(passage->to, WEIR_ROLE_KNOWN)) {
		weir_count_check(passage->to_place, WEIR_REFUSED, 1, bytes);
		return false;
	}
	weir_count_check(passage->to_place, WEIR_UNKNOWN_TX, 1, bytes);
	weir_count_check(passage->from_place, WEIR_UNKNOWN_RX, 1, bytes);
	return true;
}

/* A sender whose class is not for the fast path, or is gone. */
static __always_inline bool weir_is_of_stack(__u32 sender)
{
	struct weir_line *line = weir_line(sender);

	return !line || (line->flags & (WEIR_LINE_STACK | WEIR_LINE_LIVE)) != WEIR_LINE_LIVE;
}

/*
 * The same index, of which the verifier knows nothing any more: what a global function returns may be anything. What makes
 * an address has to be known exactly on each path there is to it, and to the class of a packet there are many.
 */
__noinline __u32 weir_of_any_path(__u32 index)
{
	asm volatile("" : "+r"(index));
	return index;
}

/* `two`: whether a packet between two customers may be judged here; the others have no stack left for that. */
static __always_inline int weir_shape_fast(struct xdp_md *ctx, const struct weir_passage *passage, bool two)
{
	const struct weir_port *to = passage->to;
	struct weir_line *line;
	__u32 index = passage->index, sender = passage->sender;
	int action;

	if (!(to->roles & WEIR_ROLE_SHAPE) || to->mode == WEIR_NONE)
		return weir_send_fast(ctx, passage);
	/* As weir_classify_egress in weir_tc.bpf.c, with the source in place of the mark. */
	if ((index & 1) != WEIR_DOWNLOAD && to->target_slot) {
		sender = index;
		index = to->target_slot * 2 + WEIR_DOWNLOAD;
	}
	line = weir_line_of(weir_of_any_path(index));
	if (!line || !(line->flags & WEIR_LINE_LIVE)) {
		if (!index && !weir_admit_unknown_fast(passage))
			return XDP_DROP;
		weir_port_count(passage->to_place, index ? WEIR_STALE_CLASS : WEIR_NO_CLASS,
				passage->route.ip_bytes);
		return weir_send_fast(ctx, passage);
	}
	if (line->flags & WEIR_LINE_STACK || (sender && (!two || weir_is_of_stack(sender))))
		return weir_go_up(passage, WEIR_UP_WAITS);
	if (weir_is_looked_at(index, passage->now_ns << WEIR_TICK_SHIFT)) {
		weir_see_round_trip_fast(ctx, index);
		weir_see_loss_fast(ctx, index);
	}
	action = weir_conform_fast(passage, index, line, two ? sender : 0);
	return action == XDP_REDIRECT ? weir_send_fast(ctx, passage) : action;
}

#endif
