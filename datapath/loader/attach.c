// SPDX-License-Identifier: Apache-2.0
/*
 * Ports: the record that the programs read, and the links that run them.
 *
 * A tcx link is pinned as link-<ifindex>-<program>; it survives this process and is replaced in one
 * step. Debian 12's libbpf knows no tcx, so links are made by the system call. Kernels before 6.6 have
 * no tcx: there the programs become filters of clsact, with a handle and priority of our own.
 */
#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

#define TCX_INGRESS 46 /* enum bpf_attach_type, Linux 6.6 */
#define TCX_EGRESS 47
#define XDP_FLAGS_DRV_MODE 4
#define CLSACT_HANDLE 0x3e1
#define CLSACT_PRIORITY 0x3e1
#define POLICE_BURST_NS 20000000ULL /* TCP at 20 ms round-trip time fills a policer with no less */

static const char *const link_names[WEIR_PROGRAMS] = { "ingress", "egress", "fast" };

/* union bpf_attr of BPF_LINK_CREATE and BPF_LINK_UPDATE as far as used; the rest is zero. */
struct link_create {
	uint32_t program_fd, ifindex, attach_type, flags;
	uint64_t rest[6];
};

struct link_update {
	uint32_t link_fd, program_fd, flags, old_program_fd;
};

static void link_name(char *name, size_t size, uint32_t ifindex, enum weir_program program)
{
	snprintf(name, size, "link-%u-%s", ifindex, link_names[program]);
}

static uint32_t role_of(enum weir_program program)
{
	static const uint32_t roles[WEIR_PROGRAMS] = {
		[WEIR_INGRESS] = WEIR_ROLE_CLASSIFY,
		[WEIR_EGRESS] = WEIR_ROLE_SHAPE,
		[WEIR_FAST] = WEIR_ROLE_FAST,
	};

	return roles[program];
}

static bool is_filter(const struct weir_port *port, enum weir_program program)
{
	return port->hook == WEIR_HOOK_CLSACT && program != WEIR_FAST;
}

static struct weir_port *port_by_index(struct weir *weir, uint32_t ifindex)
{
	for (uint32_t probe = 0; probe < WEIR_PORT_PROBES; probe++) {
		struct weir_port *port = &weir_port_table(weir)[(ifindex + probe) % WEIR_PORTS];

		if (port->ifindex == ifindex)
			return port;
	}
	return NULL;
}

static struct weir_port *port_by_name(struct weir *weir, const char *name)
{
	for (uint32_t i = 0; i < WEIR_PORTS; i++) {
		struct weir_port *port = &weir_port_table(weir)[i];

		if (port->ifindex && !strncmp(port->name, name, WEIR_IFNAMSIZ))
			return port;
	}
	return NULL;
}

static struct weir_port *port_free(struct weir *weir, uint32_t ifindex)
{
	for (uint32_t probe = 0; probe < WEIR_PORT_PROBES; probe++) {
		struct weir_port *port = &weir_port_table(weir)[(ifindex + probe) % WEIR_PORTS];

		if (!port->ifindex)
			return port;
	}
	return NULL;
}

static uint32_t place_of(struct weir *weir, const struct weir_port *port)
{
	return port - weir_port_table(weir);
}

/* -1: no link. The caller closes what is not `held`. */
static int link_open(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	char name[64], path[512];

	if (!weir->pin_dir)
		return weir->link_fd[place_of(weir, port)][program];
	link_name(name, sizeof(name), port->ifindex, program);
	if (weir_pin_path(weir, name, path, sizeof(path)))
		return -1;
	return bpf_obj_get(path);
}

static void link_close(struct weir *weir, int fd)
{
	if (weir->pin_dir && fd >= 0)
		close(fd);
}

/* The interface a tcx link is on; 0 when that is gone. bpf_link_info: type, id, prog_id, -, ifindex. */
static uint32_t link_ifindex(int fd)
{
	uint32_t info[32] = {}, size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, info, &size) ? 0 : info[4];
}

/* XDP natively or not at all: what is generic comes after the stack has made an skb, and gains nothing. */
static int link_create(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	static const uint32_t attach_types[WEIR_PROGRAMS] = { TCX_INGRESS, TCX_EGRESS, BPF_XDP };
	struct link_create attr = {
		.program_fd = weir->program_fd[program],
		.ifindex = port->ifindex,
		.attach_type = attach_types[program],
		.flags = program == WEIR_FAST ? XDP_FLAGS_DRV_MODE : 0,
	};
	char name[64], path[512];
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)), error;

	if (fd < 0)
		return -errno;
	if (!weir->pin_dir) {
		weir->link_fd[place_of(weir, port)][program] = fd;
		return 0;
	}
	link_name(name, sizeof(name), port->ifindex, program);
	error = weir_pin_path(weir, name, path, sizeof(path));
	if (!error) {
		unlink(path);
		error = bpf_obj_pin(fd, path) ? -errno : 0;
	}
	close(fd);
	return error;
}

static int clsact(struct weir *weir, uint32_t ifindex, enum weir_program program, bool attach)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
			    .attach_point = program == WEIR_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, options, .handle = CLSACT_HANDLE, .priority = CLSACT_PRIORITY);
	int error;

	if (!attach)
		return bpf_tc_detach(&hook, &options);
	error = bpf_tc_hook_create(&hook);
	if (error && error != -EEXIST)
		return error;
	options.prog_fd = weir->program_fd[program];
	options.flags = BPF_TC_F_REPLACE;
	return bpf_tc_attach(&hook, &options);
}

static bool clsact_alive(uint32_t ifindex, enum weir_program program)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
			    .attach_point = program == WEIR_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, options, .handle = CLSACT_HANDLE, .priority = CLSACT_PRIORITY);

	return bpf_tc_query(&hook, &options) == 0;
}

static bool program_alive(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	bool alive;
	int fd;

	if (is_filter(port, program))
		return clsact_alive(port->ifindex, program);
	fd = link_open(weir, port, program);
	alive = fd >= 0 && link_ifindex(fd) == port->ifindex;
	link_close(weir, fd);
	return alive;
}

static void program_detach(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	int(*held)[WEIR_PROGRAMS] = &weir->link_fd[place_of(weir, port)];
	char name[64];

	if (is_filter(port, program)) {
		clsact(weir, port->ifindex, program, false);
	} else if (weir->pin_dir) {
		link_name(name, sizeof(name), port->ifindex, program);
		weir_unpin(weir, name);
	} else if ((*held)[program] >= 0) {
		close((*held)[program]);
		(*held)[program] = -1;
	}
}

static int filter_attach(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	int error = -EINVAL;

	if (!weir->no_tcx && port->hook != WEIR_HOOK_CLSACT) {
		error = link_create(weir, port, program);
		if (!error)
			port->hook = WEIR_HOOK_TCX;
	}
	if (error == -EINVAL) { /* the kernel knows no tcx */
		error = clsact(weir, port->ifindex, program, true);
		if (!error)
			port->hook = WEIR_HOOK_CLSACT;
	}
	return error;
}

/* Where packets of the fast path may go. */
static int device_set(struct weir *weir, const struct weir_port *port, bool present)
{
	uint32_t place = place_of(weir, port), ifindex = port->ifindex;
	int fd = weir->map_fd[WEIR_MAP_DEVICES];

	return present ? bpf_map_update_elem(fd, &place, &ifindex, BPF_ANY) : bpf_map_delete_elem(fd, &place);
}

static int program_attach(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	int error;

	if (program_alive(weir, port, program))
		return 0;
	if (program == WEIR_FAST)
		error = device_set(weir, port, true) ?: link_create(weir, port, program);
	else
		error = filter_attach(weir, port, program);
	if (error)
		return weir_fail(program == WEIR_FAST ? EOPNOTSUPP : -error,
				 "%s: the kernel refuses the %s program: %s", port->name, link_names[program],
				 strerror(-error));
	return 0;
}

static int links_attach(struct weir *weir, struct weir_port *port, uint32_t roles)
{
	int error = 0;

	for (enum weir_program program = 0; program < WEIR_PROGRAMS && !error; program++) {
		if (roles & role_of(program))
			error = program_attach(weir, port, program);
		else
			program_detach(weir, port, program);
	}
	return error;
}

static void port_remove(struct weir *weir, struct weir_port *port)
{
	struct weir_port empty = {};

	device_set(weir, port, false);
	for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
		program_detach(weir, port, program);
	weir_publish(&port->ifindex, 0);
	*port = empty;
}

static bool has_ethernet_header(const char *name)
{
	struct ifreq request = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	memcpy(request.ifr_name, name, WEIR_IFNAMSIZ);
	error = fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request);
	if (fd >= 0)
		close(fd);
	return error || request.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
	       request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
}

static int check_spec(struct weir *weir, const struct weir_port_spec *spec)
{
	const struct weir_meta *meta = weir_meta(weir);

	if (spec->mode > WEIR_HTB)
		return weir_fail(EINVAL, "%s: there is no mode %u", spec->name, spec->mode);
	if (spec->target_slot >= meta->slots)
		return weir_fail(EINVAL, "%s: class slot %u is above the capacity of %u", spec->name,
				 spec->target_slot, meta->slots);
	if (spec->domain >= meta->domains)
		return weir_fail(EINVAL, "%s: domain %u is above the capacity of %u", spec->name,
				 spec->domain, meta->domains);
	return 0;
}

/* All that packets need; the index last when the record is new. */
static void port_store(struct weir_port *port, const struct weir_port_spec *spec, uint32_t ifindex)
{
	bool l3 = spec->roles & WEIR_ROLE_L3 || !has_ethernet_header(spec->name);
	uint32_t burst = POLICE_BURST_NS << WEIR_TICK_SHIFT >> WEIR_TIME_SHIFT;

	memcpy(port->name, spec->name, WEIR_IFNAMSIZ);
	port->overhead_bytes = spec->overhead_bytes;
	port->domain = spec->domain;
	weir_publish(&port->target_slot, spec->target_slot);
	weir_publish(&port->burst_min, spec->mode == WEIR_POLICE ? burst : 0);
	weir_publish(&port->mode, (uint8_t)spec->mode);
	weir_publish(&port->roles, (uint8_t)(spec->roles | (l3 ? WEIR_ROLE_L3 : 0)));
	weir_publish(&port->ifindex, ifindex);
}

static void port_clear_counters(struct weir *weir, uint32_t place)
{
	int cpus = libbpf_num_possible_cpus();
	struct weir_port_counters *zero = cpus > 0 ? calloc(cpus, sizeof(*zero)) : NULL;

	if (zero)
		bpf_map_update_elem(weir->map_fd[WEIR_MAP_PORT_COUNTERS], &place, zero, BPF_ANY);
	free(zero);
}

int weir_attach(struct weir *weir, const struct weir_port_spec *spec)
{
	uint32_t ifindex = if_nametoindex(spec->name);
	struct weir_port *port, *named;
	int error = check_spec(weir, spec);
	bool is_new;

	if (error)
		return error;
	if (!ifindex)
		return weir_fail(ENODEV, "there is no interface %s", spec->name);
	named = port_by_name(weir, spec->name);
	if (named && named->ifindex != ifindex) /* removed and made again since */
		port_remove(weir, named);
	port = port_by_index(weir, ifindex);
	is_new = !port;
	port = port ?: port_free(weir, ifindex);
	if (!port)
		return weir_fail(ENOSPC, "%s: no free port record for interface index %u", spec->name,
				 ifindex);
	if (is_new)
		port_clear_counters(weir, place_of(weir, port));
	port_store(port, spec, ifindex);
	error = links_attach(weir, port, spec->roles);
	if (error && is_new)
		port_remove(weir, port);
	else if (error == -EOPNOTSUPP)
		weir_publish(&port->roles, (uint8_t)(port->roles & ~WEIR_ROLE_FAST));
	return error;
}

int weir_detach(struct weir *weir, const char *ifname)
{
	struct weir_port *port = port_by_name(weir, ifname);

	if (!port)
		return weir_fail(ENOENT, "interface %s is not attached", ifname);
	port_remove(weir, port);
	return 0;
}

static void read_counters(struct weir *weir, uint32_t place, struct weir_port_spec *out)
{
	int cpus = libbpf_num_possible_cpus();
	struct weir_port_counters *counters = cpus > 0 ? calloc(cpus, sizeof(*counters)) : NULL;

	if (counters && !bpf_map_lookup_elem(weir->map_fd[WEIR_MAP_PORT_COUNTERS], &place, counters)) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			for (int reason = 0; reason < WEIR_REASONS; reason++) {
				out->packets[reason] += counters[cpu].packets[reason];
				out->bytes[reason] += counters[cpu].bytes[reason];
			}
		}
	}
	free(counters);
}

int weir_ports(struct weir *weir, struct weir_port_spec *out, uint32_t capacity)
{
	uint32_t count = 0;

	for (uint32_t place = 0; place < WEIR_PORTS && count < capacity; place++) {
		const struct weir_port *port = &weir_port_table(weir)[place];
		struct weir_port_spec *spec = &out[count];

		if (!port->ifindex)
			continue;
		*spec = (struct weir_port_spec){
			.ifindex = port->ifindex,
			.mode = port->mode,
			.roles = port->roles,
			.target_slot = port->target_slot,
			.domain = port->domain,
			.overhead_bytes = port->overhead_bytes,
			.alive = 1,
			.hook = port->hook,
			.xdp = !!(port->roles & WEIR_ROLE_FAST),
		};
		memcpy(spec->name, port->name, sizeof(spec->name));
		for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
			if (port->roles & role_of(program) && !program_alive(weir, port, program))
				spec->alive = 0;
		read_counters(weir, place, spec);
		count++;
	}
	return count;
}

static int program_update(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	struct link_update attr = { .program_fd = weir->program_fd[program] };
	int error, fd;

	if (is_filter(port, program))
		return clsact(weir, port->ifindex, program, true);
	fd = link_open(weir, port, program);
	if (fd < 0)
		return 0; /* weir_ports says so */
	attr.link_fd = fd;
	error = syscall(SYS_bpf, BPF_LINK_UPDATE, &attr, sizeof(attr)) ? -errno : 0;
	link_close(weir, fd);
	return error == -ENOLINK ? 0 : error; /* the interface is gone */
}

int weir_links_update(struct weir *weir)
{
	for (uint32_t place = 0; place < WEIR_PORTS; place++) {
		struct weir_port *port = &weir_port_table(weir)[place];

		for (enum weir_program program = 0; port->ifindex && program < WEIR_PROGRAMS; program++) {
			int error = port->roles & role_of(program) ? program_update(weir, port, program) : 0;

			if (error)
				return weir_fail(-error, "%s: the %s program cannot be replaced: %s",
						 port->name, link_names[program], strerror(-error));
		}
	}
	return 0;
}

int weir_destroy(struct weir *weir)
{
	for (uint32_t place = 0; place < WEIR_PORTS; place++)
		if (weir_port_table(weir)[place].ifindex)
			port_remove(weir, &weir_port_table(weir)[place]);
	weir_unpin(weir, "weir_ingress");
	weir_unpin(weir, "weir_egress");
	weir_unpin(weir, "weir_fast");
	for (int map = WEIR_MAPS - 1; map >= 0; map--)
		weir_unpin(weir, weir_map_names[map]);
	if (weir->pin_dir && rmdir(weir->pin_dir) && errno != EBUSY && errno != ENOTEMPTY)
		return weir_fail(errno, "%s cannot be removed: %s", weir->pin_dir, strerror(errno));
	return 0;
}
