/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of libweir share. Nothing here is seen by callers. */
#ifndef WEIR_INTERNAL_H
#define WEIR_INTERNAL_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"
#include "weir/abi.h"

enum weir_map {
	WEIR_MAP_LINES,
	WEIR_MAP_DETAILS,
	WEIR_MAP_PREFIX4,
	WEIR_MAP_PREFIX6,
	WEIR_MAP_V4,
	WEIR_MAP_PORTS,
	WEIR_MAP_PORT_COUNTERS,
	WEIR_MAP_DEVICES,
	WEIR_MAP_UP,
	WEIR_MAP_QUANTA,
	WEIR_MAP_WAITS,
	WEIR_MAP_FLOWS,
	WEIR_MAP_SUBQUEUES,
	WEIR_MAP_HOSTS,
	WEIR_MAP_FAR,
	WEIR_MAP_TRIPS,
	WEIR_MAP_LOSSES,
	WEIR_MAP_HOST_NAMES,
	WEIR_MAP_SOURCES,
	WEIR_MAP_USED,
	WEIR_MAP_CHECKS,
	WEIR_MAP_BOUNDED,
	WEIR_MAP_HOPS,
	WEIR_MAP_HOP_STATE,
	WEIR_MAP_REGIONS,
	WEIR_MAP_META, /* last: its pin says that all others are there */
	WEIR_MAPS,
};

enum weir_program { WEIR_INGRESS, WEIR_EGRESS, WEIR_FAST, WEIR_PROGRAMS };

/* A growing array of fixed-size items; `items` is freed by weir_list_free. */
struct weir_list {
	void *items;
	size_t count, capacity, size;
};

/* Of one map that lookups read, by pages of 4 KB (watched.c). */
struct weir_watched {
	const char *memory;
	uint32_t pages;
	uint64_t *sums; /* NULL until it is opened */
	uint64_t total; /* of all sums and places */
	bool *is_touched; /* by the change in progress */
	uint32_t *touched, touched_count;
	bool is_wrong; /* somebody else wrote there */
};

enum { WEIR_WATCHED4, WEIR_WATCHED6, WEIR_WATCHED_TREE, WEIR_WATCHED };

/* The hash table of one family, with what the loader knows about it and the kernel does not. */
struct weir_table {
	struct weir_prefix *entries;
	uint32_t mask;
	uint32_t live, limit;
	uint32_t tombs; /* dead entries, which probes walk over */
	uint8_t *state; /* per entry: WEIR_ENTRY_* */
	struct weir_list dead; /* uint32_t: entries that wait for a grace period */
	struct weir_watched *watched;
};

/* The far ends as this process left them (far.c). */
struct weir_far_watch {
	uint64_t sum; /* of all entries, in any order */
	uint64_t due_ns; /* of the next look, CLOCK_MONOTONIC */
	bool is_wrong; /* somebody else changed them before this process did */
};

#define WEIR_ENTRY_QUARANTINED 1
#define WEIR_ENTRY_ADDED 2 /* by the change in progress */

struct weir_tree {
	struct weir_v4_unit *units;
	uint32_t count, used, next, domains;
	uint8_t *state; /* per unit: 0 free, WEIR_UNIT_* */
	struct weir_list retired; /* struct weir_span: wait for a grace period */
	struct weir_watched *watched;
};

struct weir {
	char *pin_dir; /* NULL: nothing pinned */
	int lock_fd;
	int map_fd[WEIR_MAPS];
	void *map[WEIR_MAPS]; /* mapped memory; NULL for those that have none */
	size_t map_bytes[WEIR_MAPS];
	bool lookups_resting, lookups_used; /* tables and tree are not mapped; were used since weir_rest */
	int program_fd[WEIR_PROGRAMS];
	uint32_t program_id[WEIR_PROGRAMS];
	int (*link_fd)[WEIR_PROGRAMS]; /* by port place; -1 = none */
	/* Of ports, links and pins: the guard looks after them while another thread uses the handle. */
	pthread_mutex_t hooks;
	struct weir_port *meant; /* the port table as this process left it (guard.c) */
	uint32_t records_mended; /* since the guard told of it */
	pthread_mutex_t classes; /* held while classes are written */
	uint64_t *digests; /* by line: of what was written to it, 0 = nobody's */
	uint32_t digests_end; /* no line from here on was ever written */
	uint32_t next_digest; /* where the guard's next look begins */
	const struct weir_controller *controller; /* who lends rates, if anybody */
	uint32_t *devices; /* by port place: the index in the device map, 0 = none */
	bool no_tcx, no_flow, no_hops;
	char flow_reason[160]; /* why the fast path cannot ask the flow table; empty when it can */
	pthread_mutex_t
		lookups; /* held while prefixes, tree, lengths and far ends are used; taken before `classes` */
	struct weir_meta meant_meta; /* as this process left it (guard.c) */
	struct weir_sources meant_sources; /* likewise */
	struct weir_watched watched[WEIR_WATCHED];
	int look_map; /* where the guard's next look begins */
	uint32_t look_page;
	struct weir_far_watch far;
	struct weir_table table[2]; /* v4, v6 */
	struct weir_tree tree;
	uint32_t length_count[129]; /* v6 prefixes by length */
	uint32_t classes_generation; /* counts changes of classes, for the share controller */
	uint32_t subqueues_used, subqueues_next; /* rows; where to look for a free one */
	struct weir_subqueues *meant_rows; /* what is configured of them, as this process left it */
	struct weir_refused *refused; /* NULL: not watched */
	struct weir_hops *hops; /* NULL: changes of neighbours are not counted */
	char hops_reason[160]; /* why the FIB's answers are not kept; empty when they are */
	bool lengths_retired; /* the inactive list may still be read */
};

static inline struct weir_line *weir_lines(struct weir *weir)
{
	return weir->map[WEIR_MAP_LINES];
}

static inline struct weir_detail *weir_details(struct weir *weir)
{
	return weir->map[WEIR_MAP_DETAILS];
}

static inline struct weir_subqueues *weir_subqueue_rows(struct weir *weir)
{
	return weir->map[WEIR_MAP_SUBQUEUES];
}

static inline struct weir_port *weir_port_table(struct weir *weir)
{
	return weir->map[WEIR_MAP_PORTS];
}

static inline struct weir_meta *weir_meta(struct weir *weir)
{
	return weir->map[WEIR_MAP_META];
}

/* A store that packets see at once and whole. */
#define weir_publish(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)

/* The same in the copy that the guard compares with. */
#define weir_meta_store(weir, field, value)                                                                  \
	do {                                                                                                 \
		(weir)->meant_meta.field = (value);                                                          \
		weir_publish(&weir_meta(weir)->field, (weir)->meant_meta.field);                             \
	} while (0)

/* error.c: keep the sentence, return -error */
int weir_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* list.c */
void *weir_list_add(struct weir_list *list, size_t size); /* NULL: no memory */
void weir_list_free(struct weir_list *list);

/* map_shapes.c */
bool weir_map_is_mappable(enum weir_map map);
uint32_t weir_map_value_size(enum weir_map map, const struct weir_meta *meta);
uint32_t weir_map_entry_count(enum weir_map map, const struct weir_meta *meta);
int weir_map_create(enum weir_map map, const struct weir_meta *meta); /* its descriptor */

/* maps.c */
extern const char *const weir_map_names[WEIR_MAPS];
int weir_maps_open(struct weir *weir, const struct weir_options *options, bool *reused);
void weir_maps_close(struct weir *weir);
int weir_pins_mend(struct weir *weir, uint32_t *mended); /* of the maps, and the folder itself */
int weir_pin_path(const struct weir *weir, const char *name, char *path, size_t size);
void weir_unpin(const struct weir *weir, const char *name);

/* Ticks per byte (8e9 * 16 / rate, rounded), WEIR_COST_SHIFT fractional bits; 0 = unlimited. */
static inline uint64_t weir_cost_of(uint64_t rate_bps)
{
	const uint64_t second = 8000000000ULL << WEIR_TICK_SHIFT << WEIR_COST_SHIFT;

	return rate_bps ? (second + rate_bps / 2) / rate_bps ?: 1 : 0;
}

#define WEIR_NS_TO_TIME(ns) ((ns) << WEIR_TICK_SHIFT >> WEIR_TIME_SHIFT)
#define WEIR_TIME_TO_NS(time) ((uint64_t)(time) << WEIR_TIME_SHIFT >> WEIR_TICK_SHIFT)
#define WEIR_TIME_MAX_NS WEIR_TIME_TO_NS(UINT32_MAX)

/* refused.c */
void weir_refused_close(struct weir *weir);
int weir_refused_fd(struct weir *weir); /* of the program; the caller closes it */
uint64_t weir_refused_at(struct weir *weir, uint32_t place);

/* hops.c */
uint32_t weir_hop_count(void); /* rows of all processors */
uint32_t weir_cpu_rows(void); /* the processors that may ever be there, rounded up to a power of two */
void weir_hops_open(struct weir *weir);
void weir_hops_close(struct weir *weir);
int weir_hop_pins_mend(struct weir *weir, uint32_t *mended);
void weir_hops_unpin(const struct weir *weir);
int weir_hops_fd(struct weir *weir); /* of the first of its programs, which are alike; the caller closes it */

/* routing.c; the caller holds `lookups` */
uint32_t weir_sources_mend(struct weir *weir); /* words that were not as meant */

/* bounded.c */
uint32_t weir_bounded_role(struct weir *weir); /* WEIR_ROLE_BOUNDED while some source is bounded, else 0 */

/* subqueues.c */
int weir_subqueues_open(struct weir *weir);
uint32_t weir_subqueues_mend(struct weir *weir); /* rows that were not as configured; holds `classes` */
void weir_round_trips_clear(struct weir *weir, uint32_t line);

/* losses.c */
void weir_losses_clear(struct weir *weir, uint32_t line);
void weir_subqueues_clear(struct weir *weir, uint32_t line); /* a line that is cleared gives its row back */
bool weir_subqueues_by_source(struct weir *weir); /* some upload has them: ports need WEIR_ROLE_HOSTS */

struct weir_host_rate;
/* hosts.c: fill in whose sub-queue this is, as far as it is known; `key` as in struct weir_host, `index` its place. */
void weir_host_name(struct weir *weir, uint64_t key, uint32_t index, struct weir_host_rate *out);

uint32_t weir_hosts_busy(struct weir *weir); /* sub-queues without their whole credit */

/* ports.c */
bool weir_is_program_of(enum weir_program program, uint32_t roles);

/* guard.c; the caller holds `hooks` */
void weir_records_mend(struct weir *weir); /* those that are not as this process left them */
void weir_records_keep(struct weir *weir); /* they are as they are meant to be now */

/* programs.c */
extern const char *const weir_program_names[WEIR_PROGRAMS];
int weir_programs_open(struct weir *weir, bool reused, bool *replaced);
int weir_program_pins_mend(struct weir *weir, uint32_t *mended);

static inline uint32_t weir_port_place(struct weir *weir, const struct weir_port *port)
{
	return port - weir_port_table(weir);
}

/* links.c */
uint32_t weir_role_of(enum weir_program program);
enum weir_link_state {
	WEIR_LINK_RIGHT,
	WEIR_LINK_BEHIND, /* another program runs first, and may end the chain */
	WEIR_LINK_OTHER_PROGRAM,
	WEIR_LINK_DETACHED,
	WEIR_LINK_NO_DEVICE,
};

void weir_links_take(struct weir *weir);
enum weir_link_state weir_link_state(struct weir *weir, const struct weir_port *port,
				     enum weir_program program);
bool weir_link_is_pinned(struct weir *weir, const struct weir_port *port, enum weir_program program);
int weir_link_pin(struct weir *weir, const struct weir_port *port, enum weir_program program);
int weir_link_attach(struct weir *weir, struct weir_port *port, enum weir_program program);
void weir_link_detach(struct weir *weir, const struct weir_port *port, enum weir_program program);
/* Whether packets of the fast path may go there. */
int weir_device_set(struct weir *weir, const struct weir_port *port, bool present);
int weir_links_update(struct weir *weir); /* make every link run program_fd[] */

/* grace.c: wait until no packet uses what was taken out before; and then make it free */
void weir_synchronize(void);
void weir_grace(struct weir *weir);

/* table.c */
int weir_table_open(struct weir_table *table, struct weir_prefix *entries, uint32_t count, uint32_t limit);
void weir_table_close(struct weir_table *table);
struct weir_prefix *weir_table_find(struct weir_table *table, uint64_t high, uint64_t low, uint32_t tag);
/* NULL: no place (a grace period may help) */
struct weir_prefix *weir_table_insert(struct weir_table *table, const struct weir_prefix *prefix);
int weir_table_remove(struct weir_table *table, struct weir_prefix *prefix);
void weir_table_restore(struct weir_table *table, struct weir_prefix *prefix, uint32_t tag);
void weir_table_after_grace(struct weir_table *table);
/* Move entries towards their places, so that probes stay short after years of changes. */
bool weir_table_is_worn(const struct weir_table *table);
int weir_table_move(struct weir_table *table, struct weir_list *moved); /* then, after a grace period, */
int weir_table_moved(struct weir_table *table, const struct weir_list *moved);
void weir_table_sweep(struct weir_table *table); /* after a grace period without anything to move */
/* Somebody else wrote there: what is left stands where it is found; entries that `is_possible` refuses go. */
int weir_table_mend(struct weir_table *table, const struct weir *weir,
		    bool (*is_possible)(const struct weir *weir, const struct weir_table *table,
					const struct weir_prefix *prefix));

/* tree4.c */
struct weir_change4 { /* sorted by domain, address, length; each prefix once */
	uint32_t address;
	uint16_t domain;
	uint8_t length;
	bool remove;
	uint32_t leaf; /* entry for this prefix, or of the prefix that covers a removed one */
};

int weir_tree_open(struct weir_tree *tree, struct weir_v4_unit *units, uint32_t count, uint32_t domains);
void weir_tree_close(struct weir_tree *tree);
/* -ENOSPC: nothing has changed; a grace period may help. `afresh`: as if the tree were empty before. */
int weir_tree_change(struct weir_tree *tree, const struct weir_change4 *changes, size_t count, bool afresh);
void weir_tree_after_grace(struct weir_tree *tree);
void weir_tree_forget(struct weir_tree *tree); /* all but the first level is free: before it is made afresh */
uint32_t weir_tree_lookup(const struct weir_tree *tree, uint32_t domain, uint32_t address);

static inline uint32_t weir_leaf(uint32_t slot, uint32_t length)
{
	return slot | (length + 1) << WEIR_V4_DEPTH_SHIFT;
}

/* classes.c */
int weir_classes_open(struct weir *weir);
struct weir_guard;
void weir_classes_guard(struct weir *weir, struct weir_guard *out); /* a part of them at a time */

/* watched.c; the caller holds `lookups` */
int weir_watched_open(struct weir *weir, bool *differs);
void weir_watched_close(struct weir *weir);
void weir_touch(struct weir_watched *watched, const void *first, size_t bytes); /* before storing there */
void weir_watched_settle(struct weir *weir); /* a change is done */
void weir_watched_adopt(struct weir *weir, int which); /* what is there now is right */
void weir_watched_look(struct weir *weir); /* a part at a time; sets `is_wrong` */

/* support.c: for libbpf, whose words an error's number makes up for */
enum libbpf_print_level;
/* The inode of the calling thread's network namespace, as programs see it. */
int weir_own_namespace(uint32_t *inode);
int weir_silent(enum libbpf_print_level level, const char *format, va_list arguments);

/* section.c: put an object's map or section of this name, if it has one, onto a map that is there already */
struct bpf_object;
int weir_object_use(struct bpf_object *object, const char *name, int fd);

/* far.c; the caller holds `lookups` */
void weir_far_open(struct weir *weir);
bool weir_far_is_wrong(struct weir *weir);

/* guard.c */
void weir_guard_tell(struct weir_guard *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

void weir_totals_count(struct weir *weir);

/* prefixes.c */
int weir_prefix_check(struct weir *weir, const struct weir_prefix_spec *spec, bool add);
int weir_prefixes_rebuild(struct weir *weir); /* the IPv4 tree from its table */

/* prefixes_open.c */
int weir_prefixes_open(struct weir *weir);
void weir_prefixes_close(struct weir *weir);
int weir_prefixes_mend(struct weir *weir); /* what is wrong by `watched`; the caller holds `lookups` */

/* tables.c */
void weir_prefix_spec_of(const struct weir_prefix *prefix, int family, struct weir_prefix_spec *spec);
int weir_lengths_publish(struct weir *weir, const uint32_t *counts);
int weir_lookup_maps_take(struct weir *weir); /* before every use of `table` and `tree` after opening */
int weir_tables_tidy(struct weir *weir);

#endif
