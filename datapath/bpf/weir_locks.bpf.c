// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long processors spin for locks, as long as somebody looks.
 *
 * Hooks: the kernel's tracepoints contention_begin and contention_end, which a lock comes by that is not free; one that is free
 * runs no instruction more. The links belong to the process that reads and end with it. Locks for which a task sleeps are not counted.
 * Of a queued spin lock the kernel does not tell of the first that waits (the pending bit), but where the hypervisor helps with locks
 * (paravirtual ones); a virtual machine without that help tells of none. So locks_take takes a lock on several processors at once, by
 * test-runs, and the reader sees whether this kernel tells of it.
 *
 * Maps: all are by processor and written by that processor alone but for the lock of locks_take. An interrupt that
 * waits while its processor waits has a place of its own.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "weir/lock.h"

#include "steps.h"

#define LOCKS_DEPTH 4 /* task, softirq, interrupt, NMI */
#define SPIN 1u /* LCB_F_*, include/trace/events/lock.h */
#define READ 2u
#define WRITE 4u

volatile __u64 locks_since = 0; /* CLOCK_MONOTONIC, when this window began */

struct lock_wait {
	__u64 lock, since;
	__u32 kind, reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOCKS_DEPTH);
	__type(key, __u32);
	__type(value, struct lock_wait);
} lock_waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_LOCK_KINDS);
	__type(key, __u32);
	__type(value, struct weir_lock_row);
} lock_rows SEC(".maps");

struct lock_taken {
	struct bpf_spin_lock lock;
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lock_taken);
} lock_own SEC(".maps");

/* The first place that is free, or has what an earlier window left. */
SEC("tp_btf/contention_begin")
int locks_begin(__u64 *arguments)
{
	__u32 flags = arguments[1];

	if (flags != SPIN && flags != (SPIN | READ) && flags != (SPIN | WRITE))
		return 0;
	for (__u32 place = 0; place < LOCKS_DEPTH; place++) {
		__u32 key = place;
		struct lock_wait *wait = bpf_map_lookup_elem(&lock_waits, &key);

		if (!wait || (wait->lock && wait->since >= locks_since))
			continue;
		wait->lock = arguments[0];
		wait->kind = flags >> 1;
		wait->since = bpf_ktime_get_ns();
		return 0;
	}
	return 0;
}

static __always_inline void lock_waited(__u32 kind, __u64 ns)
{
	struct weir_lock_row *row = bpf_map_lookup_elem(&lock_rows, &kind);

	if (!row)
		return;
	row->waited++;
	row->wait_ns += ns;
	row->waits[step_of(ns) & (WEIR_SOFTIRQ_STEPS - 1)]++;
	if (ns > row->wait_most_ns)
		row->wait_most_ns = ns;
}

SEC("tp_btf/contention_end")
int locks_end(__u64 *arguments)
{
	for (__u32 place = 0; place < LOCKS_DEPTH; place++) {
		__u32 key = place;
		struct lock_wait *wait = bpf_map_lookup_elem(&lock_waits, &key);

		if (!wait || wait->lock != arguments[0])
			continue;
		wait->lock = 0;
		if (wait->since >= locks_since)
			lock_waited(wait->kind, bpf_ktime_get_ns() - wait->since);
		return 0;
	}
	return 0;
}

SEC("tc")
int locks_take(void *packet)
{
	__u32 zero = 0;
	struct lock_taken *own = bpf_map_lookup_elem(&lock_own, &zero);

	(void)packet;
	if (!own)
		return 0;
	for (int take = 0; take < WEIR_LOCK_TAKES; take++) {
		bpf_spin_lock(&own->lock);
		own->count++;
		bpf_spin_unlock(&own->lock);
	}
	return 0;
}

char LICENSE[] SEC("license")
= "GPL";
