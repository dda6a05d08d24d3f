/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Early drop and congestion marks of packets that have to wait, and how long they wait.
 *
 * One control law for each class and direction, and for each sub-queue: PI2 (De Schepper 2016; RFC 9332,
 * appendix A, whose constants these are). Every 17 ms the chance moves by how far the delay is from its
 * target and by how much it changed. A packet drops, or is marked if its sender understands marks
 * (ECT(0)), when two random numbers are below the chance: its square, because a TCP's rate goes with
 * one over the root of its losses. Unlike CoDel it also holds the delay against senders who do not care, by
 * dropping as much as it takes; at half of that, marks are believed to be useless and become drops.
 * Senders of ECT(1) react in proportion to marks, and get one whenever they wait longer than 1 ms.
 *
 * Concurrency: who wins a compare-and-swap on `updated` runs the law; all other writes are single stores
 * of figures that may be a packet behind.
 */
#ifndef WEIR_BPF_LAW_H
#define WEIR_BPF_LAW_H

#include "weir/abi.h"

#include "clock.h"

#define WEIR_ECT1 1
#define WEIR_CE 3
#define WEIR_SCALABLE_NS 1000000ULL

/* Of the delay: a bulk TCP at ordinary round-trip times keeps its link busy with this; and four packets. */
#define WEIR_TARGET_NS 15000000ULL
#define WEIR_TARGET_BYTES (4 * 1514)

#define WEIR_LAW_INTERVAL 16 /* in units of `updated`: 16.8 ms */
#define WEIR_LAW_FORGETS (1 << WEIR_SPAN_SHIFT)
#define WEIR_LAW_ALPHA 687 /* per us off the target: 0.16 Hz * 2^32 / 10^6 */
#define WEIR_LAW_BETA 13744 /* per us of change: 3.2 Hz */
#define WEIR_CHANCE_MAX 0xffffffffLL
#define WEIR_CHANCE_FUTILE 0x80000000U

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_backlog);
} weir_waits SEC(".maps");

enum weir_fate { WEIR_KEEP, WEIR_MARK, WEIR_EARLY_DROP };

static __always_inline __u64 weir_target_ns(__u64 cost)
{
	__u64 target = (cost * WEIR_TARGET_BYTES) >> (WEIR_COST_SHIFT + WEIR_TICK_SHIFT);

	return target > WEIR_TARGET_NS ? target : WEIR_TARGET_NS;
}

static __always_inline void weir_begin_span(struct weir_backlog *backlog, __u32 then, __u32 now)
{
	__u32 spans = (now >> WEIR_SPAN_SHIFT) - (then >> WEIR_SPAN_SHIFT);

	if (!spans)
		return;
	backlog->worst_before_us = spans == 1 ? backlog->worst_us : 0;
	backlog->worst_us = 0;
}

/* One step of the law; `passed` since the one before, in units of `updated`. */
static __always_inline __u32 weir_law(const struct weir_backlog *backlog, __u32 passed, __u32 delay_us,
				      __u32 target_us)
{
	__s64 chance = backlog->chance;

	if (passed >= WEIR_LAW_FORGETS)
		return 0;
	/* The target is four packets of a slow class: one that has a backlog is never silent for so long. */
	if (passed < WEIR_LAW_INTERVAL + (target_us >> 10)) {
		chance += WEIR_LAW_ALPHA * ((__s64)delay_us - (__s64)target_us);
		chance += WEIR_LAW_BETA * ((__s64)delay_us - (__s64)backlog->delay_us);
	} else {
		/* Nothing waited in between. What waits now is a burst: it has until the next step to go. */
		chance -= WEIR_LAW_ALPHA * (__s64)target_us * (passed / WEIR_LAW_INTERVAL);
	}
	if (chance < 0)
		return 0;
	return chance > WEIR_CHANCE_MAX ? WEIR_CHANCE_MAX : chance;
}

/* Note a delay, and run the law when it is due. */
static __always_inline void weir_note_delay(struct weir_backlog *backlog, __u64 now_ns, __u64 delay_ns,
					    __u64 target_ns)
{
	__u32 now = now_ns >> WEIR_UPDATED_SHIFT, then = *(volatile __u32 *)&backlog->updated;
	__u32 passed = now - then, delay_us = delay_ns / 1000;

	if (passed >= WEIR_LAW_INTERVAL &&
	    __sync_val_compare_and_swap(&backlog->updated, then, now) == then) {
		weir_begin_span(backlog, then, now);
		backlog->chance = weir_law(backlog, passed, delay_us, target_ns / 1000);
		backlog->delay_us = delay_us;
	}
	if (delay_us > backlog->worst_us)
		backlog->worst_us = delay_us;
}

/* The longest wait alone, for a class whose packets wait in sub-queues with laws of their own. */
static __always_inline void weir_note_worst(struct weir_backlog *backlog, __u64 now_ns, __u64 delay_ns)
{
	__u32 now = now_ns >> WEIR_UPDATED_SHIFT, then = *(volatile __u32 *)&backlog->updated;
	__u32 delay_us = delay_ns / 1000;

	if (now != then && __sync_val_compare_and_swap(&backlog->updated, then, now) == then)
		weir_begin_span(backlog, then, now);
	if (delay_us > backlog->worst_us)
		backlog->worst_us = delay_us;
}

static __always_inline enum weir_fate weir_fate(const struct weir_backlog *backlog, __u32 ecn, __u64 delay_ns,
						__u64 target_ns)
{
	__u32 chance = backlog->chance;
	bool hit = chance && delay_ns > target_ns / 2 && bpf_get_prandom_u32() < chance &&
		   bpf_get_prandom_u32() < chance;

	if (hit && (!ecn || chance > WEIR_CHANCE_FUTILE))
		return WEIR_EARLY_DROP;
	if (!ecn || ecn == WEIR_CE)
		return WEIR_KEEP;
	if (ecn == WEIR_ECT1)
		return delay_ns > WEIR_SCALABLE_NS ? WEIR_MARK : WEIR_KEEP;
	/* Far above the target there is no need to throw dice: this is a burst that the law has not seen yet. */
	return hit || delay_ns > 2 * target_ns ? WEIR_MARK : WEIR_KEEP;
}

#endif
