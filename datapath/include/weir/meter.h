/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* What lookups of the kernel cost: between programs and the process that runs them. */
#ifndef WEIR_METER_H
#define WEIR_METER_H

#include <linux/types.h>

/* What a program is to do in this run. */
enum weir_meter_mode {
	WEIR_METER_NOTHING, /* all but the lookup */
	WEIR_METER_FIXED, /* one destination */
	WEIR_METER_RANDOM,
};

#define WEIR_METER_RESULTS 16 /* of bpf_fib_lookup: 0 found, 5 the interface does not forward */
#define WEIR_METER_NOT_FORWARDING 5 /* BPF_FIB_LKUP_RET_FWD_DISABLED */

/* An address as packets have it; of IPv4 in the first word. */
struct weir_meter_end {
	__u32 address[4];
	__be16 port;
	__u16 family; /* 4 or 6 */
};

#endif
