// SPDX-License-Identifier: Apache-2.0
/*
 * Torch: its programs on tcx and at the tracepoint of XDP's redirects, with links that end with this process, and what they
 * counted. Debian 12's libbpf knows no tcx, so those links are made by the system call.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/torch.h"
#include "weir_torch.skel.h"

#define TCX_INGRESS 46 /* enum bpf_attach_type, Linux 6.6 */
#define TCX_EGRESS 47
#define BATCH 1024

struct weir_torch_run {
	struct weir_torch *torch;
	int links[2 * WEIR_PORTS];
	uint32_t link_count;
	int cpus;
	char unseen[160];
};

static int use_maps(struct weir_torch *torch, const struct weir_torch_spec *spec)
{
	uint32_t words = spec->slot_words ? spec->slot_words : 1;
	int error = bpf_map__set_max_entries(torch->maps.torch_slots, words);

	error = error ?: bpf_map__set_autocreate(torch->maps.weir_port_counts, false);
	error = error ?: weir_object_use(torch->obj, "weir_ports", spec->ports_fd);
	error = error ?: weir_object_use(torch->obj, "weir_v4", spec->v4_fd);
	error = error ?: bpf_map__reuse_fd(torch->maps.weir_prefix6, spec->prefix6_fd);
	return error ?: bpf_map__reuse_fd(torch->maps.weir_meta, spec->meta_fd);
}

/* By which map the fast path redirects, and how large the tables of prefixes are. */
static int read_maps(struct weir_torch *torch, const struct weir_torch_spec *spec)
{
	struct bpf_map_info devices = {}, prefixes = {}, v4 = {};
	uint32_t size = sizeof(devices);

	if (bpf_obj_get_info_by_fd(spec->devices_fd, &devices, &size))
		return -errno;
	size = sizeof(prefixes);
	if (bpf_obj_get_info_by_fd(spec->prefix6_fd, &prefixes, &size))
		return -errno;
	size = sizeof(v4);
	if (bpf_obj_get_info_by_fd(spec->v4_fd, &v4, &size))
		return -errno;
	torch->rodata->weir_v4_units = v4.value_size / sizeof(struct weir_v4_unit);
	torch->rodata->weir_v4_words = torch->rodata->weir_v4_units * WEIR_V4_UNIT_WORDS;
	torch->rodata->torch_devices = devices.id;
	torch->rodata->torch_ifindex = spec->slot_words ? 0 : spec->ifindexes[0];
	torch->rodata->weir_prefix_mask = prefixes.max_entries - 1;
	return 0;
}

static int load(struct weir_torch_run *run, const struct weir_torch_spec *spec, bool fast)
{
	int error;

	run->torch = weir_torch__open();
	if (!run->torch)
		return -errno;
	error = use_maps(run->torch, spec) ?: read_maps(run->torch, spec);
	if (!fast)
		bpf_program__set_autoload(run->torch->progs.torch_fast, false);
	error = error ?: weir_torch__load(run->torch);
	if (error) {
		weir_torch__destroy(run->torch);
		run->torch = NULL;
	}
	return error;
}

static int attach_tcx(struct weir_torch_run *run, uint32_t ifindex, const struct bpf_program *program,
		      uint32_t type)
{
	struct {
		uint32_t program_fd, ifindex, attach_type, flags;
		uint64_t rest[6];
	} attr = { .program_fd = bpf_program__fd(program), .ifindex = ifindex, .attach_type = type };
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return errno == EINVAL ? weir_fail(EOPNOTSUPP, "this kernel has no tcx (Linux 6.6), by which "
							       "packets are seen without being held up") :
					 weir_fail(errno, "packets of interface %u cannot be seen: %s",
						   ifindex, strerror(errno));
	run->links[run->link_count++] = fd;
	return 0;
}

static int write_slots(struct weir_torch_run *run, const struct weir_torch_spec *spec)
{
	int fd = bpf_map__fd(run->torch->maps.torch_slots);

	for (uint32_t word = 0; word < spec->slot_words; word++)
		if (spec->slots[word] && bpf_map_update_elem(fd, &word, &spec->slots[word], BPF_ANY))
			return weir_fail(errno, "the classes cannot be written: %s", strerror(errno));
	return 0;
}

int weir_torch_watch_fast(struct weir_torch_run *run, int on)
{
	struct bpf_link **link = &run->torch->links.torch_fast;

	if (run->unseen[0] || !on == !*link)
		return 0;
	if (on) {
		*link = bpf_program__attach(run->torch->progs.torch_fast);
		return *link ? 0 : weir_fail(errno, "the tracepoint cannot be used: %s", strerror(errno));
	}
	bpf_link__destroy(*link);
	*link = NULL;
	return 0;
}

static int begin(struct weir_torch_run *run, const struct weir_torch_spec *spec)
{
	int error = load(run, spec, true);

	if (error) {
		snprintf(run->unseen, sizeof(run->unseen), "%s", strerror(-error));
		error = load(run, spec, false);
	}
	if (error)
		return weir_fail(-error, "the kernel refuses torch's programs: %s", strerror(-error));
	error = write_slots(run, spec);
	for (uint32_t at = 0; at < spec->ifindex_count && !error; at++) {
		error = attach_tcx(run, spec->ifindexes[at], run->torch->progs.torch_ingress, TCX_INGRESS);
		error = error ?:
				attach_tcx(run, spec->ifindexes[at], run->torch->progs.torch_egress,
					   TCX_EGRESS);
	}
	if (!error && weir_torch_watch_fast(run, true)) /* the rest is seen all the same */
		snprintf(run->unseen, sizeof(run->unseen), "%s", weir_error());
	return error;
}

int weir_torch_open(const struct weir_torch_spec *spec, struct weir_torch_run **out)
{
	struct weir_torch_run *run;
	libbpf_print_fn_t before;
	int error;

	if (!spec->ifindex_count || spec->ifindex_count > WEIR_PORTS)
		return weir_fail(EINVAL, "torch looks at 1 to %u interfaces", WEIR_PORTS);
	run = calloc(1, sizeof(*run));
	if (!run)
		return weir_fail(ENOMEM, "no memory");
	before = libbpf_set_print(weir_silent);
	run->cpus = libbpf_num_possible_cpus();
	error = run->cpus < 0 ? weir_fail(-run->cpus, "processors cannot be counted") : begin(run, spec);
	libbpf_set_print(before);
	if (error) {
		weir_torch_close(run);
		return error;
	}
	*out = run;
	return 0;
}

void weir_torch_close(struct weir_torch_run *run)
{
	for (uint32_t at = 0; at < run->link_count; at++)
		close(run->links[at]);
	weir_torch__destroy(run->torch);
	free(run);
}

const char *weir_torch_unseen(struct weir_torch_run *run)
{
	return run->unseen;
}

/* From the first packet of this period to the last one, on whatever processors they were. */
static uint64_t watched_ns(const struct weir_torch_run *run, const struct weir_torch_state *states)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (int cpu = 0; cpu < run->cpus; cpu++) {
		const struct weir_torch_state *state = &states[cpu];

		if (!state->passed || state->fast.period != run->torch->bss->torch_period)
			continue;
		first = state->first_ns < first ? state->first_ns : first;
		last = state->last_ns > last ? state->last_ns : last;
	}
	return last > first ? last - first : 0;
}

static int read_sums(struct weir_torch_run *run, struct weir_torch_sums *sums)
{
	struct weir_torch_state *states = calloc(run->cpus, sizeof(*states));
	uint32_t zero = 0;
	int error = states ? 0 : -ENOMEM;

	memset(sums, 0, sizeof(*sums));
	if (!error && bpf_map_lookup_elem(bpf_map__fd(run->torch->maps.torch_states), &zero, states))
		error = -errno;
	for (int cpu = 0; cpu < run->cpus && !error; cpu++) {
		const struct weir_torch_counts *all = &states[cpu].all;

		sums->estimated += states[cpu].estimated;
		sums->passed += states[cpu].passed;
		sums->bytes += all->stack.bytes;
		sums->packets += all->stack.packets;
		sums->fast_bytes += all->fast.bytes;
		sums->fast_packets += all->fast.packets;
	}
	if (!error)
		sums->watched_ns = watched_ns(run, states);
	free(states);
	return error;
}

/* Flows come and go meanwhile, so one may be read twice or not at all; a read is repeated by the next one. */
static int read_flows(struct weir_torch_run *run, struct weir_torch_flow *out, uint32_t capacity)
{
	static _Thread_local struct weir_torch_key keys[BATCH];
	static _Thread_local struct weir_torch_counts counts[BATCH];
	uint32_t position = 0, total = 0;
	bool first = true, last = false;

	while (!last) {
		uint32_t count = BATCH < capacity - total ? BATCH : capacity - total;

		if (!count)
			break;
		if (bpf_map_lookup_batch(bpf_map__fd(run->torch->maps.torch_flows), first ? NULL : &position,
					 &position, keys, counts, &count, NULL)) {
			if (errno != ENOENT)
				return -errno;
			last = true;
		}
		for (uint32_t at = 0; at < count; at++)
			out[total + at] = (struct weir_torch_flow){ keys[at], counts[at] };
		total += count;
		first = false;
	}
	return total;
}

int weir_torch_read(struct weir_torch_run *run, struct weir_torch_sums *sums, struct weir_torch_flow *out,
		    uint32_t capacity)
{
	int result = read_sums(run, sums) ?: read_flows(run, out, capacity);

	if (capacity)
		run->torch->bss->torch_period++;
	return result < 0 ? weir_fail(-result, "flows cannot be read: %s", strerror(-result)) : result;
}
