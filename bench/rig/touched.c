// SPDX-License-Identifier: Apache-2.0
/*
 * A plugin of QEMU (10 and later): what memory the kernel touches for each packet. bench/touched.py reads it.
 *
 *     lab/vm/run --count-instructions --plugin build/bench/touched.so ...
 *
 * The guest marks the measured time with two no-ops (mark.h), which mean nothing as long as there is no FOLDER/boundary.
 * A packet is all that the kernel does from one execution of the address in that file to the next. Of each, the distinct
 * lines of 64 bytes and pages of 4 KB that its instructions load from or store to are counted, by their kernel
 * addresses: what programs of the guest touch is not in it, nor are instructions fetched, nor page tables, which the
 * emulator walks by itself. A line is *cold* to a packet if none of the `NEAR` packets before touched it, as many as a
 * driver takes from its card at once, and *far* if none of the `FAR` packets before did.
 *
 * At the second mark FOLDER/touched is written, a line for each
 *     packets N                                      how many were summed up
 *     by INSTRUCTION LINES PAGES COLD_LINES COLD_PAGES FAR_LINES FAR_PAGES LOWEST HIGHEST
 *         of what this instruction was the first to touch in a packet; LOWEST and HIGHEST are addresses
 *     block ADDRESS INSTRUCTIONS TIMES               of the kernel's code, between two jumps
 *
 * The prototypes are those of QEMU's qemu-plugin.h, version 4, which distributions do not package.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*on_reset)(qemu_plugin_id_t id);
typedef void (*on_translation)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*on_execution)(unsigned int vcpu, void *context);
typedef void (*on_access)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *context);
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };

void qemu_plugin_reset(qemu_plugin_id_t id, on_reset call);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, on_translation call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, on_execution call, int flags,
					  void *context);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, on_execution call, int flags,
					    void *context);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, on_access call, int flags, int which,
				      void *context);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *into, size_t bytes);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);

#define LINE_SHIFT 6
#define PAGE_SHIFT 12
#define NEAR 64
#define FAR 1024
#define WARM_UP FAR /* packets that are looked at and not summed up: all is cold to the first */
#define PLACES (1U << 23) /* of the table of lines and pages; a power of two */

struct touches {
	uint64_t lines, pages, cold_lines, cold_pages, far_lines, far_pages;
};

/* An instruction that accesses memory. */
struct origin {
	struct origin *next;
	uint64_t address, lowest, highest;
	struct touches touches;
};

struct block {
	struct block *next;
	uint64_t address, instructions, times;
};

/* When a line or page was touched last. */
struct place {
	uint64_t key; /* 0: none */
	uint64_t packet;
};

EXPORT int qemu_plugin_version = 4;

static qemu_plugin_id_t self;
static char folder[4096];
static struct origin *origins;
static struct block *blocks;
static struct place *places;
static uint64_t boundary, packet, taken;
static bool counting;

static void fail(const char *what)
{
	fprintf(stderr, "touched: %s\n", what);
	exit(1);
}

static void *made(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		fail("out of memory");
	return memory;
}

static bool is_summed(void)
{
	return packet > WARM_UP;
}

static struct place *place_of(uint64_t key)
{
	uint32_t at = (key * 0x9e3779b97f4a7c15ULL) >> 32;

	for (;; at++) {
		struct place *place = &places[at & (PLACES - 1)];

		if (place->key == key)
			return place;
		if (!place->key) {
			if (++taken > PLACES / 2)
				fail("too many lines and pages");
			place->key = key;
			return place;
		}
	}
}

/* Packets since the line or page was touched last: 0, it was by this one. */
static uint64_t age(uint64_t key)
{
	struct place *place = place_of(key);
	uint64_t before = place->packet;

	place->packet = packet;
	return before ? packet - before : UINT64_MAX;
}

static void touch_line(struct origin *origin, uint64_t address)
{
	struct touches *touches = &origin->touches;
	uint64_t line = age(address >> LINE_SHIFT << 1 | 1), page;

	if (!line)
		return;
	page = age(address >> PAGE_SHIFT << 1);
	if (!is_summed())
		return;
	if (address < origin->lowest || !origin->lowest)
		origin->lowest = address;
	if (address > origin->highest)
		origin->highest = address;
	touches->lines++;
	touches->cold_lines += line > NEAR;
	touches->far_lines += line > FAR;
	touches->pages += page > 0;
	touches->cold_pages += page > NEAR;
	touches->far_pages += page > FAR;
}

static void accessed(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *context)
{
	uint64_t last;

	(void)vcpu;
	if (!counting || !packet)
		return;
	touch_line(context, address);
	last = address + (1U << qemu_plugin_mem_size_shift(info)) - 1;
	if (last >> LINE_SHIFT != address >> LINE_SHIFT)
		touch_line(context, last);
}

static void entered(unsigned int vcpu, void *context)
{
	struct block *block = context;

	(void)vcpu;
	if (!counting)
		return;
	if (block->address == boundary)
		packet++;
	if (is_summed())
		block->times++;
}

static FILE *opened(const char *name, const char *mode)
{
	char path[4200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, mode);
	if (!file && *mode == 'w')
		fail(path);
	return file;
}

static void write_touches(FILE *file, const struct touches *touches)
{
	fprintf(file, " %llu %llu %llu %llu %llu %llu", (unsigned long long)touches->lines,
		(unsigned long long)touches->pages, (unsigned long long)touches->cold_lines,
		(unsigned long long)touches->cold_pages, (unsigned long long)touches->far_lines,
		(unsigned long long)touches->far_pages);
}

static void end(void)
{
	FILE *file = opened("touched", "w");

	counting = false;
	fprintf(file, "packets %llu\n", (unsigned long long)(is_summed() ? packet - WARM_UP : 0));
	for (const struct origin *origin = origins; origin; origin = origin->next) {
		if (!origin->touches.lines)
			continue;
		fprintf(file, "by %llx", (unsigned long long)origin->address);
		write_touches(file, &origin->touches);
		fprintf(file, " %llx %llx\n", (unsigned long long)origin->lowest,
			(unsigned long long)origin->highest);
	}
	for (const struct block *block = blocks; block; block = block->next)
		if (block->times)
			fprintf(file, "block %llx %llu %llu\n", (unsigned long long)block->address,
				(unsigned long long)block->instructions, (unsigned long long)block->times);
	fclose(file);
}

static void begin(qemu_plugin_id_t id);
static void watch_for_marks(qemu_plugin_id_t id);

/* False: the guest measures something else. */
static bool is_wanted(void)
{
	FILE *file = opened("boundary", "r");
	unsigned long long address;

	if (!file)
		return false;
	if (fscanf(file, "%llx", &address) != 1)
		fail("no address in the file `boundary`");
	fclose(file);
	boundary = address;
	return true;
}

static void mark_begin(unsigned int vcpu, void *context)
{
	(void)vcpu;
	(void)context;
	if (!counting && is_wanted())
		qemu_plugin_reset(self, begin);
}

static void mark_end(unsigned int vcpu, void *context)
{
	(void)vcpu;
	(void)context;
	if (!counting)
		return;
	counting = false;
	end();
	qemu_plugin_reset(self, watch_for_marks);
}

/* All that is looked at of programs: no-ops that mark something. */
static void look_for_marks(struct qemu_plugin_insn *insn)
{
	static const uint8_t begins[] = { WEIR_MARK_BEGIN }, ends[] = { WEIR_MARK_END };
	uint8_t bytes[sizeof(begins)];

	if (qemu_plugin_insn_data(insn, bytes, sizeof(bytes)) != sizeof(bytes))
		return;
	if (!memcmp(bytes, begins, sizeof(bytes)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_begin, NO_REGISTERS, NULL);
	else if (!memcmp(bytes, ends, sizeof(bytes)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_end, NO_REGISTERS, NULL);
}

static struct origin *origin_of(uint64_t address)
{
	struct origin *origin = made(sizeof(*origin));

	*origin = (struct origin){ .next = origins, .address = address };
	return origins = origin;
}

static struct block *block_of(uint64_t address, size_t instructions)
{
	struct block *block = made(sizeof(*block));

	*block = (struct block){ .next = blocks, .address = address, .instructions = instructions };
	return blocks = block;
}

static bool is_kernel(struct qemu_plugin_tb *tb)
{
	return qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) >> 63;
}

/* Nothing is measured: this costs the guest next to nothing. */
static void translated_meanwhile(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	if (is_kernel(tb))
		return;
	for (size_t at = 0; at < qemu_plugin_tb_n_insns(tb); at++)
		look_for_marks(qemu_plugin_tb_get_insn(tb, at));
}

static void watch_for_marks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated_meanwhile);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	if (!is_kernel(tb)) {
		translated_meanwhile(id, tb);
		return;
	}
	for (size_t at = 0; at < count; at++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, at);

		qemu_plugin_register_vcpu_mem_cb(insn, accessed, NO_REGISTERS, READS_AND_WRITES,
						 origin_of(qemu_plugin_insn_vaddr(insn)));
	}
	qemu_plugin_register_vcpu_tb_exec_cb(
		tb, entered, NO_REGISTERS,
		block_of(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)), count));
}

static void forget(void)
{
	while (origins) {
		struct origin *next = origins->next;

		free(origins);
		origins = next;
	}
	while (blocks) {
		struct block *next = blocks->next;

		free(blocks);
		blocks = next;
	}
	memset(places, 0, PLACES * sizeof(*places));
	packet = taken = 0;
}

/* The emulator has forgotten all code that it had translated. */
static void begin(qemu_plugin_id_t id)
{
	forget();
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	counting = true;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *machine, int count, char **arguments);

int qemu_plugin_install(qemu_plugin_id_t id, const void *machine, int count, char **arguments)
{
	(void)machine;
	if (count != 1 || sscanf(arguments[0], "folder=%4095[^\n]", folder) != 1) {
		fprintf(stderr, "touched: say folder=FOLDER\n");
		return -1;
	}
	places = made(PLACES * sizeof(*places));
	self = id;
	watch_for_marks(id);
	return 0;
}
