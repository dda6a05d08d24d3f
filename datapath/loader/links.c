// SPDX-License-Identifier: Apache-2.0
/*
 * Links: what makes an interface run the programs.
 *
 * A tcx or XDP link is pinned as link-<ifindex>-<program>; it survives this process and is replaced in
 * one step. Debian 12's libbpf knows no tcx, so links are made by the system call. Kernels before 6.6
 * have no tcx: there the programs become filters of clsact, with a handle and priority of our own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
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

uint32_t weir_role_of(enum weir_program program)
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

/* -1: no link. The caller closes what is not `held`. */
static int link_open(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	char name[64], path[512];

	if (!weir->pin_dir)
		return weir->link_fd[weir_port_place(weir, port)][program];
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
		weir->link_fd[weir_port_place(weir, port)][program] = fd;
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

bool weir_link_alive(struct weir *weir, const struct weir_port *port, enum weir_program program)
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

void weir_link_detach(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	int(*held)[WEIR_PROGRAMS] = &weir->link_fd[weir_port_place(weir, port)];
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
int weir_device_set(struct weir *weir, const struct weir_port *port, bool present)
{
	uint32_t place = weir_port_place(weir, port);
	uint32_t ifindex = port->roles & WEIR_ROLE_TAGGED ? port->lower : port->ifindex;
	int fd = weir->map_fd[WEIR_MAP_DEVICES];

	return present ? bpf_map_update_elem(fd, &place, &ifindex, BPF_ANY) : bpf_map_delete_elem(fd, &place);
}

int weir_link_attach(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	int error;

	if (weir_link_alive(weir, port, program))
		return 0;
	if (program == WEIR_FAST)
		error = weir_device_set(weir, port, true) ?: link_create(weir, port, program);
	else
		error = filter_attach(weir, port, program);
	if (error)
		return weir_fail(program == WEIR_FAST ? EOPNOTSUPP : -error,
				 "%s: the kernel refuses the %s program: %s", port->name, link_names[program],
				 strerror(-error));
	return 0;
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
			int error =
				port->roles & weir_role_of(program) ? program_update(weir, port, program) : 0;

			if (error)
				return weir_fail(-error, "%s: the %s program cannot be replaced: %s",
						 port->name, link_names[program], strerror(-error));
		}
	}
	return 0;
}
