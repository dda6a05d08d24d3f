// SPDX-License-Identifier: Apache-2.0
/* What each map is like: its type, its rows and how many there are. */
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

static uint32_t row_size(enum weir_map map)
{
	switch (map) {
	case WEIR_MAP_LINES:
		return sizeof(struct weir_line);
	case WEIR_MAP_DETAILS:
		return sizeof(struct weir_detail);
	case WEIR_MAP_PREFIX4:
	case WEIR_MAP_PREFIX6:
		return sizeof(struct weir_prefix);
	case WEIR_MAP_V4:
		return sizeof(struct weir_v4_unit);
	case WEIR_MAP_PORTS:
		return sizeof(struct weir_port);
	case WEIR_MAP_PORT_COUNTERS:
		return sizeof(struct weir_port_counters);
	case WEIR_MAP_DEVICES:
	case WEIR_MAP_UP:
		return sizeof(uint32_t);
	case WEIR_MAP_FAR:
		return sizeof(struct weir_far);
	case WEIR_MAP_QUANTA:
		return sizeof(struct weir_quantum);
	case WEIR_MAP_WAITS:
		return sizeof(struct weir_backlog);
	case WEIR_MAP_FLOWS:
		return sizeof(struct weir_flow_clock);
	case WEIR_MAP_SUBQUEUES:
		return sizeof(struct weir_subqueues);
	case WEIR_MAP_HOSTS:
		return sizeof(struct weir_host);
	case WEIR_MAP_TRIPS:
		return sizeof(struct weir_round_trips);
	case WEIR_MAP_LOSSES:
		return sizeof(struct weir_losses);
	case WEIR_MAP_HOST_NAMES:
		return sizeof(struct weir_host_name);
	case WEIR_MAP_SOURCES:
		return sizeof(struct weir_sources);
	case WEIR_MAP_USED:
		return sizeof(struct weir_used);
	case WEIR_MAP_CHECKS:
		return sizeof(struct weir_check_counters);
	case WEIR_MAP_BOUNDED:
		return sizeof(struct weir_bounded);
	case WEIR_MAP_HOPS:
		return sizeof(struct weir_hop);
	case WEIR_MAP_HOP_STATE:
		return sizeof(struct weir_hop_state);
	case WEIR_MAP_REGIONS:
		return sizeof(uint16_t);
	default:
		return sizeof(struct weir_meta);
	}
}

uint32_t weir_cpu_rows(void)
{
	int cpus = libbpf_num_possible_cpus();
	uint32_t rows = 1;

	while ((int)rows < cpus)
		rows *= 2;
	return rows;
}

static uint32_t row_count(enum weir_map map, const struct weir_meta *meta)
{
	switch (map) {
	case WEIR_MAP_LINES:
	case WEIR_MAP_DETAILS:
	case WEIR_MAP_WAITS:
		return meta->slots * 2;
	case WEIR_MAP_FLOWS:
	case WEIR_MAP_HOSTS:
		return meta->flows;
	case WEIR_MAP_SUBQUEUES:
		return meta->subqueues;
	case WEIR_MAP_PREFIX4:
	case WEIR_MAP_PREFIX6:
		return meta->prefix_entries;
	case WEIR_MAP_FAR:
		return meta->prefixes;
	case WEIR_MAP_V4:
		return meta->v4_units;
	case WEIR_MAP_PORTS:
	case WEIR_MAP_PORT_COUNTERS:
	case WEIR_MAP_CHECKS:
	case WEIR_MAP_DEVICES:
		return WEIR_PORTS;
	case WEIR_MAP_UP:
		return WEIR_UP_STAMPS;
	case WEIR_MAP_TRIPS:
		return WEIR_ROUND_TRIP_ROWS;
	case WEIR_MAP_LOSSES:
		return WEIR_LOSS_ROWS;
	case WEIR_MAP_HOST_NAMES:
		return WEIR_HOST_NAMES;
	case WEIR_MAP_QUANTA:
		return WEIR_QUANTA * weir_cpu_rows();
	case WEIR_MAP_BOUNDED:
		return WEIR_BOUNDED_MAX;
	case WEIR_MAP_HOPS:
		return weir_hop_count();
	case WEIR_MAP_REGIONS:
		return WEIR_REGIONS;
	default:
		return 1;
	}
}

/* The only element is the whole table, so that programs know its address (bpf/table.h). */
static bool is_table(enum weir_map map)
{
	return map == WEIR_MAP_LINES || map == WEIR_MAP_V4 || map == WEIR_MAP_PORTS || map == WEIR_MAP_UP ||
	       map == WEIR_MAP_HOPS || map == WEIR_MAP_REGIONS || map == WEIR_MAP_QUANTA;
}

uint32_t weir_map_value_size(enum weir_map map, const struct weir_meta *meta)
{
	return row_size(map) * (is_table(map) ? row_count(map, meta) : 1);
}

uint32_t weir_map_entry_count(enum weir_map map, const struct weir_meta *meta)
{
	return is_table(map) ? 1 : row_count(map, meta);
}

static enum bpf_map_type map_type(enum weir_map map)
{
	if (map == WEIR_MAP_PORT_COUNTERS)
		return BPF_MAP_TYPE_PERCPU_ARRAY;
	if (map == WEIR_MAP_CHECKS)
		return BPF_MAP_TYPE_PERCPU_HASH;
	if (map == WEIR_MAP_FAR || map == WEIR_MAP_BOUNDED)
		return BPF_MAP_TYPE_LPM_TRIE;
	return map == WEIR_MAP_DEVICES ? BPF_MAP_TYPE_DEVMAP : BPF_MAP_TYPE_ARRAY;
}

static uint32_t key_size(enum weir_map map)
{
	if (map == WEIR_MAP_FAR)
		return sizeof(struct weir_far_key);
	return map == WEIR_MAP_BOUNDED ? sizeof(struct weir_bounded_key) : sizeof(uint32_t);
}

bool weir_map_is_mappable(enum weir_map map)
{
	return map_type(map) == BPF_MAP_TYPE_ARRAY;
}

int weir_map_create(enum weir_map map, const struct weir_meta *meta)
{
	LIBBPF_OPTS(bpf_map_create_opts, options,
		    .map_flags = weir_map_is_mappable(map) ? BPF_F_MMAPABLE : 0);
	int fd;

	if (map_type(map) == BPF_MAP_TYPE_LPM_TRIE || map == WEIR_MAP_CHECKS)
		options.map_flags = BPF_F_NO_PREALLOC;
	fd = bpf_map_create(map_type(map), weir_map_names[map], key_size(map), weir_map_value_size(map, meta),
			    weir_map_entry_count(map, meta), &options);
	if (fd < 0)
		return weir_fail(-fd, "the kernel refuses map %s with %u rows: %s", weir_map_names[map],
				 row_count(map, meta), strerror(-fd));
	return fd;
}
