// SPDX-License-Identifier: Apache-2.0
/*
 * Capture of what the fast path forwards: its program at the tracepoint of XDP's redirects, with a link that ends with this
 * process, and the packets that it copied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/capture.h"
#include "weir_capture.skel.h"

struct weir_capture_run {
	struct weir_capture *object;
	struct ring_buffer *ring;
	struct weir_capture_counts *counts; /* of each processor */
	int cpus;
	uint8_t *out; /* of the read in progress */
	uint32_t used, capacity;
};

static uint32_t padded(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

static int take(void *context, void *data, size_t size)
{
	struct weir_capture_run *run = context;
	const struct weir_capture_packet *packet = data;
	uint32_t bytes = sizeof(*packet) + packet->kept;

	if (bytes > size)
		return -EPROTO;
	memcpy(run->out + run->used, data, bytes);
	run->used += padded(bytes);
	/* Whatever comes next has room, or this one is the last: a packet that was shown is not shown again. */
	return run->capacity - run->used < sizeof(*packet) + WEIR_CAPTURE_MOST ? -ENOSPC : 0;
}

static int write_constants(struct weir_capture *object, const struct weir_capture_spec *spec)
{
	struct bpf_map_info devices = {};
	uint32_t size = sizeof(devices);

	if (bpf_obj_get_info_by_fd(spec->devices_fd, &devices, &size))
		return -errno;
	object->rodata->capture_devices = devices.id;
	object->rodata->capture_ifindex = spec->ifindex;
	object->rodata->capture_bytes = padded(spec->packet_bytes + WEIR_CAPTURE_TAG);
	object->rodata->capture_family = spec->family;
	object->rodata->capture_port = spec->port;
	memcpy((void *)object->rodata->capture_protocols, spec->protocols, sizeof(spec->protocols));
	memcpy((void *)object->rodata->capture_network, spec->network, sizeof(spec->network));
	memcpy((void *)object->rodata->capture_mask, spec->mask, sizeof(spec->mask));
	return 0;
}

static int load(struct weir_capture_run *run, const struct weir_capture_spec *spec)
{
	int error;

	run->cpus = libbpf_num_possible_cpus();
	if (run->cpus < 0)
		return run->cpus;
	run->counts = calloc(run->cpus, sizeof(*run->counts));
	run->object = weir_capture__open();
	if (!run->counts || !run->object)
		return -errno;
	error = bpf_map__set_autocreate(run->object->maps.weir_port_counts, false);
	error = error ?: weir_object_use(run->object->obj, "weir_ports", spec->ports_fd);
	error = error ?: write_constants(run->object, spec);
	error = error ?: weir_capture__load(run->object);
	if (error)
		return error;
	run->ring = ring_buffer__new(bpf_map__fd(run->object->maps.capture_ring), take, run, NULL);
	return run->ring ? weir_capture__attach(run->object) : -errno;
}

int weir_capture_open(const struct weir_capture_spec *spec, struct weir_capture_run **out)
{
	uint32_t most = WEIR_CAPTURE_MOST - WEIR_CAPTURE_TAG;
	struct weir_capture_run *run;
	libbpf_print_fn_t before;
	int error;

	if (!spec->packet_bytes || spec->packet_bytes > most)
		return weir_fail(EINVAL, "a capture keeps 1 to %u bytes of a packet", most);
	run = calloc(1, sizeof(*run));
	if (!run)
		return weir_fail(ENOMEM, "no memory");
	before = libbpf_set_print(weir_silent);
	error = load(run, spec);
	libbpf_set_print(before);
	if (!error) {
		*out = run;
		return 0;
	}
	weir_capture_close(run);
	if (error == -EPERM || error == -ENOMEM)
		return weir_fail(-error, "the kernel refuses the program that copies them: %s",
				 strerror(-error));
	return weir_fail(EOPNOTSUPP,
			 "this kernel does not show what XDP has redirected (%s); it needs the tracepoint "
			 "xdp_redirect and types of its own (BTF)",
			 strerror(-error));
}

void weir_capture_close(struct weir_capture_run *run)
{
	ring_buffer__free(run->ring);
	weir_capture__destroy(run->object);
	free(run->counts);
	free(run);
}

void weir_capture_stop(struct weir_capture_run *run)
{
	weir_capture__detach(run->object);
}

int weir_capture_read(struct weir_capture_run *run, void *out, uint32_t capacity)
{
	int taken;

	if (capacity < sizeof(struct weir_capture_packet) + WEIR_CAPTURE_MOST)
		return weir_fail(EINVAL, "there is no room for a packet");
	run->out = out;
	run->used = 0;
	run->capacity = capacity;
	taken = ring_buffer__consume(run->ring);
	if (taken < 0 && taken != -ENOSPC)
		return weir_fail(-taken, "packets cannot be read: %s", strerror(-taken));
	return run->used;
}

int weir_capture_sums(struct weir_capture_run *run, struct weir_capture_sums *sums)
{
	uint32_t zero = 0;

	memset(sums, 0, sizeof(*sums));
	if (bpf_map_lookup_elem(bpf_map__fd(run->object->maps.capture_counts), &zero, run->counts))
		return weir_fail(errno, "counts cannot be read: %s", strerror(errno));
	for (int cpu = 0; cpu < run->cpus; cpu++) {
		sums->seen += run->counts[cpu].seen;
		sums->dropped += run->counts[cpu].dropped;
		sums->lost += run->counts[cpu].lost;
	}
	return 0;
}
