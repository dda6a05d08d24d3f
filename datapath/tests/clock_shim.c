// SPDX-License-Identifier: GPL-2.0-only
/* datapath/bpf/clock.h compiled for the host, so that a test can say what time it is. */
#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define __always_inline inline __attribute__((always_inline))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_F_MMAPABLE 1024

#define LINES 64

static void *line_at(const void *map, const __u32 *index);
#define bpf_map_lookup_elem(map, key) line_at(map, key)

#include "../bpf/clock.h"

static struct weir_line table[LINES];

static void *line_at(const void *map, const __u32 *index)
{
	(void)map;
	return *index < LINES ? &table[*index] : NULL;
}

struct weir_line *shim_table(void)
{
	return table;
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
	enum weir_conformance conformance = weir_conforms(line, &pace);

	if (conformance == WEIR_CONFORMS)
		*departure_tk = weir_charge(line, &pace);
	return conformance;
}
