/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* A frame that proves its way: what is asked of the programs that catch it, and what they saw. */
#ifndef WEIR_PROVE_H
#define WEIR_PROVE_H

#include <linux/types.h>

/* Of skb->mark: one of the bits that nothing else of Weir's touches (weir/abi.h). */
#define WEIR_PROVE_MARK 0x40000000U
#define WEIR_PROVE_LINES 4
#define WEIR_PROVE_HEAD 64

struct weir_prove_asked {
	__u64 nonce; /* in the frame's payload, as its bytes lie there */
	__u32 nonce_at; /* from the network header */
	__u32 line_count;
	__u32 lines[WEIR_PROVE_LINES]; /* whose counters are read */
};

/* The frame as it was sent, where only `packets` are noted, and as it was caught. */
struct weir_prove_seen {
	__u64 now_ns; /* CLOCK_MONOTONIC; 0 = it did not come there */
	__u64 tstamp_ns; /* when it may leave, as our program says; 0 = at once */
	__u64 packets[WEIR_PROVE_LINES];
	__u32 mark;
	__u32 priority;
	__u32 ifindex;
	__u32 times;
	__u8 mac[6]; /* of the next station; zeros where the interface has none */
	__u8 has_mac;
	__u8 reserved;
	__u8 head[WEIR_PROVE_HEAD]; /* from the network header on */
};

#endif
