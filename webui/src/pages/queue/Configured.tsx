// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { queueTypesQuery } from "@/api/queries";
import type { Pair, Queue, QueueType } from "@/api/types";
import { builtInWords, typeWords } from "@/kinds/queue-type/words";
import { Arrow, Facts, Section } from "@/ui/blocks";
import { durationText, limitWords } from "@/ui/rates";

type Fact = readonly [string, ReactNode];

const pair = <T,>(values: Pair<T>, text: (value: T) => string) => (
  <span>
    <Arrow direction="upload" /> {text(values.upload)} <Arrow direction="download" /> {text(values.download)}
  </span>
);

const orNone = (bps: number): string => (bps === 0 ? "none" : limitWords(bps));
const some = (values: Pair<number>): boolean => values.upload > 0 || values.download > 0;

/** The limits that both directions share, as far as any is set. */
function totalFacts({ total }: Queue): Fact[] {
  const facts: Fact[] = [];
  if (total.max_limit_bps > 0) facts.push(["Total limit", limitWords(total.max_limit_bps)]);
  if (total.limit_at_bps > 0) facts.push(["Total guarantee", limitWords(total.limit_at_bps)]);
  if (total.burst_limit_bps > 0)
    facts.push([
      "Total burst",
      `${limitWords(total.burst_limit_bps)} below ${orNone(total.burst_threshold_bps)} over ${durationText(total.burst_time_ms)}`,
    ]);
  if (total.priority !== 8) facts.push(["Total priority", total.priority]);
  return facts;
}

function TypeFact({ names, types }: { names: Pair<string>; types: readonly QueueType[] }) {
  const unlike = [...new Set([names.upload, names.download])];
  return (
    <>
      {unlike.map((name) => {
        const type = types.find((item) => item.id === name);
        return (
          <div key={name}>
            {unlike.length > 1 ? <Arrow direction={name === names.upload ? "upload" : "download"} /> : null}{" "}
            <Link to="/queue-types" search={{ edit: name }}>
              {name}
            </Link>
            {type ? <span className="dim">: {builtInWords(type) ?? typeWords(type)}</span> : null}
          </div>
        );
      })}
    </>
  );
}

function factsOf(queue: Queue, types: readonly QueueType[]): Fact[] {
  const facts: Fact[] = [["Limit", pair(queue.max_limit_bps, limitWords)]];
  if (some(queue.limit_at_bps)) facts.push(["Guarantee", pair(queue.limit_at_bps, orNone)]);
  if (some(queue.burst_limit_bps)) {
    facts.push(
      ["Burst", pair(queue.burst_limit_bps, orNone)],
      ["Burst threshold", pair(queue.burst_threshold_bps, orNone)],
      ["Burst time", pair(queue.burst_time_ms, durationText)],
    );
  }
  facts.push(...totalFacts(queue));
  facts.push(
    ["Priority", pair(queue.priority, String)],
    ["Queue type", <TypeFact key="type" names={queue.queue_type} types={types} />],
    ["Bucket", pair(queue.bucket_size_ms, durationText)],
  );
  if (queue.time)
    facts.push(["Only", `${queue.time.start} to ${queue.time.end}, ${queue.time.days.join(" ")}`]);
  if (queue.dst)
    facts.push([
      "Destination",
      <span key="dst" className="mono">
        {queue.dst}
      </span>,
    ]);
  facts.push([
    "Id, position",
    <span key="id" className="mono">
      {queue.id}, {queue.position}
    </span>,
  ]);
  if (queue.comment) facts.push(["Comment", queue.comment]);
  return facts;
}

export function Configured({ queue }: { queue: Queue }) {
  const types = useQuery(queueTypesQuery).data?.items ?? [];
  return (
    <Section title="As configured">
      <Facts items={factsOf(queue, types)} />
    </Section>
  );
}
