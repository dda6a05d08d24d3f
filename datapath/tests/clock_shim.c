// SPDX-License-Identifier: GPL-2.0-only
/* datapath/bpf/clock.h compiled for the host, so that a test can say what time it is, and on which CPU. */
#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_F_MMAPABLE 1024

#define LINES 4096
#define CPUS 64
#define WEIR_SECTION_CPUS CPUS
#define WEIR_SECTION_ROWS (CPUS * 1024) /* WEIR_QUANTA */

static __u32 current_cpu;
#define bpf_get_smp_processor_id() current_cpu

#include "../bpf/pass.h"

/* All lines free and nothing prepaid. */
void shim_reset(void)
{
	for (int line = 0; line < LINES; line++)
		weir_lines[line] = (struct weir_line){};
	for (int row = 0; row < CPUS * WEIR_QUANTA; row++)
		weir_quanta[row] = (struct weir_quantum){};
}

void shim_cpu(__u32 cpu)
{
	current_cpu = cpu % CPUS;
}

/* What all CPUs have charged to a line and not used. */
__u64 shim_prepaid_tk(__u32 line)
{
	__u64 sum = 0;

	for (current_cpu = 0; current_cpu < CPUS; current_cpu++)
		if (weir_owns(weir_quantum(line), &weir_lines[line], line))
			sum += weir_quantum(line)->left_tk;
	current_cpu = 0;
	return sum;
}

struct weir_line *shim_table(void)
{
	return weir_lines;
}

/* 0 and the departure, or the enum weir_conformance of a drop. */
int shim_packet(__u32 line, __u64 now_tk, __u32 bytes, __u32 burst_min, int police, __u64 *departure_tk)
{
	struct weir_pace pace = {
		.now_tk = now_tk,
		.limit_mask = police ? 0 : ~0ULL,
		.burst_min = burst_min,
		.bytes = bytes,
	};
	enum weir_conformance conformance = WEIR_CONFORMS;
	__u64 passed = weir_pass(&weir_lines[line], weir_quanta_here(), now_tk, bytes, burst_min);

	pace.departure_tk = now_tk;
	if (passed != WEIR_PASSED)
		conformance = weir_enter_rest(&weir_lines[line], weir_climb_of(passed), &pace);
	if (conformance == WEIR_CONFORMS)
		*departure_tk = pace.departure_tk;
	return conformance;
}

void shim_refund(__u32 line, __u32 bytes)
{
	weir_refund(line, bytes);
}
