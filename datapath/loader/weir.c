// SPDX-License-Identifier: Apache-2.0
/* A handle on the datapath: maps, then programs, then what is known about the tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static void weir_free(struct weir *weir)
{
	pthread_mutex_destroy(&weir->hooks);
	pthread_mutex_destroy(&weir->classes);
	pthread_mutex_destroy(&weir->lookups);
	free(weir->digests);
	free(weir->link_fd);
	free(weir->meant);
	free(weir->meant_rows);
	free(weir->devices);
	free(weir->pin_dir);
	free(weir);
}

static struct weir *weir_new(const char *pin_dir)
{
	struct weir *weir = calloc(1, sizeof(*weir));

	if (!weir)
		return NULL;
	pthread_mutex_init(&weir->hooks, NULL);
	pthread_mutex_init(&weir->classes, NULL);
	pthread_mutex_init(&weir->lookups, NULL);
	weir->link_fd = calloc(WEIR_PORTS, sizeof(*weir->link_fd));
	weir->meant = calloc(WEIR_PORTS, sizeof(*weir->meant));
	weir->devices = calloc(WEIR_PORTS, sizeof(*weir->devices));
	weir->pin_dir = pin_dir ? strdup(pin_dir) : NULL;
	weir->lock_fd = -1;
	memset(weir->map_fd, -1, sizeof(weir->map_fd));
	memset(weir->program_fd, -1, sizeof(weir->program_fd));
	if (!weir->link_fd || !weir->meant || !weir->devices || (pin_dir && !weir->pin_dir)) {
		weir_free(weir);
		return NULL;
	}
	memset(weir->link_fd, -1, WEIR_PORTS * sizeof(*weir->link_fd));
	return weir;
}

int weir_open(const char *pin_dir, const struct weir_options *options, struct weir **out, int *reused)
{
	struct weir *weir = weir_new(pin_dir);
	bool maps_reused = false, replaced = false;
	int error;

	*out = NULL;
	if (!weir)
		return weir_fail(ENOMEM, "no memory for a handle");
	weir->no_tcx = options->no_tcx;
	weir->no_flow = options->no_flow;
	weir->no_hops = options->no_hops;
	error = weir_maps_open(weir, options, &maps_reused);
	if (error)
		goto cleanup;
	weir->meant_meta = *weir_meta(weir);
	weir->meant_sources = *(struct weir_sources *)weir->map[WEIR_MAP_SOURCES];
	/* An earlier loader may have taken entries out just now. */
	if (maps_reused)
		weir_grace(weir);
	weir_totals_count(weir);
	error = weir_classes_open(weir);
	if (error)
		goto cleanup;
	error = weir_prefixes_open(weir);
	if (error)
		goto cleanup;
	weir_far_open(weir);
	error = weir_subqueues_open(weir);
	if (error)
		goto cleanup;
	if (maps_reused)
		weir_links_take(weir);
	weir_hops_open(weir);
	error = weir_programs_open(weir, maps_reused, &replaced);
	if (error)
		goto cleanup;
	weir_records_keep(weir);
	*reused = replaced ? 2 : maps_reused;
	*out = weir;
	weir = NULL;
cleanup:
	weir_close(weir);
	return error;
}

void weir_close(struct weir *weir)
{
	if (!weir)
		return;
	for (uint32_t place = 0; place < WEIR_PORTS; place++)
		for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
			if (weir->link_fd[place][program] >= 0)
				close(weir->link_fd[place][program]);
	for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
		if (weir->program_fd[program] >= 0)
			close(weir->program_fd[program]);
	weir_prefixes_close(weir);
	weir_refused_close(weir);
	weir_hops_close(weir);
	weir_maps_close(weir);
	weir_free(weir);
}
