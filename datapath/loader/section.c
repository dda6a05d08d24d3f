// SPDX-License-Identifier: Apache-2.0
/*
 * Programs address a table whose map has one element without a lookup, where it is a section of data to them (bpf/table.h). A
 * section there holds one row, whatever the table's size.
 */
#define _GNU_SOURCE /* dup3 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

/*
 * libbpf keeps memory of the section's size, and at the end frees as much as the map that it was told of holds: what lies
 * behind would go as well (1.1). So it is told of a stand-in of the section's size, whose descriptor then becomes the table's.
 */
static int use_section(struct bpf_map *section, int fd)
{
	int stand_in = bpf_map_create(BPF_MAP_TYPE_ARRAY, "weir_stand_in", sizeof(uint32_t),
				      bpf_map__value_size(section), 1, NULL);
	int error = stand_in < 0 ? stand_in : bpf_map__reuse_fd(section, stand_in);

	if (stand_in >= 0)
		close(stand_in);
	if (!error && dup3(fd, bpf_map__fd(section), O_CLOEXEC) < 0)
		error = -errno;
	return error;
}

int weir_object_use(struct bpf_object *object, const char *name, int fd)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name), *section;
	char section_name[32];

	if (map)
		return bpf_map__reuse_fd(map, fd);
	snprintf(section_name, sizeof(section_name), ".data.%s", name);
	section = bpf_object__find_map_by_name(object, section_name);
	return section ? use_section(section, fd) : 0;
}
