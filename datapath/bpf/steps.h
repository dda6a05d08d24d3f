/* SPDX-License-Identifier: GPL-2.0-only */
/* Times by quarters of octaves: 64 steps from 256 ns on (weir/softirq.h). */
#ifndef WEIR_STEPS_H
#define WEIR_STEPS_H

#include <linux/types.h>

#include "weir/softirq.h"

#define STEPS_ALL_ONES 0xffffffffull

static __always_inline __u32 step_of(__u64 ns)
{
	__u32 rest = ns > STEPS_ALL_ONES ? STEPS_ALL_ONES : ns, octave = 0, step;

	if (rest < 1 << WEIR_SOFTIRQ_OCTAVE)
		return 0;
	for (__u32 bits = 16; bits; bits /= 2) {
		if (rest >> (octave + bits))
			octave += bits;
	}
	step = (octave - WEIR_SOFTIRQ_OCTAVE) * 4 + (rest >> (octave - 2) & 3);
	return step < WEIR_SOFTIRQ_STEPS ? step : WEIR_SOFTIRQ_STEPS - 1;
}

#endif
