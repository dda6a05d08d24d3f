// SPDX-License-Identifier: Apache-2.0
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import type { Host, Queue } from "@/api/types";
import { HOST_COLUMNS } from "@/pages/hosts/hostColumns";
import { SimpleTable } from "@/table/SimpleTable";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { plural } from "@/ui/format";

const EVERY_MS = 10_000;
const MOST_TARGETS = 8;
const MOST_HOSTS = 100;
const SHOWN = ["address", "mac", "interface", "seen"];
const COLUMNS = HOST_COLUMNS.filter((column) => SHOWN.includes(column.id));

const hostsQuery = (target: string) => ({
  queryKey: ["hosts", "in", target],
  queryFn: () => need(api.GET("/api/v1/hosts", { params: { query: { q: target, limit: MOST_HOSTS } } })),
  refetchInterval: EVERY_MS,
});

/** Each host once, with those of its addresses that this queue limits. */
function ownHosts(found: readonly Host[], id: string): Host[] {
  const own = found.map((host) => ({
    ...host,
    addresses: host.addresses.filter((address) => address.queue?.id === id),
  }));
  return [
    ...new Map(own.filter((host) => host.addresses.length > 0).map((host) => [host.id, host])).values(),
  ];
}

/** Which of the queue's addresses the router has beside it now: plugged in, answering, or silent. */
export function QueueHosts({ queue }: { queue: Queue }) {
  const targets = queue.target.slice(0, MOST_TARGETS);
  const queries = useQueries({ queries: targets.map(hostsQuery) });
  if (targets.length === 0) return null;
  const failed = queries.find((query) => query.isError);
  const hosts = ownHosts(
    queries.flatMap((query) => query.data?.items ?? []),
    queue.id,
  );
  const left = queue.target.length - targets.length;
  return (
    <Section title="Hosts" flush={hosts.length > 0} aside={<Link to="/hosts">All hosts</Link>}>
      {failed ? <Note severity="warning">{asProblem(failed.error).message}</Note> : null}
      {hosts.length > 0 ? (
        <SimpleTable
          caption="Hosts of this queue"
          columns={COLUMNS}
          rows={hosts}
          rowKey={(host) => host.id}
        />
      ) : failed ? null : queries.some((query) => query.isPending) ? (
        <Skeleton lines={2} />
      ) : (
        <p className="dim">
          The router has no host of this queue beside it. Hosts behind another router are not listed.
        </p>
      )}
      {left > 0 ? (
        <p className="dim">The hosts of {plural(left, "more target")} are not listed here.</p>
      ) : null}
    </Section>
  );
}
