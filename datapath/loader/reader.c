// SPDX-License-Identifier: Apache-2.0
/* The iterator over all counters, for processes that only read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir_read.skel.h"

static int reader_load(struct weir *weir, struct weir_read *reader)
{
	uint32_t lines = weir_meta(weir)->slots * 2;
	int error;

	error = bpf_map__set_max_entries(reader->maps.weir_blocks,
					 (lines + WEIR_READ_LINES - 1) / WEIR_READ_LINES);
	reader->rodata->weir_line_count = lines;
	error = error ?: weir_object_use(reader->obj, "weir_lines", weir->map_fd[WEIR_MAP_LINES]);
	error = error ?: bpf_map__reuse_fd(reader->maps.weir_details, weir->map_fd[WEIR_MAP_DETAILS]);
	error = error ?: bpf_map__reuse_fd(reader->maps.weir_waits, weir->map_fd[WEIR_MAP_WAITS]);
	return error ?: bpf_object__load(reader->obj);
}

/* The link holds program and maps; nothing of the object is needed any more. */
static int reader_attach(struct weir_read *reader)
{
	union bpf_iter_link_info over = { .map.map_fd = bpf_map__fd(reader->maps.weir_blocks) };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &over, .link_info_len = sizeof(over));
	struct bpf_link *link = bpf_program__attach_iter(reader->progs.weir_read, &options);
	int fd;

	if (!link)
		return -errno;
	fd = fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 0);
	fd = fd < 0 ? -errno : fd;
	bpf_link__destroy(link);
	return fd;
}

int weir_reader_fd(struct weir *weir)
{
	libbpf_print_fn_t before = libbpf_set_print(weir_silent);
	struct weir_read *reader = weir_read__open();
	int result = reader ? reader_load(weir, reader) ?: reader_attach(reader) : -errno;

	weir_read__destroy(reader);
	libbpf_set_print(before);
	return result < 0 ?
		       weir_fail(-result, "counters cannot be read by an iterator: %s", strerror(-result)) :
		       result;
}
