// SPDX-License-Identifier: Apache-2.0
/*
 * Drives the forwarding rig from the router's network namespace.
 *
 *     rig OBJECT SINK_NAMESPACE CPUS
 *
 * Commands on stdin, one answer line each:
 *     near DEVICE PROGRAM           put `pass` or `count` on a device of the router
 *     far DEVICE PROGRAM            the same on a device of the sink
 *     run WAY DEVICE NETWORK ADDRESSES SHARERS SETTLE_MS MS BATCH    send from every CPU to the router's DEVICE;
 *                                   SHARERS CPUs have an equal share of the addresses each, 1: all have all; BATCH
 *                                   packets are made, then handled. Answers
 *                                   "MADE COUNTED LOST NANOSECONDS": packets made, counted at the sink, and
 *                                   dropped by the router's links because a ring was full
 * WAY is `stack` (received by DEVICE as by a driver without XDP), `wire` (sent by the far end of DEVICE, so
 * that XDP programs run) or `nowhere` (dropped at once: what making packets costs).
 *
 * The first SETTLE_MS of a run are not counted, and the run is stopped by a signal: short runs of BPF_PROG_RUN
 * spend their time in setting up and tearing down the page pool.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "mark.h"

#define MAX_CPUS 64
#define FRAME_BYTES 64
#define ENDLESS 2000000000
#define WORKER_PRIORITY 1 /* real time: what else this machine does must not spoil a round */

struct target {
	uint32_t network;
	uint32_t addresses;
	uint32_t sharers;
	uint8_t mac[6];
	uint16_t verdict;
};

enum { MADE, COUNTED };

struct rig {
	struct bpf_object *object;
	int generate, targets, counts, sink_namespace, own_namespace, cpus;
};

struct result {
	uint64_t made, counted, lost, ns;
};

/* How long to send: before anything is counted, and while it is. */
struct span {
	unsigned int settle_ms, ms;
};

/* To the emulator, if it has a plugin that looks for it; to others nothing. */
static void mark_begin(void)
{
#ifdef __x86_64__
	asm volatile(WEIR_MARK(WEIR_MARK_BEGIN)::: "memory");
#endif
}

static void mark_end(void)
{
#ifdef __x86_64__
	asm volatile(WEIR_MARK(WEIR_MARK_END)::: "memory");
#endif
}

struct worker {
	pthread_t thread;
	const struct rig *rig;
	const char *device;
	bool far; /* from the other end of the device, in the sink */
	int cpu, batch, error;
};

static volatile sig_atomic_t running;

static void nothing(int number)
{
	(void)number;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_ms(unsigned int ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static uint64_t counted(const struct rig *rig, uint32_t key)
{
	uint64_t values[MAX_CPUS * 8] = { 0 }, sum = 0;

	if (bpf_map_lookup_elem(rig->counts, &key, values))
		return 0;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		sum += values[cpu];
	return sum;
}

/* Packets that the links of this namespace dropped instead of sending them. */
static uint64_t lost(void)
{
	FILE *devices = fopen("/proc/net/dev", "r");
	unsigned long long dropped;
	char line[512];
	uint64_t sum = 0;

	if (!devices)
		return 0;
	while (fgets(line, sizeof(line), devices))
		if (sscanf(line, " %*[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", &dropped) == 1)
			sum += dropped;
	fclose(devices);
	return sum;
}

static struct result snapshot(const struct rig *rig)
{
	return (struct result){ counted(rig, MADE), counted(rig, COUNTED), lost(), now_ns() };
}

static struct result since(struct result after, struct result before)
{
	return (struct result){ after.made - before.made, after.counted - before.counted,
				after.lost - before.lost, after.ns - before.ns };
}

/* The index of the worker's device, in the namespace that it sends from. */
static uint32_t enter(const struct worker *worker)
{
	char far[IFNAMSIZ + 1];

	if (!worker->far)
		return if_nametoindex(worker->device);
	snprintf(far, sizeof(far), "%ss", worker->device);
	return setns(worker->rig->sink_namespace, CLONE_NEWNET) ? 0 : if_nametoindex(far);
}

static void *generate(void *argument)
{
	struct worker *worker = argument;
	uint8_t frame[FRAME_BYTES] = { 0 };
	struct xdp_md context = { .data_end = FRAME_BYTES };
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = FRAME_BYTES,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = ENDLESS,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = worker->batch);
	struct sched_param priority = { .sched_priority = WORKER_PRIORITY };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(worker->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
	context.ingress_ifindex = enter(worker);
	while (running) {
		int result = bpf_prog_test_run_opts(worker->rig->generate, &options);

		if (result < 0 && result != -EINTR) {
			worker->error = result;
			break;
		}
	}
	return NULL;
}

static int mac_of(const char *device, uint8_t mac[6])
{
	struct ifreq request = { 0 };
	int probe = socket(AF_INET, SOCK_DGRAM, 0), result;

	memcpy(request.ifr_name, device, strnlen(device, IFNAMSIZ - 1));
	result = ioctl(probe, SIOCGIFHWADDR, &request);
	close(probe);
	memcpy(mac, request.ifr_hwaddr.sa_data, 6);
	return result;
}

static int attach(const char *device, int program)
{
	unsigned int ifindex = if_nametoindex(device);

	return ifindex ? bpf_xdp_attach(ifindex, program, XDP_FLAGS_DRV_MODE, NULL) : -ENODEV;
}

static int attach_far(const struct rig *rig, const char *device, int program)
{
	int result;

	if (setns(rig->sink_namespace, CLONE_NEWNET))
		return -errno;
	result = attach(device, program);
	return setns(rig->own_namespace, CLONE_NEWNET) ? -errno : result;
}

/* Send from every CPU for a span; what became of the packets, and the ns of the counted part. */
static int run(const struct rig *rig, const char *way, const char *device, struct target target, int batch,
	       struct span span, struct result *result)
{
	struct worker workers[MAX_CPUS] = { 0 };
	bool far = !strcmp(way, "wire");
	uint32_t key = 0;
	int error = 0;

	target.verdict = far ? XDP_TX : strcmp(way, "stack") ? XDP_DROP : XDP_PASS;
	if (mac_of(device, target.mac) || bpf_map_update_elem(rig->targets, &key, &target, 0))
		return -ENODEV;
	running = true;
	for (int at = 0; at < rig->cpus; at++) {
		workers[at] = (struct worker){
			.rig = rig, .cpu = at, .device = device, .far = far, .batch = batch
		};
		pthread_create(&workers[at].thread, NULL, generate, &workers[at]);
	}
	pause_ms(span.settle_ms);
	*result = snapshot(rig);
	mark_begin();
	pause_ms(span.ms);
	mark_end();
	*result = since(snapshot(rig), *result);
	running = false;
	for (int at = 0; at < rig->cpus; at++)
		pthread_kill(workers[at].thread, SIGUSR1);
	for (int at = 0; at < rig->cpus; at++) {
		/* A signal may have come before the call that it was to interrupt. */
		while (pthread_tryjoin_np(workers[at].thread, NULL) == EBUSY) {
			pthread_kill(workers[at].thread, SIGUSR1);
			pause_ms(1);
		}
		error = error ? error : workers[at].error;
	}
	return error;
}

static int program(struct bpf_object *object, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, name));
}

static void answer(const struct rig *rig, const char *line)
{
	char device[IFNAMSIZ], name[16], way[16];
	struct target target = { 0 };
	struct result result;
	struct span span;
	int batch, error;

	if (sscanf(line, "near %15s %15s", device, name) == 2) {
		error = attach(device, program(rig->object, name));
		printf(error ? "error %d\n" : "ok\n", error);
	} else if (sscanf(line, "far %15s %15s", device, name) == 2) {
		error = attach_far(rig, device, program(rig->object, name));
		printf(error ? "error %d\n" : "ok\n", error);
	} else if (sscanf(line, "run %15s %15s %u %u %u %u %u %d", way, device, &target.network,
			  &target.addresses, &target.sharers, &span.settle_ms, &span.ms, &batch) == 8) {
		error = run(rig, way, device, target, batch, span, &result);
		if (error)
			printf("error %d\n", error);
		else
			printf("%llu %llu %llu %llu\n", (unsigned long long)result.made,
			       (unsigned long long)result.counted, (unsigned long long)result.lost,
			       (unsigned long long)result.ns);
	} else {
		printf("error unknown command\n");
	}
	fflush(stdout);
}

int main(int count, char **arguments)
{
	struct sched_param priority = { .sched_priority = WORKER_PRIORITY + 1 };
	struct sigaction action = { .sa_handler = nothing };
	struct bpf_object *object;
	char path[256], line[256];
	struct rig rig;

	if (count != 4) {
		fprintf(stderr, "usage: rig OBJECT SINK_NAMESPACE CPUS\n");
		return 2;
	}
	sigaction(SIGUSR1, &action, NULL);
	sched_setscheduler(0, SCHED_FIFO, &priority);
	object = bpf_object__open_file(arguments[1], NULL);
	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "rig: cannot load %s: %s\n", arguments[1], strerror(errno));
		return 1;
	}
	snprintf(path, sizeof(path), "/run/netns/%s", arguments[2]);
	rig = (struct rig){
		.object = object,
		.generate = program(object, "generate"),
		.targets = bpf_object__find_map_fd_by_name(object, "targets"),
		.counts = bpf_object__find_map_fd_by_name(object, "counts"),
		.sink_namespace = open(path, O_RDONLY | O_CLOEXEC),
		.own_namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
		.cpus = atoi(arguments[3]),
	};
	if (rig.sink_namespace < 0 || rig.cpus > MAX_CPUS) {
		fprintf(stderr, "rig: no namespace %s, or more than %d CPUs\n", arguments[2], MAX_CPUS);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		answer(&rig, line);
	return 0;
}
