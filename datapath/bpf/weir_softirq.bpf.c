// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long softirqs wait from being raised until they begin, and how long they then run, as long as somebody looks.
 *
 * Hooks: the kernel's tracepoints softirq_raise, softirq_entry and softirq_exit, and napi_poll for how many packets a run of
 * NET_RX took. Each program is there twice, for kernels with types of their own (tp_btf) and without (raw_tp); both find their
 * arguments as words. The links belong to the process that reads and end with it; without links no packet runs an
 * instruction more.
 *
 * Maps: both are by processor and written by that processor alone. An interrupt may raise a vector between the two instructions
 * with which its entry takes the time and clears it: that wait is not counted. What was raised before
 * `softirq_since` was seen by another window, in which nobody may have seen its entry, so it is not counted either.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "weir/softirq.h"

#include "steps.h"

#define SOFTIRQ_ROOM 16 /* for vectors: a mask is a bound that the verifier sees */

volatile __u64 softirq_since = 0; /* CLOCK_MONOTONIC, when this window began */

/* What a processor does now. Times of 0: not known. */
struct softirq_state {
	__u64 raised[SOFTIRQ_ROOM];
	__u64 entered;
	__u64 left[SOFTIRQ_ROOM], ran[SOFTIRQ_ROOM]; /* when each ended last, and how long it had run */
	__u32 packets; /* of this run */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct softirq_state);
} softirq_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_SOFTIRQS);
	__type(key, __u32);
	__type(value, struct weir_softirq_row);
} softirq_rows SEC(".maps");

static __always_inline struct softirq_state *softirq_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&softirq_states, &zero);
}

static __always_inline int softirq_raised(__u32 vector)
{
	struct softirq_state *state = softirq_state();

	vector &= SOFTIRQ_ROOM - 1;
	if (state && state->raised[vector] < softirq_since) /* or 0: else it is raised already */
		state->raised[vector] = bpf_ktime_get_ns();
	return 0;
}

/* The vector that had the longest run since then, of at least `least`. */
static __always_inline __u32 softirq_behind(const struct softirq_state *state, __u64 since, __u64 least)
{
	__u32 found = WEIR_SOFTIRQ_NONE;

	for (__u32 vector = 0; vector < WEIR_SOFTIRQS; vector++) {
		if (state->left[vector] <= since || state->ran[vector] < least)
			continue;
		found = vector;
		least = state->ran[vector];
	}
	return found;
}

static __always_inline void softirq_waited(struct softirq_state *state, __u32 vector, __u64 since, __u64 now)
{
	struct weir_softirq_row *row = bpf_map_lookup_elem(&softirq_rows, &vector);
	__u64 wait = now - since;

	if (!row)
		return;
	row->waited++;
	row->waits[step_of(wait) & (WEIR_SOFTIRQ_STEPS - 1)]++;
	if (wait <= row->wait_most_ns)
		return;
	row->wait_most_ns = wait;
	row->behind = softirq_behind(state, since, wait / 4);
	bpf_get_current_comm(row->wait_comm, sizeof(row->wait_comm));
}

static __always_inline int softirq_entered(__u32 vector)
{
	struct softirq_state *state = softirq_state();
	__u64 now, since;

	vector &= SOFTIRQ_ROOM - 1;
	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	since = state->raised[vector];
	state->raised[vector] = 0;
	if (since >= softirq_since)
		softirq_waited(state, vector, since, now);
	state->packets = 0;
	state->entered = now;
	return 0;
}

static __always_inline int softirq_left(__u32 vector)
{
	struct softirq_state *state = softirq_state();
	struct weir_softirq_row *row;
	__u64 now, ran;
	__u32 step;

	if (!state || state->entered < softirq_since)
		return 0;
	now = bpf_ktime_get_ns();
	ran = now - state->entered;
	state->left[vector & (SOFTIRQ_ROOM - 1)] = now;
	state->ran[vector & (SOFTIRQ_ROOM - 1)] = ran;
	state->entered = 0;
	row = bpf_map_lookup_elem(&softirq_rows, &vector);
	if (!row)
		return 0;
	step = step_of(ran);
	row->ran++;
	row->runs[step & (WEIR_SOFTIRQ_STEPS - 1)]++;
	row->packets += state->packets;
	if (vector == WEIR_SOFTIRQ_NET_RX && step >= WEIR_SOFTIRQ_LONG_STEP && state->packets &&
	    ran >= (__u64)state->packets * WEIR_SOFTIRQ_DEAR_NS)
		row->dear++;
	if (ran > row->run_most_ns) {
		row->run_most_ns = ran;
		bpf_get_current_comm(row->run_comm, sizeof(row->run_comm));
	}
	return 0;
}

static __always_inline int softirq_polled(__u32 packets)
{
	struct softirq_state *state = softirq_state();

	if (state)
		state->packets += packets;
	return 0;
}

/* The vector; of napi_poll: its NAPI, packets, budget. */
#define SOFTIRQ_PROGRAM(kind, point, argument, what)                                                         \
	SEC(#kind "/" #point)                                                                                \
	int kind##_##what(__u64 *arguments)                                                                  \
	{                                                                                                    \
		return softirq_##what(arguments[argument]);                                                  \
	}

SOFTIRQ_PROGRAM(tp_btf, softirq_raise, 0, raised)
SOFTIRQ_PROGRAM(tp_btf, softirq_entry, 0, entered)
SOFTIRQ_PROGRAM(tp_btf, softirq_exit, 0, left)
SOFTIRQ_PROGRAM(tp_btf, napi_poll, 1, polled)
SOFTIRQ_PROGRAM(raw_tp, softirq_raise, 0, raised)
SOFTIRQ_PROGRAM(raw_tp, softirq_entry, 0, entered)
SOFTIRQ_PROGRAM(raw_tp, softirq_exit, 0, left)
SOFTIRQ_PROGRAM(raw_tp, napi_poll, 1, polled)

char LICENSE[] SEC("license")
= "GPL";
