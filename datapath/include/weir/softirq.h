/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* How long softirqs wait and run: between programs and the process that reads them. */
#ifndef WEIR_SOFTIRQ_H
#define WEIR_SOFTIRQ_H

#include <linux/types.h>

#define WEIR_SOFTIRQS 10 /* NR_SOFTIRQS of the kernel, HI to RCU */
#define WEIR_SOFTIRQ_NET_RX 3
/*
 * Quarters of octaves from 256 ns on: step `i` begins at 2^(8 + i / 4) * (1 + i % 4 / 4) ns. The first has also what is
 * shorter, the last all from 14.7 ms on.
 */
#define WEIR_SOFTIRQ_STEPS 64
#define WEIR_SOFTIRQ_OCTAVE 8
#define WEIR_SOFTIRQ_LATE_STEP 48 /* 2^20 ns, 1.05 ms */
#define WEIR_SOFTIRQ_LONG_STEP 36 /* 2^17 ns, 131 us */
#define WEIR_SOFTIRQ_DEAR_NS 32768 /* of a long run, for each of its packets */
#define WEIR_SOFTIRQ_COMM 16 /* TASK_COMM_LEN */
#define WEIR_SOFTIRQ_NONE 0xffffffffu

/* Of one vector on one processor. */
struct weir_softirq_row {
	__u64 wait_most_ns, run_most_ns;
	__u64 dear; /* long runs of NET_RX that took few packets for their time */
	__u64 packets; /* that NAPI took in NET_RX */
	__u64 waited, ran; /* how many; `late` and `longer` of them: filled in when it is read */
	__u64 late, longer;
	__u32 behind; /* the vector that ran longest in the longest wait, for a quarter of it or more, or WEIR_SOFTIRQ_NONE */
	__u32 reserved;
	char wait_comm[WEIR_SOFTIRQ_COMM]; /* the task that was current when the longest wait ended */
	char run_comm[WEIR_SOFTIRQ_COMM]; /* and when the longest run ended */
	__u32 waits[WEIR_SOFTIRQ_STEPS], runs[WEIR_SOFTIRQ_STEPS];
};

#endif
