/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round-trip times of TCP, seen in passing as pping does (Nichols 2017): a timestamp that leaves (TSval) comes back in
 * the answer (TSecr). A download's row tells the way to the target and back, an upload's the way to the
 * far end. Both are seen where a packet is charged, by tc at egress or in XDP, where the class is known on either side
 * of NAT: what answers a packet of one line is a packet of the other line of its slot, by whichever path. The far end's
 * address and port are the same on both sides.
 *
 * Sampled: each class is looked at for one second in sixteen. Only then is anything done here; at all other times a
 * packet pays for one comparison. One timestamp of a line is waited for at a time. It is the first packet of its
 * tick (packets of one tick carry the same value, and an answer to any of them would look like ours), and
 * has data, so that it is answered at once. An answer to a later one ends the wait without a sample.
 *
 * The time begins where the packet is charged, so what it then waits in the queue is part of it.
 *
 * Concurrency: a row is claimed, and a sample is taken, by compare-and-swap; all else are single stores. What two
 * CPUs do to one row at once may lose a sample, or take one of another packet: readers use the median.
 */
#ifndef WEIR_BPF_ROUND_TRIP_H
#define WEIR_BPF_ROUND_TRIP_H

#include "weir/abi.h"

#include "loss.h"
#include "tcp.h"

#define WEIR_LOOK_MASK 0x1eU /* of the line: one in sixteen, both lines of a slot at once */
#define WEIR_ANSWER_WITHIN (1U << 21) /* 2^10 ns: 2.1 s */
#define WEIR_CHOSEN_FOR 256 /* 2^20 ns: another flow may have the row if this one sends nothing new */
#define WEIR_ROW_IDLE (1U << 15) /* 2^20 ns: 34 s */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WEIR_ROUND_TRIP_ROWS);
	__type(key, __u32);
	__type(value, struct weir_round_trips);
} weir_trips SEC(".maps");

/* What a TCP packet says: the far end, its own timestamp, the one that it answers; and when. */
struct weir_stamp {
	__u32 now; /* 2^10 ns */
	__u32 now_ms; /* 2^20 ns */
	__u32 far;
	__u32 value;
	__u32 echo;
	bool has_data;
};

/* Every packet comes here: few instructions. */
static __always_inline bool weir_is_looked_at(__u32 index, __u64 now_tk)
{
	return !((now_tk >> (WEIR_LOOK_SHIFT + WEIR_TICK_SHIFT - 1) ^ index) & WEIR_LOOK_MASK);
}

static __always_inline struct weir_round_trips *weir_trips_of(__u32 index)
{
	__u32 row = WEIR_ROUND_TRIP_ROW(index);

	return bpf_map_lookup_elem(&weir_trips, &row);
}

/* `to_far`: the packet is an upload. */
static __always_inline bool weir_stamp_read(void *ip, void *end, bool to_far, struct weir_stamp *stamp)
{
	struct weir_tcp_packet packet;
	struct weir_tcp_stamped *tcp = weir_tcp_find(ip, end, to_far, &packet);

	if (!tcp)
		return false;
	stamp->far = weir_tcp_far(&packet);
	stamp->value = bpf_ntohl(tcp->value);
	stamp->echo = tcp->tcp.ack ? bpf_ntohl(tcp->echo) : 0;
	stamp->has_data = !packet.payload || packet.payload > tcp->tcp.doff * 4U;
	return true;
}

static __always_inline void weir_trip_sample(struct weir_round_trips *trips, __u32 trip, __u32 now_ms)
{
	__u32 sample = trip >> (WEIR_ROUND_TRIP_SHIFT - 10) ?: 1;

#pragma unroll
	for (int i = WEIR_ROUND_TRIPS - 1; i > 0; i--)
		trips->samples[i] = trips->samples[i - 1];
	trips->samples[0] = sample > 0xffff ? 0xffff : sample;
	trips->updated = now_ms;
	trips->far = 0; /* the next may be another flow's */
}

/* Whether this packet of the other line answers what the row waits for. */
static __always_inline void weir_trip_end(__u32 index, const struct weir_stamp *stamp)
{
	struct weir_round_trips *trips = weir_trips_of(index);
	__u32 sent;

	if (!trips || trips->line != index || trips->far != stamp->far || !stamp->echo)
		return;
	sent = *(volatile __u32 *)&trips->sent;
	if (!sent || (__s32)(stamp->echo - trips->value) < 0 ||
	    __sync_val_compare_and_swap(&trips->sent, sent, 0) != sent)
		return;
	if (stamp->echo == trips->value && stamp->now - sent < WEIR_ANSWER_WITHIN)
		weir_trip_sample(trips, stamp->now - sent, stamp->now_ms);
}

static __always_inline void weir_trip_begin(__u32 index, const struct weir_stamp *stamp)
{
	struct weir_round_trips *trips = weir_trips_of(index);
	__u32 line;

	if (!trips)
		return;
	line = trips->line;
	if (line != index) {
		if (line && stamp->now_ms - trips->updated < WEIR_ROW_IDLE)
			return;
		if (__sync_val_compare_and_swap(&trips->line, line, index) != line)
			return;
		__builtin_memset(trips->samples, 0, sizeof(trips->samples));
		trips->far = 0;
		trips->updated = stamp->now_ms;
	}
	if (trips->sent && stamp->now - trips->sent < WEIR_ANSWER_WITHIN)
		return;
	if (trips->far != stamp->far) {
		if (trips->far && (__u16)(stamp->now_ms - trips->chosen) < WEIR_CHOSEN_FOR)
			return;
		trips->sent = 0;
		trips->far = stamp->far;
	} else if ((__s32)(stamp->value - trips->value) > 0) {
		trips->sent = stamp->now | 1;
	} else {
		return; /* of the same tick as the one before */
	}
	trips->value = stamp->value;
	trips->chosen = stamp->now_ms;
}

/* A packet of this line leaves; `ip` is its header. */
static __always_inline void weir_trip_see(__u32 index, void *ip, void *end)
{
	struct weir_stamp stamp = {};
	__u64 now_ns;

	if (!weir_stamp_read(ip, end, (index & 1) == WEIR_UPLOAD, &stamp))
		return;
	now_ns = bpf_ktime_get_ns();
	stamp.now = now_ns >> 10;
	stamp.now_ms = now_ns >> 20;
	weir_trip_end(index ^ 1, &stamp);
	if (stamp.has_data)
		weir_trip_begin(index, &stamp);
}

#endif
