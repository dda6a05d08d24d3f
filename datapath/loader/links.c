// SPDX-License-Identifier: Apache-2.0
/*
 * Links: what makes an interface run the programs.
 *
 * A tcx or XDP link is pinned as link-<ifindex>-<program>, so it survives this process, and held by it, so it
 * survives its pin; its program is replaced in one step. Debian 12's libbpf knows no tcx, so links are made by the system call. Kernels before 6.6
 * have no tcx: there the programs become filters of clsact, with a handle and priority of our own.
 */
#include <errno.h>
#include <net/if.h>
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
#define TCX_FIRST (1U << 3) /* BPF_F_BEFORE all others: one that ends the chain must not come before ours */
#define HOOK_PROGRAMS 64 /* as many as a hook takes */
#define CLSACT_HANDLE 0x3e1
#define CLSACT_PRIORITY 0x3e1

static const char *const link_names[WEIR_PROGRAMS] = { "ingress", "egress", "fast" };
static const uint32_t attach_types[WEIR_PROGRAMS] = { TCX_INGRESS, TCX_EGRESS, BPF_XDP };

/* union bpf_attr of BPF_LINK_CREATE, BPF_LINK_UPDATE and BPF_PROG_QUERY as far as used; the rest is zero. */
struct link_create {
	uint32_t program_fd, ifindex, attach_type, flags;
	uint64_t rest[6];
};

struct link_update {
	uint32_t link_fd, program_fd, flags, old_program_fd;
};

struct hook_query {
	uint32_t ifindex, attach_type, flags, attach_flags;
	uint64_t program_ids;
	uint32_t count, pad;
	uint64_t program_flags, link_ids, link_flags, revision;
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

static int *held_link(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	return &weir->link_fd[weir_port_place(weir, port)][program];
}

static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* bpf_link_info as far as it is the same for tcx and XDP. */
struct link_info {
	uint32_t type, id, program_id, pad, ifindex, rest[27];
};

static struct link_info info_of(int fd)
{
	struct link_info info = {};
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return (struct link_info){};
	return info;
}

/* What runs at a tcx hook, in order. Returns how many, or a negative errno. */
static int hook_query(uint32_t ifindex, enum weir_program program, uint32_t *program_ids, uint32_t *link_ids)
{
	struct hook_query attr = {
		.ifindex = ifindex,
		.attach_type = attach_types[program],
		.program_ids = (uintptr_t)program_ids,
		.count = HOOK_PROGRAMS,
		.link_ids = (uintptr_t)link_ids,
	};

	return syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) ? -errno : (int)attr.count;
}

static enum weir_link_state tcx_state(struct weir *weir, const struct weir_port *port,
				      enum weir_program program)
{
	uint32_t program_ids[HOOK_PROGRAMS] = {}, link_ids[HOOK_PROGRAMS] = {};
	uint32_t own = info_of(*held_link(weir, port, program)).id;
	int count = hook_query(port->ifindex, program, program_ids, link_ids);

	if (count == -ENODEV)
		return WEIR_LINK_NO_DEVICE;
	for (int i = 0; own && i < count; i++) {
		if (link_ids[i] != own)
			continue;
		if (program_ids[i] != weir->program_id[program])
			return WEIR_LINK_OTHER_PROGRAM;
		return i ? WEIR_LINK_BEHIND : WEIR_LINK_RIGHT;
	}
	return WEIR_LINK_DETACHED;
}

static enum weir_link_state xdp_state(struct weir *weir, const struct weir_port *port)
{
	struct link_info info = info_of(*held_link(weir, port, WEIR_FAST));
	char name[IF_NAMESIZE];

	if (info.ifindex != port->ifindex)
		return if_indextoname(port->ifindex, name) ? WEIR_LINK_DETACHED : WEIR_LINK_NO_DEVICE;
	return info.program_id == weir->program_id[WEIR_FAST] ? WEIR_LINK_RIGHT : WEIR_LINK_OTHER_PROGRAM;
}

static int link_pin(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	char name[64], path[512];
	int error;

	if (!weir->pin_dir)
		return 0;
	link_name(name, sizeof(name), port->ifindex, program);
	error = weir_pin_path(weir, name, path, sizeof(path));
	if (error)
		return error;
	unlink(path);
	return bpf_obj_pin(*held_link(weir, port, program), path) ? -errno : 0;
}

bool weir_link_is_pinned(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	char name[64], path[512];

	if (!weir->pin_dir || is_filter(port, program))
		return true;
	link_name(name, sizeof(name), port->ifindex, program);
	return !weir_pin_path(weir, name, path, sizeof(path)) && !access(path, F_OK);
}

int weir_link_pin(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	int error = link_pin(weir, port, program);

	return error ? weir_fail(-error, "%s: the link of the %s program cannot be pinned: %s", port->name,
				 link_names[program], strerror(-error)) :
		       0;
}

/* What an earlier process pinned is held from now on, so that it stays without its pin. */
void weir_links_take(struct weir *weir)
{
	for (uint32_t place = 0; place < WEIR_PORTS; place++) {
		const struct weir_port *port = &weir_port_table(weir)[place];

		bpf_map_lookup_elem(weir->map_fd[WEIR_MAP_DEVICES], &place, &weir->devices[place]);
		for (enum weir_program program = 0; port->ifindex && program < WEIR_PROGRAMS; program++) {
			char name[64], path[512];

			link_name(name, sizeof(name), port->ifindex, program);
			if (!weir_pin_path(weir, name, path, sizeof(path)))
				weir->link_fd[place][program] = bpf_obj_get(path);
		}
	}
}

static bool is_named(uint32_t program_id, const char *name)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(program_id);
	bool same = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(info.name, name);

	if (fd >= 0)
		close(fd);
	return same;
}

/*
 * A live link of ours that neither a pin nor a record leads to any more, as somebody else holds it: taken, so
 * that no second program runs beside it, nor none because the kernel refuses the same one twice (EEXIST).
 */
static void tcx_adopt(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	uint32_t program_ids[HOOK_PROGRAMS] = {}, link_ids[HOOK_PROGRAMS] = {};
	int count = hook_query(port->ifindex, program, program_ids, link_ids);
	int *held = held_link(weir, port, program);

	for (int i = 0; i < count; i++) {
		int fd = -1;

		if (link_ids[i] && is_named(program_ids[i], weir_program_names[program]))
			fd = bpf_link_get_fd_by_id(link_ids[i]);
		if (fd >= 0 && *held < 0 && !i) {
			*held = fd;
		} else if (fd >= 0) { /* behind another, or one too many */
			bpf_link_detach(fd);
			close(fd);
		}
	}
}

static void xdp_adopt(struct weir *weir, const struct weir_port *port)
{
	uint32_t id = 0, program_id = 0;

	if (bpf_xdp_query_id((int)port->ifindex, 0, &program_id) || !program_id ||
	    !is_named(program_id, weir_program_names[WEIR_FAST]))
		return;
	while (!bpf_link_get_next_id(id, &id)) {
		int fd = bpf_link_get_fd_by_id(id);
		struct link_info info = info_of(fd);

		if (info.program_id == program_id && info.ifindex == port->ifindex) {
			*held_link(weir, port, WEIR_FAST) = fd;
			return;
		}
		drop(&fd);
	}
}

static int link_update(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	struct link_update attr = {
		.link_fd = (uint32_t)*held_link(weir, port, program),
		.program_fd = (uint32_t)weir->program_fd[program],
	};

	return syscall(SYS_bpf, BPF_LINK_UPDATE, &attr, sizeof(attr)) ? -errno : 0;
}

/* XDP natively or not at all: what is generic comes after the stack has made an skb, and gains nothing. */
static int link_create(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	struct link_create attr = {
		.program_fd = weir->program_fd[program],
		.ifindex = port->ifindex,
		.attach_type = attach_types[program],
		.flags = program == WEIR_FAST ? XDP_FLAGS_DRV_MODE : TCX_FIRST,
	};
	int *held = held_link(weir, port, program);

	drop(held);
	if (program == WEIR_FAST)
		xdp_adopt(weir, port);
	else
		tcx_adopt(weir, port, program);
	if (*held >= 0)
		return link_update(weir, port, program) ?: link_pin(weir, port, program);
	*held = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return *held < 0 ? -errno : link_pin(weir, port, program);
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

static enum weir_link_state clsact_state(struct weir *weir, const struct weir_port *port,
					 enum weir_program program)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = port->ifindex,
			    .attach_point = program == WEIR_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, options, .handle = CLSACT_HANDLE, .priority = CLSACT_PRIORITY);
	char name[IF_NAMESIZE];

	if (bpf_tc_query(&hook, &options))
		return if_indextoname(port->ifindex, name) ? WEIR_LINK_DETACHED : WEIR_LINK_NO_DEVICE;
	return options.prog_id == weir->program_id[program] ? WEIR_LINK_RIGHT : WEIR_LINK_OTHER_PROGRAM;
}

enum weir_link_state weir_link_state(struct weir *weir, const struct weir_port *port,
				     enum weir_program program)
{
	if (is_filter(port, program))
		return clsact_state(weir, port, program);
	return program == WEIR_FAST ? xdp_state(weir, port) : tcx_state(weir, port, program);
}

/* Not by closing it, as somebody else may hold the link too. */
void weir_link_detach(struct weir *weir, const struct weir_port *port, enum weir_program program)
{
	int *held = held_link(weir, port, program);
	char name[64];

	if (is_filter(port, program)) {
		clsact(weir, port->ifindex, program, false);
		return;
	}
	if (*held >= 0)
		bpf_link_detach(*held);
	drop(held);
	if (weir->pin_dir) {
		link_name(name, sizeof(name), port->ifindex, program);
		weir_unpin(weir, name);
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

	weir->devices[place] = present ? ifindex : 0;
	return present ? bpf_map_update_elem(fd, &place, &ifindex, BPF_ANY) : bpf_map_delete_elem(fd, &place);
}

int weir_link_attach(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	enum weir_link_state state = weir_link_state(weir, port, program);
	int error = program == WEIR_FAST ? weir_device_set(weir, port, true) : 0;

	if (!error && state == WEIR_LINK_RIGHT)
		return 0;
	if (!error && state == WEIR_LINK_OTHER_PROGRAM && !is_filter(port, program))
		error = link_update(weir, port, program);
	else if (!error && program == WEIR_FAST)
		error = link_create(weir, port, program);
	else if (!error)
		error = filter_attach(weir, port, program);
	if (error)
		return weir_fail(program == WEIR_FAST ? EOPNOTSUPP : -error,
				 "%s: the kernel refuses the %s program: %s", port->name, link_names[program],
				 strerror(-error));
	return 0;
}

static int program_update(struct weir *weir, struct weir_port *port, enum weir_program program)
{
	int error;

	if (is_filter(port, program))
		return clsact(weir, port->ifindex, program, true);
	if (*held_link(weir, port, program) < 0)
		return 0; /* weir_ports says so */
	error = link_update(weir, port, program);
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
