/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PCQ: sub-queues of a class, one for each masked address. A sub-queue is a clock below the class's own: a
 * packet leaves when its host's clock, the class's and all above allow it. What they share (rate or equal
 * share, burst, limit) is in one row for the line; the share controller refreshes equal shares.
 *
 * Sub-queues come with their first packet and are never removed. One gives way to a newcomer when it has its
 * whole credit: it is then like a new one, so nothing is lost. A sweep of addresses can therefore not take
 * the place of a busy host; where all places of a set are busy, newcomers share one sub-queue, and are counted.
 *
 * The key of an upload is the address before NAT, so weir_ingress finds the sub-queue (WEIR_ROLE_HOSTS)
 * and leaves its index in skb->tc_index.
 *
 * Concurrency: a place is claimed by compare-and-swap on its key; clocks are charged by atomics.
 */
#ifndef WEIR_BPF_HOSTS_H
#define WEIR_BPF_HOSTS_H

#include "weir/abi.h"
#include "weir/hash.h"

#include "clock.h"
#include "parse.h"

#define WEIR_FLOOR_BYTES (4 * 1514) /* least bucket where nothing waits, as a class has it (docs/adr/0012) */

const volatile __u32 weir_host_mask = 0; /* the loader: entries - 1 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_subqueues);
} weir_subqueues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_host);
} weir_hosts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WEIR_HOST_NAMES);
	__type(key, __u32);
	__type(value, struct weir_host_name);
} weir_host_names SEC(".maps");

/* A packet's sub-queue: its host's, or what the hosts without a place share. */
struct weir_subqueue {
	struct weir_subqueues *row; /* NULL: the class has none */
	struct weir_host *host; /* NULL: shared */
	__u64 *full_tk;
	__u64 burst_tk;
};

/* Written only where another address has the row. */
static __noinline int weir_host_note(__u64 mixed, __u64 high, __u64 low, __u32 family)
{
	__u32 row = WEIR_HOST_NAME_ROW(mixed);
	struct weir_host_name *name = bpf_map_lookup_elem(&weir_host_names, &row);

	if (name && name->mixed != mixed)
		*name = (struct weir_host_name){ .mixed = mixed, .high = high, .low = low, .family = family };
	return 0;
}

/* Host bits are those behind the mask; both families share one space of hashes. */
static __always_inline __u64 weir_host_mix(const struct weir_subqueues *row, const struct weir_packet *packet)
{
	__u64 high = packet->high, low = packet->low, mixed;

	if (packet->family == 4) {
		high &= row->length4 ? ~0ULL << (32 - (row->length4 & 63)) : 0;
	} else {
		high &= weir_mask_high(row->length6);
		low &= weir_mask_low(row->length6);
	}
	mixed = weir_host_hash(high, low, packet->family);
	if (row->key != (WEIR_BY_SOURCE | WEIR_BY_DESTINATION))
		weir_host_note(mixed, high, low, packet->family);
	return mixed;
}

/* A place in the set for this key: an empty one, or that of the host that is idle for longest; 0 = none. */
static __always_inline __u32 weir_host_claim(__u32 set, __u64 key, __u64 now_tk, struct weir_subqueues *row)
{
	struct weir_host *host;
	__u64 oldest = now_tk, held;
	__u32 found = 0;

	for (__u32 way = 0; way < WEIR_HOST_WAYS; way++) {
		__u32 index = set + way;

		host = bpf_map_lookup_elem(&weir_hosts, &index);
		if (host && index && weir_after(oldest, host->full_tk)) {
			oldest = host->full_tk;
			found = index;
		}
	}
	host = found ? bpf_map_lookup_elem(&weir_hosts, &found) : NULL;
	if (!host)
		return 0;
	held = host->key;
	if (__sync_val_compare_and_swap(&host->key, held, key) != held)
		return 0;
	host->peak_tk = now_tk;
	host->backlog = (struct weir_backlog){};
	if (held)
		__sync_fetch_and_add(&row->evicted, 1);
	return found;
}

/* The index of a host's sub-queue, which is made if it is not there; 0 = there is no place for it. Global, so that
 * the verifier looks at it once and not at every call. */
__noinline __u32 weir_host_find(__u32 line, __u64 mixed, __u32 row_index)
{
	struct weir_subqueues *row = bpf_map_lookup_elem(&weir_subqueues, &row_index);
	__u32 set = weir_host_set(mixed, line, weir_host_mask);
	__u64 key = (__u64)line << 32 | (__u32)mixed;

	if (!row)
		return 0;
	for (__u32 way = 0; way < WEIR_HOST_WAYS; way++) {
		__u32 index = set + way;
		struct weir_host *host = bpf_map_lookup_elem(&weir_hosts, &index);

		if (host && host->key == key)
			return index;
	}
	return weir_host_claim(set, key, bpf_ktime_get_ns() << WEIR_TICK_SHIFT, row);
}

static __always_inline bool weir_host_is_of(__u32 index, __u32 line)
{
	struct weir_host *host = index ? bpf_map_lookup_elem(&weir_hosts, &index) : NULL;

	return host && host->key >> 32 == line;
}

/* Fill in `found` for the host at `index`; one that is not this line's (any more) has no place. */
static __always_inline void weir_subqueue_at(struct weir_subqueue *found, struct weir_subqueues *row,
					     __u32 line, __u32 index, __u32 burst_min)
{
	struct weir_host *host = index ? bpf_map_lookup_elem(&weir_hosts, &index) : NULL;
	__u32 burst = row->burst > burst_min ? row->burst : burst_min;
	__u64 floor_tk = burst_min ? weir_cost_tk(*(volatile __u64 *)&row->cost, WEIR_FLOOR_BYTES) : 0;

	found->row = row;
	found->burst_tk = (__u64)burst << WEIR_TIME_SHIFT;
	if (found->burst_tk < floor_tk)
		found->burst_tk = floor_tk;
	if (host && host->key >> 32 == line) {
		found->host = host;
		found->full_tk = &host->full_tk;
	} else {
		found->full_tk = &row->shared_tk;
		__sync_fetch_and_add(&row->shared_packets, 1);
	}
}

static __always_inline bool weir_subqueue_over(const struct weir_subqueue *subqueue,
					       const struct weir_pace *pace)
{
	__u64 cost = *(volatile __u64 *)&subqueue->row->cost;
	__u64 limit = ((cost >> WEIR_COST_SHIFT) * subqueue->row->limit_bytes) & pace->limit_mask;
	__u64 latest = pace->now_tk + limit;

	if (!cost)
		return false;
	if (weir_after(*(volatile __u64 *)subqueue->full_tk - subqueue->burst_tk, latest))
		return true;
	return subqueue->host && subqueue->row->peak_cost &&
	       weir_after(subqueue->host->peak_tk, latest + ((__u64)pace->burst_min << WEIR_TIME_SHIFT));
}

/* Returns when the packet may leave for its sub-queue's part. */
static __always_inline __u64 weir_subqueue_charge(const struct weir_subqueue *subqueue,
						  const struct weir_pace *pace)
{
	__u64 cost = weir_cost_tk(*(volatile __u64 *)&subqueue->row->cost, pace->bytes), full, start, peak;

	if (subqueue->host)
		__sync_fetch_and_add(&subqueue->host->bytes, pace->bytes);
	full = *(volatile __u64 *)subqueue->full_tk;
	if (weir_after(pace->now_tk, full) &&
	    __sync_val_compare_and_swap(subqueue->full_tk, full, pace->now_tk + cost) == full)
		full = pace->now_tk;
	else
		full = __sync_fetch_and_add(subqueue->full_tk, cost);
	start = full - subqueue->burst_tk;
	if (!subqueue->host || !subqueue->row->peak_cost)
		return start;
	cost = weir_cost_tk(subqueue->row->peak_cost, pace->bytes);
	peak = *(volatile __u64 *)&subqueue->host->peak_tk;
	if (weir_after(pace->now_tk, peak) &&
	    __sync_val_compare_and_swap(&subqueue->host->peak_tk, peak, pace->now_tk + cost) == peak)
		return start;
	peak = __sync_fetch_and_add(&subqueue->host->peak_tk, cost);
	return weir_after(peak, start) ? peak : start;
}

static __always_inline void weir_subqueue_refund(const struct weir_subqueue *subqueue, __u32 bytes)
{
	__u64 cost = weir_cost_tk(*(volatile __u64 *)&subqueue->row->cost, bytes);

	__sync_fetch_and_sub(subqueue->full_tk, cost);
	if (!subqueue->host)
		return;
	__sync_fetch_and_sub(&subqueue->host->bytes, bytes);
	if (subqueue->row->peak_cost)
		__sync_fetch_and_sub(&subqueue->host->peak_tk, weir_cost_tk(subqueue->row->peak_cost, bytes));
}

#endif
