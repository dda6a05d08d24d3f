/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What only packets that wait touch: backlogs, flows, sub-queues, round trips. Part of weir/abi.h. */
#ifndef WEIR_ABI_WAIT_H
#define WEIR_ABI_WAIT_H

#include <linux/types.h>

/*
 * How long packets wait, and what is done about it: one for each line and one in each sub-queue. Only packets
 * that wait touch it (wait.h). `delay_us` is the delay when the control law ran last; `worst_us` the longest
 * of the present span of 2^30 ns, `worst_before_us` of the span before `updated`'s.
 */
#define WEIR_UPDATED_SHIFT 20 /* `updated` counts 2^20 ns: 1.05 ms */
#define WEIR_SPAN_SHIFT 10 /* a span, about a second, is 2^10 of these */

struct weir_backlog {
	__u64 sparse_tk; /* clock of what passed the backlog, at half the rate */
	__u32 updated; /* when the control law ran last */
	__u32 chance; /* its output, 2^32 = 1: a packet drops when two random numbers are below */
	__u32 delay_us;
	__u32 worst_us;
	__u32 worst_before_us;
	__u32 early_packets; /* dropped early; wraps */
};

/*
 * Round trips of TCP, seen in passing (bpf/round_trip.h): of packets of one line, to where they went and back. A
 * bounded table by line; a row that was not used lately gives way to another line's.
 */
#define WEIR_ROUND_TRIP_ROWS 16384
#define WEIR_ROUND_TRIP_ROW(line) ((__u32)((line)*0x9e3779b1U) >> 18) /* 14 bits */
#define WEIR_ROUND_TRIPS 5
#define WEIR_ROUND_TRIP_SHIFT 15 /* samples are in 2^15 ns: up to 2.1 s */

struct weir_round_trips {
	__u32 line; /* whose row; 0 = nobody's */
	__u32 far; /* hash of the far end's address and port whose packets are looked at; 0 = none */
	__u32 value; /* the timestamp it waits for, or the last one that left */
	__u32 sent; /* when that left, 2^10 ns; 0 = nothing is waited for */
	__u32 updated; /* when the newest sample was taken, 2^20 ns */
	__u16 chosen; /* when `far` was chosen, 2^20 ns; wraps */
	__u16 samples[WEIR_ROUND_TRIPS]; /* the newest first; 0 = none */
};

/*
 * What TCP lost before and after the router (bpf/loss.h), of one line. A bounded table by line, as that of round trips
 * and by the same rule. Counters lose a quarter with each window in which the line is looked at.
 */
#define WEIR_LOSS_ROWS 2048
#define WEIR_LOSS_ROW(line) ((__u32)((line)*0x9e3779b1U) >> 21) /* 11 bits */

struct weir_losses {
	__u32 line; /* whose row; 0 = nobody's */
	__u32 begun; /* when a flow of it began to be followed last, 2^26 ns; a window is 16 of these */
	__u32 flow; /* hash of the flow that is followed; 0 = none */
	__u16 far; /* of its far end, which acknowledgements name */
	__u16 others; /* packets of other flows since its last */
	__u32 first; /* what is before this passed before anything was counted */
	__u32 next; /* behind the last one */
	__u32 acked; /* the last acknowledgement of it that passed */
	__u32 value; /* the newest timestamp */
	__u32 old; /* what is before this left in an earlier tick */
	__u32 hole; /* where the first hole begins, if bytes are missing */
	__u32 missing; /* bytes in holes */
	__u32 dropped; /* the line's own drops that a repeat has accounted for */
	__u32 seen; /* bytes of data, each once */
	__u32 before; /* bytes that were lost before the router */
	__u32 after; /* bytes that were lost after it */
	__u16 before_packets; /* packets that brought them again */
	__u16 after_packets;
};

/* A flow of a class or sub-queue with a backlog; two share a cache line. */
#define WEIR_FLOW_WAYS 2

struct weir_flow_clock {
	__u64 key; /* line and hash; 0 = free */
	__u64 clock_tk; /* what it sent, at a small part of its class's rate */
	__u64 departure_tk; /* of its last packet: the next does not overtake it */
	__u64 turned_away_tk; /* in the first of a set: the last departure of flows that found no place in it */
};

/*
 * PCQ: a class's sub-queues, one for each masked address. Parameters of one line, and what its sub-queues
 * have in common; `line.flags` says which row.
 */
enum weir_subqueue_key { WEIR_BY_SOURCE = 1, WEIR_BY_DESTINATION = 2 }; /* or both */

struct weir_subqueues {
	__u64 cost; /* of one sub-queue now, as weir_line.cost: of its rate, or its equal share */
	__u64 rate_bps; /* pcq-rate; 0 = equal shares of the line's rate */
	__u64 peak_cost; /* while a burst lasts; 0 = no burst */
	__u64 peak_bps;
	__u32 burst; /* credit of an idle sub-queue, 16 ns */
	__u32 limit_bytes; /* what one may hold */
	__u32 line; /* whose row this is; 0 = free */
	__u8 key; /* enum weir_subqueue_key */
	__u8 length4; /* bits of the address that count */
	__u8 length6;
	__u8 reserved;
	__u64 shared_tk; /* clock of the sub-queue of all that found no place */
	__u32 active; /* sub-queues that sent within the last second: the share controller */
	__u32 reserved2;
	__u64 evicted; /* idle sub-queues that gave way to another */
	__u64 shared_packets; /* packets that found no place */
};

/*
 * One sub-queue, in a set of WEIR_HOST_WAYS. It may give way to another once full_tk is past: then it has
 * its whole credit, as a new one has, and nothing is lost. So a sweep of addresses evicts idle ones only.
 */
#define WEIR_HOST_WAYS 8
#define WEIR_HOSTS_MAX 65536 /* an index fits skb->tc_index, which carries it from ingress to egress */

struct weir_host {
	__u64 key; /* line << 32 | hash of the masked address; 0 = free */
	__u64 full_tk; /* when it will have its whole credit: its clock plus the burst */
	__u64 peak_tk; /* clock of the burst's rate */
	struct weir_backlog backlog;
	__u32 bytes; /* sent; wraps */
	__u32 drops;
};

/*
 * Which address a sub-queue is of, found by the hash that is half of its key: a small table for those who ask, in which
 * every packet of a class with sub-queues sees to its own row, so that those who send most are in it.
 */
#define WEIR_HOST_NAMES 4096
#define WEIR_HOST_NAME_ROW(mixed) ((__u32)((mixed) >> 52)) /* 12 bits */

struct weir_host_name {
	__u64 mixed; /* weir_host_hash of the rest, which several CPUs may have written: readers check it */
	__u64 high; /* masked; v4: the address */
	__u64 low;
	__u32 family; /* 4 or 6 */
	__u32 reserved;
};

#endif
