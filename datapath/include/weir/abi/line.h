/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The lines: clocks, counters, and what decides among several queues. Part of weir/abi.h. */
#ifndef WEIR_ABI_LINE_H
#define WEIR_ABI_LINE_H

#include <linux/types.h>

enum weir_direction { WEIR_UPLOAD = 0, WEIR_DOWNLOAD = 1 };

/* All that a packet touches which neither waits nor drops: one cache line, and as many of them in a page as go. */
struct weir_line {
	__u64 clock_tk; /* when all that was charged so far will have left */
	__u64 cost; /* ticks per byte << WEIR_COST_SHIFT; 0 = unlimited */
	__u32 burst; /* how far the clock of an idle class lags behind now, 16 ns */
	__u32 limit; /* how far ahead of now the clock may be before packets drop, 16 ns */
	__u32 parent; /* line, 0 = none */
	__u32 shared; /* line charged by both directions (total limits), 0 = none */
	__u64 packets; /* sent on, counted as segments; the top byte stays 0 (bpf/line.h) */
	__u64 bytes; /* IP bytes sent on by the stack */
	__u64 fast_bytes; /* IP bytes forwarded in XDP */
	__u32 flags; /* WEIR_LINE_* */
	__u32 held; /* until when fq may hold packets of it, 2^WEIR_HELD_SHIFT ns; wraps (bpf/held.h) */
};

/* The rest of a line. */
struct weir_detail {
	__u64 key; /* whose line this is; 0 = free */
	__u64 rate_bps; /* what cost was computed from; 0 = unlimited */
	__u64 guarantee_bps; /* limit-at, read by the share controller */
	__u64 drop_packets; /* dropped for any reason */
	__u64 drop_bytes;
	__u64 mark_packets; /* ECN marks */
	__u64 delay_us; /* sum of the delays given to packets */
	__u32 htb_classid; /* skb->priority on ports in HTB mode */
	__u32 ancestor_drop_packets; /* of drop_packets: because of an ancestor or the total; wraps */
};

#define WEIR_LINE_PRIORITY 0xfU /* 1 (best) to 8; 0 = 8 */
#define WEIR_LINE_SUBQUEUES 0x10U /* has a row of weir_subqueues; tc only, the fast path passes it up */
#define WEIR_LINE_LIVE 0x40U /* the line is somebody's */
#define WEIR_LINE_AGE 0x3f00U /* counts up with each class that gets the line */
#define WEIR_LINE_AGE_SHIFT 8
#define WEIR_LINE_ROW_SHIFT 14 /* from here on the row of weir_subqueues */

#define WEIR_HELD_SHIFT 20

/* What one CPU has charged to an ancestor ahead of its packets. */
#define WEIR_QUANTA 1024 /* for each CPU; power of two */

struct weir_quantum {
	__u32 line; /* whose it is; 0 = nobody's */
	__u32 left_tk; /* not yet used */
	__u32 age; /* WEIR_LINE_AGE of the class that held the line then */
	__u32 reserved;
	__u64 start_tk; /* where the next packet starts */
	__u64 taken_tk; /* when it was last refilled */
};

/* A fork: `dst` decides among several queues (bpf/far.h). `parent` leads to the queue that takes the rest. */
#define WEIR_LINE_FORK 0x20U
#define WEIR_LINE_STACK (WEIR_LINE_SUBQUEUES | WEIR_LINE_FORK) /* not for the fast path */

#define WEIR_FAR_INTERFACE 0U /* family of a far end that is an interface's name */
#define WEIR_FAR_FIXED_BITS 64 /* of a key: fork and family, before what is matched in part */

struct weir_far_key {
	__u32 bits; /* that count, from `fork` on */
	__u32 fork; /* slot */
	__u32 family; /* 4, 6 or WEIR_FAR_INTERFACE */
	union {
		__u8 end[16]; /* network byte order; the name of an interface, padded with zeros */
		__u32 word[4];
	};
};

struct weir_far {
	__u32 slot;
	__u32 rank; /* the smaller one of an address and an interface wins */
};

/* What readers see of a line (bpf/weir_read.bpf.c). */
#define WEIR_READ_LINES 64 /* in one step: 4 KB of the reader's buffer of 32 KB */

struct weir_reading {
	__u64 bytes; /* of both paths */
	__u64 packets;
	__u64 drop_packets;
	__u64 mark_packets;
	__u64 fast_bytes;
	__u64 delay_us;
	__u32 ancestor_drop_packets;
	__u32 early_packets;
	__u32 worst_us; /* longest wait of the last one to two seconds */
	__u32 reserved;
};

#endif
