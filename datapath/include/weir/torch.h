/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* What torch counts: flows between programs and the process that reads them. */
#ifndef WEIR_TORCH_H
#define WEIR_TORCH_H

#include <linux/types.h>

#define WEIR_TORCH_FLOWS 8192 /* the least recently seen gives way to a new one */
/* A processor looks at so many packets in each period one by one, then at as many that stand for some, then for many. */
#define WEIR_TORCH_LOOKS 10000
#define WEIR_TORCH_SOME 16
#define WEIR_TORCH_MANY 128
/* Of the fast path, after a few, at one in so long, as a look takes about a microsecond. */
#define WEIR_TORCH_FEW 300
#define WEIR_TORCH_LOOK_NS 25000
#define WEIR_TORCH_TIMED 16 /* so many packets for one reading of the clock, */
#define WEIR_TORCH_PACED 256 /* and so many for their rate: a multiple of these */

enum weir_torch_way {
	WEIR_TORCH_RECEIVED, /* of a port; of a queue: uploaded */
	WEIR_TORCH_SENT, /* of a port; of a queue: downloaded */
};

/* An IPv4 address is the first four bytes. Without ports, and in later fragments, both are 0. */
struct weir_torch_key {
	__u8 source[16];
	__u8 destination[16];
	__be16 source_port;
	__be16 destination_port;
	__u8 family; /* 4, 6, or 0 = not IP: then all else but `way` is 0 */
	__u8 protocol;
	__u8 way; /* enum weir_torch_way */
	__u8 reserved;
};

struct weir_torch_count {
	__u64 bytes; /* with IP headers, without those of the link */
	__u64 packets;
};

/* What the stack carries, and what XDP redirects. */
struct weir_torch_counts {
	struct weir_torch_count stack, fast;
};

struct weir_torch_flow {
	struct weir_torch_key key;
	struct weir_torch_counts counts;
};

/* Which packets a processor looks at. */
struct weir_torch_turn {
	__u32 period;
	__u32 looks; /* in this period */
	__u32 skip; /* so many packets until the next one that is looked at */
	__u32 least; /* from WEIR_TORCH_FEW on one stands for so many */
};

/* Of one processor. */
struct weir_torch_state {
	struct weir_torch_turn stack, fast;
	__u64 base; /* where the kernel has this processor's variables; 0 = not asked yet */
	__u64 estimated; /* packets that were not looked at one by one */
	__u64 passed; /* by XDP to all ports, while the tracepoint was on */
	__u64 first_ns, last_ns; /* CLOCK_MONOTONIC of those of `fast.period` */
	__u64 paced_ns; /* when `fast.least` was set */
	struct weir_torch_counts all;
};

#endif
