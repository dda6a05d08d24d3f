// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { queueDetailsQuery } from "@/api/queries";
import type { Queue, QueueStats } from "@/api/types";
import { LiveValue } from "@/table/LiveCell";
import {
  ABSENT,
  delayReason,
  fastShareOf,
  fastShareReason,
  perSecond,
  type Direction,
  type LiveReason,
  type LiveText,
} from "@/table/liveColumns";
import { Arrow } from "@/ui/blocks";
import { bytesText, countText, delayText } from "@/ui/format";
import { longRate } from "@/ui/rates";
import classes from "./Queue.module.css";

const DIRECTIONS = ["upload", "download"] as const;

type Pick = (stats: QueueStats, direction: Direction) => string;

const delay = (us: QueueStats["delay_us"], direction: Direction): string =>
  us ? delayText(us[direction]) : ABSENT;

const FACTS: readonly (readonly [string, Pick, LiveReason?])[] = [
  ["Now", (stats, direction) => longRate(stats.rate_bps[direction])],
  ["Last minute", (stats, direction) => longRate(stats.minute_rate_bps[direction])],
  ["Packets/s", (stats, direction) => perSecond(stats.packets_ps[direction])],
  ["Drops/s", (stats, direction) => perSecond(stats.drops_ps[direction])],
  ["ECN marks/s", (stats, direction) => perSecond(stats.marks_ps[direction])],
  ["Delay in the queue", (stats, direction) => delay(stats.delay_us, direction), delayReason],
  ["Longest delay", (stats, direction) => delay(stats.worst_delay_us, direction), delayReason],
  ["Carried", (stats, direction) => bytesText(stats.bytes[direction])],
  ["Dropped in all", (stats, direction) => countText(stats.drops[direction])],
];

/** Stable functions: a cell subscribes again for each new one. */
const TEXTS: readonly Record<Direction, LiveText>[] = FACTS.map(([, pick]) => ({
  upload: (stats) => (stats.live ? pick(stats, "upload") : "–"),
  download: (stats) => (stats.live ? pick(stats, "download") : "–"),
}));

type Trip = { median_us: number; min_us: number } | null | undefined;
const tripText = (trip: Trip): string =>
  trip ? `${delayText(trip.median_us)} (from ${delayText(trip.min_us)})` : "–";

const WHICH_WAY = "Upload: to the far ends and back. Download: to the hosts and back.";
const TRIPS = `TCP, seen in passing; with the wait in the queue. ${WHICH_WAY} Typical, and the shortest of the last ones.`;
const TRIPS_BELOW = `TCP of the queues below that showed any in the last minute, each counted once. ${WHICH_WAY} The queue in the middle, and the shortest of all.`;

/** Of the queue's own packets; of the queues below where there are any. */
function RoundTripRows({ id }: { id: string }) {
  const trips = useQuery(queueDetailsQuery(id)).data?.round_trips;
  const below = trips?.below;
  const queues = Math.max(below?.upload?.queues ?? 0, below?.download?.queues ?? 0);
  return (
    <>
      <tr title={TRIPS}>
        <th scope="row">Round trip</th>
        {DIRECTIONS.map((direction) => (
          <td key={direction} className="num">
            {tripText(trips?.[direction])}
          </td>
        ))}
      </tr>
      {queues > 0 && (
        <tr title={TRIPS_BELOW}>
          <th scope="row">Round trip of {countText(queues)} below</th>
          {DIRECTIONS.map((direction) => (
            <td key={direction} className="num">
              {tripText(below?.[direction])}
            </td>
          ))}
        </tr>
      )}
    </>
  );
}

export function LiveFacts({ queue }: { queue: Queue }) {
  return (
    <table className={classes.live} data-testid="live-facts">
      <caption className="hidden-text">Measured now</caption>
      <thead>
        <tr>
          <th scope="col">
            <span className="hidden-text">What</span>
          </th>
          {DIRECTIONS.map((direction) => (
            <th key={direction} scope="col" className="num">
              <Arrow direction={direction} /> {direction}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {FACTS.map(([title, , why], index) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            {DIRECTIONS.map((direction) => (
              <td key={direction} className="num">
                <LiveValue queueId={queue.id} text={TEXTS[index]?.[direction] ?? fastShareOf} why={why} />
              </td>
            ))}
          </tr>
        ))}
        <RoundTripRows id={queue.id} />
        <tr>
          <th scope="row">Share of the fast path</th>
          <td className="num" colSpan={2}>
            <LiveValue queueId={queue.id} text={fastShareOf} why={fastShareReason} />
          </td>
        </tr>
      </tbody>
    </table>
  );
}
