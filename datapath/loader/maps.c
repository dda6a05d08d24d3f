// SPDX-License-Identifier: Apache-2.0
/*
 * The maps: made once, pinned, and taken over by every later loader of the same ABI. The loader makes
 * them itself, so that programs of any build can be loaded onto them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "internal.h"

#define BPF_FS_MAGIC 0xcafe4a11
#define DEFAULT_SLOTS 131072

const char *const weir_map_names[WEIR_MAPS] = {
	[WEIR_MAP_LINES] = "weir_lines",
	[WEIR_MAP_DETAILS] = "weir_details",
	[WEIR_MAP_PREFIX4] = "weir_prefix4",
	[WEIR_MAP_PREFIX6] = "weir_prefix6",
	[WEIR_MAP_V4] = "weir_v4",
	[WEIR_MAP_PORTS] = "weir_ports",
	[WEIR_MAP_PORT_COUNTERS] = "weir_port_counts", /* 15 characters at most */
	[WEIR_MAP_DEVICES] = "weir_devices",
	[WEIR_MAP_UP] = "weir_up",
	[WEIR_MAP_QUANTA] = "weir_quanta",
	[WEIR_MAP_WAITS] = "weir_waits",
	[WEIR_MAP_FLOWS] = "weir_flows",
	[WEIR_MAP_SUBQUEUES] = "weir_subqueues",
	[WEIR_MAP_HOSTS] = "weir_hosts",
	[WEIR_MAP_FAR] = "weir_far",
	[WEIR_MAP_TRIPS] = "weir_trips",
	[WEIR_MAP_LOSSES] = "weir_losses",
	[WEIR_MAP_HOST_NAMES] = "weir_host_names",
	[WEIR_MAP_SOURCES] = "weir_sources",
	[WEIR_MAP_USED] = "weir_used",
	[WEIR_MAP_CHECKS] = "weir_checks",
	[WEIR_MAP_BOUNDED] = "weir_bounded",
	[WEIR_MAP_HOPS] = "weir_hops",
	[WEIR_MAP_HOP_STATE] = "weir_hop_state",
	[WEIR_MAP_REGIONS] = "weir_regions",
	[WEIR_MAP_META] = "weir_meta",
};

int weir_pin_path(const struct weir *weir, const char *name, char *path, size_t size)
{
	int length = snprintf(path, size, "%s/%s", weir->pin_dir, name);

	if (length < 0 || (size_t)length >= size)
		return weir_fail(ENAMETOOLONG, "the pin folder's name is too long: %s", weir->pin_dir);
	return 0;
}

void weir_unpin(const struct weir *weir, const char *name)
{
	char path[512];

	if (weir->pin_dir && !weir_pin_path(weir, name, path, sizeof(path)))
		unlink(path);
}

/* What a new set of maps is to hold. */
static int plan_meta(const struct weir_options *options, struct weir_meta *meta)
{
	uint32_t slots = options->slots ?: DEFAULT_SLOTS, prefixes = options->prefixes ?: slots;
	uint32_t domains = options->domains ?: 1;

	if (slots < 2 || slots > WEIR_MAX_SLOTS)
		return weir_fail(EINVAL, "a capacity of %u classes is not between 2 and %u", slots,
				 WEIR_MAX_SLOTS);
	if (prefixes > 1U << 24 || domains > 4096 || options->v4_units > WEIR_V4_UNIT / 2)
		return weir_fail(EINVAL, "a capacity of %u prefixes in %u domains is too much", prefixes,
				 domains);
	*meta = (struct weir_meta){
		.abi = WEIR_ABI,
		.slots = slots,
		.prefix_entries = 64,
		.domains = domains,
		.prefixes = prefixes,
	};
	while (meta->prefix_entries < prefixes * 2)
		meta->prefix_entries *= 2;
	meta->subqueues = 1024 + slots / 8;
	/* Flows of classes with a backlog, and hosts of classes with sub-queues: few at a time. */
	meta->flows = 1024;
	while (meta->flows < slots / 2 && meta->flows < WEIR_HOSTS_MAX)
		meta->flows *= 2;
	meta->v4_units = domains * WEIR_V4_ROOT_UNITS + (options->v4_units ?: prefixes * 2 + 1024);
	return 0;
}

/* What the loader looks into; the programs alone use the others. */
static bool is_mapped(enum weir_map map)
{
	return weir_map_is_mappable(map) && map != WEIR_MAP_UP && map != WEIR_MAP_HOPS &&
	       map != WEIR_MAP_QUANTA && map != WEIR_MAP_WAITS && map != WEIR_MAP_FLOWS;
}

static int map_memory(struct weir *weir, enum weir_map map, const struct weir_meta *meta)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)weir_map_value_size(map, meta) * weir_map_entry_count(map, meta);
	void *memory;

	bytes = (bytes + page - 1) / page * page;
	weir->map_bytes[map] = bytes;
	if (!is_mapped(map))
		return 0;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, weir->map_fd[map], 0);
	if (memory == MAP_FAILED)
		return weir_fail(errno, "map %s cannot be mapped: %s", weir_map_names[map], strerror(errno));
	weir->map[map] = memory;
	return 0;
}

static int make_map(struct weir *weir, enum weir_map map, const struct weir_meta *meta)
{
	int error;

	weir->map_fd[map] = weir_map_create(map, meta);
	error = weir->map_fd[map] < 0 ? weir->map_fd[map] : map_memory(weir, map, meta);
	if (map == WEIR_MAP_SOURCES && !error) /* any may be the router's until somebody tells */
		memset(weir->map[map], 0xff, sizeof(struct weir_sources));
	return error;
}

static int pin_map(struct weir *weir, enum weir_map map)
{
	char path[512];
	int error = weir_pin_path(weir, weir_map_names[map], path, sizeof(path));

	if (error)
		return error;
	unlink(path); /* of a creation that was cut off before weir_meta */
	error = bpf_obj_pin(weir->map_fd[map], path);
	return error ? weir_fail(errno, "%s cannot be pinned: %s", path, strerror(errno)) : 0;
}

static int create_maps(struct weir *weir, const struct weir_options *options)
{
	struct weir_meta meta;
	int error = plan_meta(options, &meta);

	for (enum weir_map map = 0; map < WEIR_MAPS && !error; map++) {
		error = make_map(weir, map, &meta);
		if (map == WEIR_MAP_META && !error)
			*weir_meta(weir) = meta;
		if (weir->pin_dir && !error)
			error = pin_map(weir, map);
	}
	return error;
}

/* The pinned weir_meta says how large the others are; check that they are so. */
static int check_map(const struct weir *weir, enum weir_map map, const struct weir_meta *meta)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(weir->map_fd[map], &info, &size))
		return weir_fail(errno, "no information on map %s: %s", weir_map_names[map], strerror(errno));
	if (info.value_size != weir_map_value_size(map, meta) ||
	    (meta && info.max_entries != weir_map_entry_count(map, meta)))
		return weir_fail(EPROTO, "the pinned map %s/%s is of another version or size", weir->pin_dir,
				 weir_map_names[map]);
	return 0;
}

static int take_map(struct weir *weir, enum weir_map map, const struct weir_meta *meta)
{
	char path[512];
	int error = weir_pin_path(weir, weir_map_names[map], path, sizeof(path));

	if (error)
		return error;
	weir->map_fd[map] = bpf_obj_get(path);
	if (weir->map_fd[map] < 0)
		return weir_fail(errno, "%s cannot be opened: %s", path, strerror(errno));
	error = check_map(weir, map, meta);
	return error ?: map_memory(weir, map, meta);
}

/* Some came after the ABI: an older build has pinned all maps but these. */
static bool is_missing(const struct weir *weir, enum weir_map map)
{
	char path[512];

	return map >= WEIR_MAP_TRIPS && map < WEIR_MAP_META &&
	       !weir_pin_path(weir, weir_map_names[map], path, sizeof(path)) && access(path, F_OK);
}

static int take_maps(struct weir *weir)
{
	const struct weir_meta *meta;
	int error = take_map(weir, WEIR_MAP_META, NULL);

	if (error)
		return error;
	meta = weir_meta(weir);
	if (meta->abi != WEIR_ABI)
		return weir_fail(EPROTO, "the maps pinned in %s are of ABI %u, this build needs %u",
				 weir->pin_dir, meta->abi, WEIR_ABI);
	for (enum weir_map map = 0; map < WEIR_MAP_META && !error; map++)
		error = is_missing(weir, map) ? make_map(weir, map, meta) ?: pin_map(weir, map) :
						take_map(weir, map, meta);
	return error;
}

/* The pin folder: on a bpffs, and ours alone while we are open. */
static int lock_pins(struct weir *weir)
{
	struct statfs where;

	if (mkdir(weir->pin_dir, 0700) && errno != EEXIST)
		return weir_fail(errno, "%s cannot be made: %s", weir->pin_dir, strerror(errno));
	if (statfs(weir->pin_dir, &where) || where.f_type != BPF_FS_MAGIC)
		return weir_fail(EINVAL, "%s is not on a BPF file system", weir->pin_dir);
	if (weir->lock_fd >= 0) /* of the folder that was here before */
		close(weir->lock_fd);
	weir->lock_fd = open(weir->pin_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (weir->lock_fd < 0 || flock(weir->lock_fd, LOCK_EX | LOCK_NB))
		return weir_fail(errno == EWOULDBLOCK ? EBUSY : errno, "%s is in use by another process",
				 weir->pin_dir);
	return 0;
}

int weir_pins_mend(struct weir *weir, uint32_t *mended)
{
	int error = access(weir->pin_dir, F_OK) ? lock_pins(weir) : 0;

	for (enum weir_map map = 0; map < WEIR_MAPS && !error; map++) {
		char path[512];

		error = weir_pin_path(weir, weir_map_names[map], path, sizeof(path));
		if (error || !access(path, F_OK))
			continue;
		error = pin_map(weir, map);
		*mended += !error;
	}
	return error;
}

int weir_maps_open(struct weir *weir, const struct weir_options *options, bool *reused)
{
	char path[512];
	int error;

	*reused = false;
	if (weir->pin_dir) {
		error = lock_pins(weir) ?:
				weir_pin_path(weir, weir_map_names[WEIR_MAP_META], path, sizeof(path));
		if (error)
			return error;
		*reused = access(path, F_OK) == 0;
	}
	return *reused ? take_maps(weir) : create_maps(weir, options);
}

void weir_maps_close(struct weir *weir)
{
	for (enum weir_map map = 0; map < WEIR_MAPS; map++) {
		if (weir->map[map])
			munmap(weir->map[map], weir->map_bytes[map]);
		if (weir->map_fd[map] >= 0)
			close(weir->map_fd[map]);
	}
	if (weir->lock_fd >= 0)
		close(weir->lock_fd);
}

int weir_map_fd(struct weir *weir, const char *name, int readonly)
{
	LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = BPF_F_RDONLY);
	char path[512];
	int fd;

	for (enum weir_map map = 0; map < WEIR_MAPS; map++) {
		if (strcmp(name, weir_map_names[map]))
			continue;
		if (!readonly) {
			fd = fcntl(weir->map_fd[map], F_DUPFD_CLOEXEC, 0);
		} else if (weir->pin_dir) {
			fd = weir_pin_path(weir, name, path, sizeof(path));
			fd = fd ?: bpf_obj_get_opts(path, &options);
		} else {
			return weir_fail(EINVAL, "a read-only descriptor of %s needs a pin folder", name);
		}
		return fd >= 0 ? fd : weir_fail(errno, "no descriptor of %s: %s", name, strerror(errno));
	}
	return weir_fail(ENOENT, "there is no map %s", name);
}

int weir_usage(struct weir *weir, struct weir_usage *out)
{
	const struct weir_meta *meta = weir_meta(weir);
	const struct weir_detail *details = weir_details(weir);

	*out = (struct weir_usage){
		.slots = meta->slots,
		.prefixes = meta->prefixes,
		.prefixes4_used = weir->table[0].live,
		.prefixes6_used = weir->table[1].live,
		.v4_units = meta->v4_units,
		.v4_units_used = weir->tree.used,
		.v6_lengths = WEIR_V6_LENGTHS,
		.flow_lookup = meta->flow_lookup,
		.subqueues = meta->subqueues - 1,
		.subqueues_used = weir->subqueues_used,
		.hosts = meta->flows,
		.hosts_used = weir_hosts_busy(weir),
		.v6_lengths_used = meta->lengths[meta->lengths_active].count,
	};
	for (uint32_t slot = 1; slot < meta->slots; slot++)
		out->slots_used += details[slot * 2].key != 0;
	for (enum weir_map map = 0; map < WEIR_MAPS; map++)
		out->kernel_bytes += weir->map_bytes[map];
	return 0;
}
