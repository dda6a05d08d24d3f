// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { queueDetailsQuery } from "@/api/queries";
import type { Queue, QueueDetails, QueueStats } from "@/api/types";
import { LiveValue, perSecond, type LiveText } from "@/table/LiveCell";
import type { Direction } from "@/table/RateBar";
import { Arrow } from "@/ui/blocks";
import { bytesText, countText, delayText, percentText } from "@/ui/format";
import { longRate } from "@/ui/rates";
import classes from "./Queue.module.css";

const DIRECTIONS = ["upload", "download"] as const;

type Pick = (stats: QueueStats, direction: Direction) => string;

const delay = (us: QueueStats["delay_us"], direction: Direction): string => (us ? delayText(us[direction]) : "–");

const FACTS: readonly (readonly [string, Pick])[] = [
  ["Now", (stats, direction) => longRate(stats.rate_bps[direction])],
  ["Last minute", (stats, direction) => longRate(stats.minute_rate_bps[direction])],
  ["Packets/s", (stats, direction) => perSecond(stats.packets_ps[direction])],
  ["Drops/s", (stats, direction) => perSecond(stats.drops_ps[direction])],
  ["ECN marks/s", (stats, direction) => perSecond(stats.marks_ps[direction])],
  ["Delay in the queue", (stats, direction) => delay(stats.delay_us, direction)],
  ["Longest delay", (stats, direction) => delay(stats.worst_delay_us, direction)],
  ["Carried", (stats, direction) => bytesText(stats.bytes[direction])],
  ["Dropped in all", (stats, direction) => countText(stats.drops[direction])],
];

/** Stable functions: a cell subscribes anew for each new one. */
const TEXTS: readonly Record<Direction, LiveText>[] = FACTS.map(([, pick]) => ({
  upload: (stats) => (stats.live ? pick(stats, "upload") : "–"),
  download: (stats) => (stats.live ? pick(stats, "download") : "–"),
}));

const fastPath: LiveText = (stats) => (stats.fast_share === null ? "–" : percentText(stats.fast_share));

type RoundTrip = QueueDetails["round_trips"]["upload"];
const tripText = (trip: RoundTrip | undefined): string => (trip ? `${delayText(trip.median_us)} (from ${delayText(trip.min_us)})` : "–");

/** To the queue's hosts and back, and to the far ends and back. */
function RoundTripRow({ id }: { id: string }) {
  const trips = useQuery(queueDetailsQuery(id)).data?.round_trips;
  return (
    <tr title="TCP, seen in passing; with the wait in the queue. Upload: to the far ends and back. Download: to the queue's hosts and back. Typical, and the shortest of the last ones.">
      <th scope="row">Round trip</th>
      {DIRECTIONS.map((direction) => <td key={direction} className="num">{tripText(trips?.[direction])}</td>)}
    </tr>
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
        {FACTS.map(([title], index) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            {DIRECTIONS.map((direction) => (
              <td key={direction} className="num">
                <LiveValue queueId={queue.id} text={TEXTS[index]?.[direction] ?? fastPath} />
              </td>
            ))}
          </tr>
        ))}
        <RoundTripRow id={queue.id} />
        <tr>
          <th scope="row">Share of the fast path</th>
          <td className="num" colSpan={2}>
            <LiveValue queueId={queue.id} text={fastPath} />
          </td>
        </tr>
      </tbody>
    </table>
  );
}
