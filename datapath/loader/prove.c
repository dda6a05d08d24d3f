// SPDX-License-Identifier: Apache-2.0
/*
 * Proving a packet's way: a frame is given to a port, and caught behind our programs on another one. The links end with
 * this process. Debian 12's libbpf knows no tcx, so they are made by the system call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/prove.h"
#include "weir_prove.skel.h"

#define TCX_EGRESS 47 /* enum bpf_attach_type, Linux 6.6 */

struct weir_proof {
	struct weir_prove *programs;
	int link; /* -1: none */
};

static int load(struct weir_proof *proof, struct weir *weir)
{
	int error;

	proof->programs = weir_prove__open();
	if (!proof->programs)
		return -errno;
	proof->programs->rodata->weir_line_count = weir_meta(weir)->slots * 2;
	error = bpf_map__set_autocreate(proof->programs->maps.weir_details, false);
	error = error ?: weir_object_use(proof->programs->obj, "weir_lines", weir->map_fd[WEIR_MAP_LINES]);
	return error ?: weir_prove__load(proof->programs);
}

int weir_proof_open(struct weir *weir, struct weir_proof **out)
{
	struct weir_proof *proof = calloc(1, sizeof(*proof));
	libbpf_print_fn_t before;
	int error;

	if (!proof)
		return weir_fail(ENOMEM, "no memory");
	proof->link = -1;
	before = libbpf_set_print(weir_silent);
	error = load(proof, weir);
	libbpf_set_print(before);
	if (error) {
		weir_proof_close(proof);
		return weir_fail(-error, "the kernel refuses the programs that catch a frame: %s",
				 strerror(-error));
	}
	*out = proof;
	return 0;
}

int weir_proof_attach(struct weir_proof *proof, uint32_t ifindex)
{
	struct {
		uint32_t program_fd, ifindex, attach_type, flags;
		uint64_t rest[6];
	} attr = {
		.program_fd = bpf_program__fd(proof->programs->progs.prove_catch),
		.ifindex = ifindex,
		.attach_type = TCX_EGRESS,
	};

	weir_proof_detach(proof);
	proof->link = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (proof->link >= 0)
		return 0;
	if (errno == EINVAL)
		return weir_fail(EOPNOTSUPP,
				 "this kernel has no tcx (Linux 6.6), by which frames are caught");
	return weir_fail(errno, "a frame cannot be caught at interface %u: %s", ifindex, strerror(errno));
}

void weir_proof_detach(struct weir_proof *proof)
{
	if (proof->link >= 0)
		close(proof->link);
	proof->link = -1;
}

void weir_proof_ask(struct weir_proof *proof, const struct weir_prove_asked *asked)
{
	struct weir_prove__bss *bss = proof->programs->bss;

	memset(&bss->prove_before, 0, sizeof(bss->prove_before));
	memset(&bss->prove_after, 0, sizeof(bss->prove_after));
	bss->prove_asked = *asked;
}

int weir_proof_send(struct weir_proof *proof, const void *frame, uint32_t size, uint32_t ifindex)
{
	struct __sk_buff context = { .mark = WEIR_PROVE_MARK, .cb = { ifindex } };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = size, .ctx_in = &context,
		    .ctx_size_in = sizeof(context));
	int error = bpf_prog_test_run_opts(bpf_program__fd(proof->programs->progs.prove_send), &run);

	if (!error && (int)run.retval < 0)
		error = run.retval;
	return error ? weir_fail(-error, "the frame cannot be given to interface %u: %s", ifindex,
				 strerror(-error)) :
		       0;
}

void weir_proof_seen(struct weir_proof *proof, struct weir_prove_seen *before, struct weir_prove_seen *after)
{
	memcpy(before, &proof->programs->bss->prove_before, sizeof(*before));
	memcpy(after, &proof->programs->bss->prove_after, sizeof(*after));
}

void weir_proof_close(struct weir_proof *proof)
{
	weir_proof_detach(proof);
	weir_prove__destroy(proof->programs);
	free(proof);
}
