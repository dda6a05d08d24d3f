// SPDX-License-Identifier: Apache-2.0
/*
 * The programs: loaded onto the maps, pinned, and replaced when this build's differ from the pinned. The fast path
 * comes in three objects: the one that asks the kernel's flow table is tried first, then the one that keeps the FIB's answers.
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
#include "weir_flow.skel.h"
#include "weir_kept.skel.h"
#include "weir_tc.skel.h"
#include "weir_xdp.skel.h"

const char *const weir_program_names[WEIR_PROGRAMS] = { "weir_ingress", "weir_egress", "weir_fast" };

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

/* FNV-1a over the ELF files: which build this is. */
static uint64_t build_id(void)
{
	const void *(*const files[])(size_t *) = { weir_tc__elf_bytes, weir_xdp__elf_bytes,
						   weir_flow__elf_bytes, weir_kept__elf_bytes };
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t size;

	for (size_t file = 0; file < sizeof(files) / sizeof(*files); file++) {
		const uint8_t *bytes = files[file](&size);

		for (size_t i = 0; i < size; i++)
			hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	}
	return hash;
}

static int use_maps(struct weir *weir, struct bpf_object *object)
{
	int error = 0;

	for (enum weir_map i = 0; i < WEIR_MAPS && !error; i++)
		error = weir_object_use(object, weir_map_names[i], weir->map_fd[i]);
	return error;
}

static int pin_program(struct weir *weir, enum weir_program program)
{
	char fresh[512], path[512], name[64];
	int error;

	snprintf(name, sizeof(name), "%s-fresh", weir_program_names[program]);
	error = weir_pin_path(weir, name, fresh, sizeof(fresh));
	error = error ?: weir_pin_path(weir, weir_program_names[program], path, sizeof(path));
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
		struct bpf_program *program = bpf_object__find_program_by_name(object, weir_program_names[i]);

		if (!program)
			continue;
		weir->program_fd[i] = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0);
		if (weir->program_fd[i] < 0)
			error = weir_fail(errno, "no descriptor for %s", weir_program_names[i]);
		else if (weir->pin_dir)
			error = pin_program(weir, i);
	}
	return error;
}

static int cannot_open(void)
{
	return weir_fail(errno, "the programs cannot be opened: %s", verifier_words);
}

/* Of the tables that every object has; each has a type of its own for it. */
#define set_sizes(rodata, meta)                                                                              \
	do {                                                                                                 \
		(rodata)->weir_prefix_mask = (meta)->prefix_entries - 1;                                     \
		(rodata)->weir_v4_units = (meta)->v4_units;                                                  \
		(rodata)->weir_v4_words = (meta)->v4_units * WEIR_V4_UNIT_WORDS;                             \
		(rodata)->weir_line_count = (meta)->slots * 2;                                               \
		(rodata)->weir_cpu_mask = weir_cpu_rows() - 1;                                               \
	} while (0)

static int load_tc(struct weir *weir)
{
	struct weir_tc *tc = weir_tc__open();
	int error;

	if (!tc)
		return cannot_open();
	set_sizes(tc->rodata, weir_meta(weir));
	tc->rodata->weir_flow_mask = weir_meta(weir)->flows - 1;
	tc->rodata->weir_host_mask = weir_meta(weir)->flows - 1;
	error = load_object(weir, tc->obj);
	weir_tc__destroy(tc);
	return error;
}

static int load_xdp(struct weir *weir)
{
	struct weir_xdp *xdp = weir_xdp__open();
	int error;

	if (!xdp)
		return cannot_open();
	set_sizes(xdp->rodata, weir_meta(weir));
	error = load_object(weir, xdp->obj);
	weir_xdp__destroy(xdp);
	return error;
}

static int load_kept(struct weir *weir)
{
	struct weir_kept *kept = weir->hops ? weir_kept__open() : NULL;
	int error;

	if (!weir->hops)
		return weir_fail(EOPNOTSUPP, "changes of neighbours are not counted");
	if (!kept)
		return cannot_open();
	set_sizes(kept->rodata, weir_meta(weir));
	kept->rodata->weir_hop_count = weir_hop_count();
	error = load_object(weir, kept->obj);
	weir_kept__destroy(kept);
	return error;
}

static int load_flow(struct weir *weir)
{
	struct weir_flow *flow = weir->no_flow ? NULL : weir_flow__open();
	int error;

	if (weir->no_flow)
		return weir_fail(EOPNOTSUPP, "the flow table was not asked for");
	if (!flow)
		return cannot_open();
	set_sizes(flow->rodata, weir_meta(weir));
	flow->rodata->weir_hop_count = weir_hop_count();
	error = load_object(weir, flow->obj);
	weir_flow__destroy(flow);
	return error;
}

static int load_programs(struct weir *weir)
{
	int error;

	verifier_words[0] = 0;
	libbpf_set_print(keep_warning);
	weir->flow_reason[0] = 0;
	if (load_flow(weir)) {
		snprintf(weir->flow_reason, sizeof(weir->flow_reason), "%s", weir_error());
		verifier_words[0] = 0;
		if (load_kept(weir)) {
			if (weir->hops)
				snprintf(weir->hops_reason, sizeof(weir->hops_reason), "%s", weir_error());
			verifier_words[0] = 0;
			error = load_xdp(weir);
			if (error)
				return error;
		}
	}
	error = load_tc(weir);
	weir_meta_store(weir, flow_lookup, !weir->flow_reason[0]);
	return error;
}

/* The module that can be asked may have come since the programs were loaded. */
static bool flow_came(struct weir *weir)
{
	return !weir->no_flow && !weir_meta(weir)->flow_lookup &&
	       access("/sys/kernel/btf/nf_flow_table", F_OK) == 0;
}

static bool take_programs(struct weir *weir)
{
	char path[512];

	for (enum weir_program i = 0; i < WEIR_PROGRAMS; i++) {
		if (weir_pin_path(weir, weir_program_names[i], path, sizeof(path)))
			return false;
		weir->program_fd[i] = bpf_obj_get(path);
		if (weir->program_fd[i] < 0)
			return false;
	}
	return true;
}

static int note_ids(struct weir *weir)
{
	for (enum weir_program i = 0; i < WEIR_PROGRAMS; i++) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);

		if (bpf_obj_get_info_by_fd(weir->program_fd[i], &info, &size))
			return weir_fail(errno, "no information on %s: %s", weir_program_names[i],
					 strerror(errno));
		weir->program_id[i] = info.id;
	}
	return 0;
}

int weir_program_pins_mend(struct weir *weir, uint32_t *mended)
{
	int error = 0;

	for (enum weir_program i = 0; i < WEIR_PROGRAMS && !error; i++) {
		char path[512];

		error = weir_pin_path(weir, weir_program_names[i], path, sizeof(path));
		if (error || !access(path, F_OK))
			continue;
		error = pin_program(weir, i);
		*mended += !error;
	}
	return error;
}

int weir_programs_open(struct weir *weir, bool reused, bool *replaced)
{
	uint64_t id = build_id();
	int error;

	*replaced = false;
	if (reused && weir_meta(weir)->program == id && !flow_came(weir) && take_programs(weir))
		return note_ids(weir);
	error = load_programs(weir) ?: note_ids(weir);
	if (!error && reused)
		error = weir_links_update(weir);
	if (error)
		return error;
	*replaced = reused;
	weir_meta_store(weir, program, id);
	return 0;
}

int weir_program_fd(struct weir *weir, const char *name)
{
	for (enum weir_program i = 0; i < WEIR_PROGRAMS; i++)
		if (!strcmp(name, weir_program_names[i]))
			return fcntl(weir->program_fd[i], F_DUPFD_CLOEXEC, 0);
	if (!strcmp(name, "weir_refused"))
		return weir_refused_fd(weir);
	if (!strcmp(name, "weir_updated_first") && weir->hops)
		return weir_hops_fd(weir);
	return weir_fail(ENOENT, "there is no program %s", name);
}

const char *weir_flow_reason(struct weir *weir)
{
	if (weir_meta(weir)->flow_lookup)
		return "";
	if (weir->flow_reason[0])
		return weir->flow_reason;
	return "XDP cannot ask this kernel's flow table (Linux 6.10 with nf_flow_table can)";
}
