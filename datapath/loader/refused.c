// SPDX-License-Identifier: Apache-2.0
/* How many packets that XDP redirected to a port its device did not take, counted as long as this process runs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir_refused.skel.h"

int weir_refused_watch(struct weir *weir)
{
	libbpf_print_fn_t before;
	struct weir_refused *refused;
	uint32_t namespace;
	int error = weir_own_namespace(&namespace);

	if (error)
		return error;
	before = libbpf_set_print(weir_silent);
	refused = weir_refused__open();
	error = refused ? weir_object_use(refused->obj, "weir_ports", weir->map_fd[WEIR_MAP_PORTS]) : -errno;
	if (refused)
		refused->rodata->refused_namespace = namespace;
	error = error ?: weir_refused__load(refused) ?: weir_refused__attach(refused);
	libbpf_set_print(before);
	if (error) {
		weir_refused__destroy(refused);
		return weir_fail(-error, "what devices refuse cannot be counted: %s", strerror(-error));
	}
	weir->refused = refused;
	return 0;
}

void weir_refused_close(struct weir *weir)
{
	weir_refused__destroy(weir->refused);
}

int weir_refused_fd(struct weir *weir)
{
	if (!weir->refused)
		return weir_fail(ENOENT, "what devices refuse is not watched");
	return fcntl(bpf_program__fd(weir->refused->progs.weir_refused), F_DUPFD_CLOEXEC, 0);
}

uint64_t weir_refused_at(struct weir *weir, uint32_t place)
{
	uint64_t count = 0;

	if (weir->refused)
		bpf_map_lookup_elem(bpf_map__fd(weir->refused->maps.weir_refusals), &place, &count);
	return count;
}
