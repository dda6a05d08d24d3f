// SPDX-License-Identifier: Apache-2.0
/*
 * The programs of both objects: loaded onto the maps, pinned, and replaced when this build's differ from the pinned.
 *
 * An upgrade loads the new programs onto the old maps, so clocks, counters and tables go on, and then
 * updates each link in one step (BPF_LINK_UPDATE): every packet runs the old program or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir_tc.skel.h"
#include "weir_xdp.skel.h"

static const char *const program_names[WEIR_PROGRAMS] = { "weir_ingress", "weir_egress", "weir_fast" };

static _Thread_local char verifier_words[160];

/* Keep libbpf's first warning for the error sentence instead of printing to somebody's stderr. */
static int keep_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (level == LIBBPF_WARN && !verifier_words[0]) {
		vsnprintf(verifier_words, sizeof(verifier_words), format, arguments);
		verifier_words[strcspn(verifier_words, "\n")] = 0;
	}
	return 0;
}

/* FNV-1a over the ELF file: which build this is. */
static uint64_t build_id(void)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	const uint8_t *tc, *xdp;
	size_t tc_size, xdp_size;

	tc = weir_tc__elf_bytes(&tc_size);
	xdp = weir_xdp__elf_bytes(&xdp_size);
	for (size_t i = 0; i < tc_size + xdp_size; i++)
		hash = (hash ^ (i < tc_size ? tc[i] : xdp[i - tc_size])) * 0x100000001b3ULL;
	return hash;
}

static int use_maps(struct weir *weir, struct bpf_object *object)
{
	struct bpf_map *map;
	int error = 0;

	for (enum weir_map i = 0; i < WEIR_MAPS && !error; i++) {
		map = bpf_object__find_map_by_name(object, weir_map_names[i]);
		if (map)
			error = bpf_map__reuse_fd(map, weir->map_fd[i]);
	}
	return error;
}

static int pin_program(struct weir *weir, enum weir_program program)
{
	char fresh[512], path[512], name[64];
	int error;

	snprintf(name, sizeof(name), "%s-fresh", program_names[program]);
	error = weir_pin_path(weir, name, fresh, sizeof(fresh));
	error = error ?: weir_pin_path(weir, program_names[program], path, sizeof(path));
	if (error)
		return error;
	unlink(fresh);
	if (bpf_obj_pin(weir->program_fd[program], fresh) || rename(fresh, path))
		return weir_fail(errno, "%s cannot be pinned: %s", path, strerror(errno));
	return 0;
}

static int load_object(struct weir *weir, struct bpf_object *object)
{
	int error = use_maps(weir, object) ?: bpf_object__load(object);

	if (error)
		return weir_fail(-error, "the kernel refuses the programs: %s (%s)", strerror(-error),
				 verifier_words);
	for (enum weir_program i = 0; i < WEIR_PROGRAMS && !error; i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(object, program_names[i]);

		if (!program)
			continue;
		weir->program_fd[i] = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0);
		if (weir->program_fd[i] < 0)
			error = weir_fail(errno, "no descriptor for %s", program_names[i]);
		else if (weir->pin_dir)
			error = pin_program(weir, i);
	}
	return error;
}

static int load_programs(struct weir *weir)
{
	uint32_t prefix_mask = weir_meta(weir)->prefix_entries - 1;
	struct weir_xdp *xdp = NULL;
	struct weir_tc *tc;
	int error;

	verifier_words[0] = 0;
	libbpf_set_print(keep_warning);
	tc = weir_tc__open();
	xdp = weir_xdp__open();
	if (!tc || !xdp) {
		error = weir_fail(errno, "the programs cannot be opened: %s", verifier_words);
		goto cleanup;
	}
	tc->rodata->weir_prefix_mask = prefix_mask;
	xdp->rodata->weir_prefix_mask = prefix_mask;
	error = load_object(weir, tc->obj) ?: load_object(weir, xdp->obj);
cleanup:
	weir_xdp__destroy(xdp);
	weir_tc__destroy(tc);
	return error;
}

static bool take_programs(struct weir *weir)
{
	char path[512];

	for (enum weir_program i = 0; i < WEIR_PROGRAMS; i++) {
		if (weir_pin_path(weir, program_names[i], path, sizeof(path)))
			return false;
		weir->program_fd[i] = bpf_obj_get(path);
		if (weir->program_fd[i] < 0)
			return false;
	}
	return true;
}

int weir_programs_open(struct weir *weir, bool reused, bool *replaced)
{
	uint64_t id = build_id();
	int error;

	*replaced = false;
	if (reused && weir_meta(weir)->program == id && take_programs(weir))
		return 0;
	error = load_programs(weir);
	if (!error && reused)
		error = weir_links_update(weir);
	if (error)
		return error;
	*replaced = reused;
	weir_meta(weir)->program = id;
	return 0;
}

int weir_program_fd(struct weir *weir, const char *name)
{
	for (enum weir_program i = 0; i < WEIR_PROGRAMS; i++)
		if (!strcmp(name, program_names[i]))
			return fcntl(weir->program_fd[i], F_DUPFD_CLOEXEC, 0);
	return weir_fail(ENOENT, "there is no program %s", name);
}
