/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* How long processors spin for locks: between programs and the process that reads them. */
#ifndef WEIR_LOCK_H
#define WEIR_LOCK_H

#include <linux/types.h>

#include "weir/softirq.h"

#define WEIR_LOCK_KINDS 3 /* spin lock; read side and write side of a lock for readers and writers */
#define WEIR_LOCK_TAKES 1000 /* of one run of the program that takes a lock to see whether waits are told */

/* Of one kind on one processor. `waits` is by the steps of weir/softirq.h. */
struct weir_lock_row {
	__u64 waited, wait_ns, wait_most_ns;
	__u32 waits[WEIR_SOFTIRQ_STEPS];
};

#endif
