// SPDX-License-Identifier: Apache-2.0
/*
 * Drives the forwarding rig from the router's network namespace.
 *
 *     rig OBJECT SINK_NAMESPACE
 *
 * Commands on stdin, one answer line each:
 *     port INGRESS EGRESS SINK_DEVICE     give the router's two devices and the sink's one their programs
 *     run INGRESS NETWORK ADDRESSES MS    send from every CPU; answers "PACKETS NANOSECONDS" as counted at the sink
 *
 * The first 60 ms of a run are not counted, and the run is stopped by a signal: short runs of BPF_PROG_RUN
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

#define MAX_CPUS 64
#define FRAME_BYTES 64
#define BATCH 64
#define SETTLE_MS 60
#define ENDLESS 2000000000
#define WORKER_PRIORITY 1 /* real time: what else this machine does must not spoil a round */

struct target {
	uint32_t network;
	uint32_t addresses;
	uint8_t mac[6];
	uint16_t pad;
};

struct rig {
	int generate, count, pass, targets, counts, sink_namespace, own_namespace, cpus;
};

struct worker {
	pthread_t thread;
	const struct rig *rig;
	int cpu, error;
	uint32_t ifindex;
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

static uint64_t counted(const struct rig *rig)
{
	uint64_t values[MAX_CPUS * 8] = { 0 }, sum = 0;
	uint32_t key = 1;

	if (bpf_map_lookup_elem(rig->counts, &key, values))
		return 0;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		sum += values[cpu];
	return sum;
}

static void *generate(void *argument)
{
	struct worker *worker = argument;
	uint8_t frame[FRAME_BYTES] = { 0 };
	struct xdp_md context = { .data_end = FRAME_BYTES, .ingress_ifindex = worker->ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = FRAME_BYTES,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = ENDLESS,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);
	struct sched_param priority = { .sched_priority = WORKER_PRIORITY };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(worker->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
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

static int add_port(const struct rig *rig, const char *ingress, const char *egress, const char *sink)
{
	int result = attach(ingress, rig->pass);

	if (!result)
		result = attach(egress, rig->pass);
	if (result)
		return result;
	if (setns(rig->sink_namespace, CLONE_NEWNET))
		return -errno;
	result = attach(sink, rig->count);
	if (setns(rig->own_namespace, CLONE_NEWNET))
		return -errno;
	return result;
}

/* Send from every CPU for ms; packets and ns of the counted part. */
static int run(const struct rig *rig, const char *ingress, struct target target, unsigned int ms,
	       uint64_t *packets, uint64_t *ns)
{
	struct worker workers[MAX_CPUS] = { 0 };
	uint32_t key = 0, ifindex = if_nametoindex(ingress);
	uint64_t begun;
	int error = 0;

	if (!ifindex || mac_of(ingress, target.mac) || bpf_map_update_elem(rig->targets, &key, &target, 0))
		return -ENODEV;
	running = true;
	for (int at = 0; at < rig->cpus; at++) {
		workers[at] = (struct worker){ .rig = rig, .cpu = at, .ifindex = ifindex };
		pthread_create(&workers[at].thread, NULL, generate, &workers[at]);
	}
	pause_ms(SETTLE_MS);
	*packets = counted(rig);
	begun = now_ns();
	pause_ms(ms);
	*packets = counted(rig) - *packets;
	*ns = now_ns() - begun;
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

static int serve(const struct rig *rig)
{
	char line[256], ingress[IFNAMSIZ], egress[IFNAMSIZ], sink[IFNAMSIZ];
	struct target target;
	uint64_t packets, ns;
	unsigned int ms;
	int result;

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "port %15s %15s %15s", ingress, egress, sink) == 3) {
			result = add_port(rig, ingress, egress, sink);
			printf(result ? "error %d\n" : "ok\n", result);
		} else if (sscanf(line, "run %15s %u %u %u", ingress, &target.network, &target.addresses,
				  &ms) == 4) {
			result = run(rig, ingress, target, ms, &packets, &ns);
			if (result)
				printf("error %d\n", result);
			else
				printf("%llu %llu\n", (unsigned long long)packets, (unsigned long long)ns);
		} else {
			printf("error unknown command\n");
		}
		fflush(stdout);
	}
	return 0;
}

static int program(struct bpf_object *object, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, name));
}

int main(int count, char **arguments)
{
	struct sched_param priority = { .sched_priority = WORKER_PRIORITY + 1 };
	struct sigaction action = { .sa_handler = nothing };
	struct bpf_object *object;
	char path[256];
	struct rig rig;

	if (count != 3) {
		fprintf(stderr, "usage: rig OBJECT SINK_NAMESPACE\n");
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
		.generate = program(object, "generate"),
		.count = program(object, "count"),
		.pass = program(object, "pass"),
		.targets = bpf_object__find_map_fd_by_name(object, "targets"),
		.counts = bpf_object__find_map_fd_by_name(object, "counts"),
		.sink_namespace = open(path, O_RDONLY | O_CLOEXEC),
		.own_namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
		.cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
	};
	if (rig.sink_namespace < 0 || rig.cpus > MAX_CPUS) {
		fprintf(stderr, "rig: no namespace %s, or more than %d CPUs\n", arguments[2], MAX_CPUS);
		return 1;
	}
	return serve(&rig);
}
