// SPDX-License-Identifier: GPL-2.0-only
/* datapath/bpf/clock.h compiled for the host, so that a test can say what time it is, and on which CPU. */
#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define __always_inline inline __attribute__((always_inline))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_F_MMAPABLE 1024

#define LINES 4096
#define WEIR_SECTION_ROWS LINES
#define CPUS 64

static void *element(const void *map, const __u32 *index);
#define bpf_map_lookup_elem(map, key) element(map, key)

#include "../bpf/clock.h"

static struct weir_quantum quanta[CPUS][WEIR_QUANTA];
static __u32 current_cpu;

static void *element(const void *map, const __u32 *index)
{
	return map == &weir_quanta ? &quanta[current_cpu][*index] : NULL;
}

/* All lines free and nothing prepaid. */
void shim_reset(void)
{
	for (int line = 0; line < LINES; line++)
		weir_lines[line] = (struct weir_line){};
	for (int cpu = 0; cpu < CPUS; cpu++)
		for (int place = 0; place < WEIR_QUANTA; place++)
			quanta[cpu][place] = (struct weir_quantum){};
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
	enum weir_conformance conformance = weir_enter(&weir_lines[line], &pace);

	if (conformance == WEIR_CONFORMS)
		*departure_tk = pace.departure_tk;
	return conformance;
}

void shim_refund(__u32 line, __u32 bytes)
{
	weir_refund(line, bytes);
}
