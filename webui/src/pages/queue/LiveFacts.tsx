// SPDX-License-Identifier: Apache-2.0
import type { Queue, QueueStats } from "@/api/types";
import { LiveValue, perSecond } from "@/table/LiveCell";
import { Arrow } from "@/ui/blocks";
import { bytesText, countText, delayText, percentText } from "@/ui/format";
import { longRate } from "@/ui/rates";
import classes from "./Queue.module.css";

type Text = (stats: QueueStats) => string;

const whenLive = (text: Text): Text => (stats) => (stats.live ? text(stats) : "–");

const delays = (us: QueueStats["delay_us"]): string => (us ? `${delayText(us.upload)} / ${delayText(us.download)}` : "not measured");
const both = (words: string) => (
  <>
    {words} <Arrow direction="upload" /> / <Arrow direction="download" />
  </>
);
const one = (direction: "upload" | "download", words: string) => (
  <>
    <Arrow direction={direction} /> {words}
  </>
);

const FACTS: readonly { title: React.ReactNode; text: Text }[] = [
  { title: one("upload", "now"), text: whenLive((stats) => longRate(stats.rate_bps.upload)) },
  { title: one("download", "now"), text: whenLive((stats) => longRate(stats.rate_bps.download)) },
  { title: one("upload", "last minute"), text: whenLive((stats) => longRate(stats.minute_rate_bps.upload)) },
  { title: one("download", "last minute"), text: whenLive((stats) => longRate(stats.minute_rate_bps.download)) },
  { title: both("Drops/s"), text: whenLive((stats) => `${perSecond(stats.drops_ps.upload)} / ${perSecond(stats.drops_ps.download)}`) },
  { title: both("ECN marks/s"), text: whenLive((stats) => `${perSecond(stats.marks_ps.upload)} / ${perSecond(stats.marks_ps.download)}`) },
  { title: both("Delay in the queue"), text: (stats) => delays(stats.delay_us) },
  { title: both("Longest delay"), text: (stats) => delays(stats.worst_delay_us) },
  { title: "Fast path", text: (stats) => (stats.fast_share === null ? "none" : percentText(stats.fast_share)) },
  { title: both("Carried"), text: (stats) => `${bytesText(stats.bytes.upload)} / ${bytesText(stats.bytes.download)}` },
  { title: both("Dropped in all"), text: (stats) => `${countText(stats.drops.upload)} / ${countText(stats.drops.download)}` },
];

export function LiveFacts({ queue }: { queue: Queue }) {
  return (
    <dl className={classes.live} data-testid="live-facts">
      {FACTS.map((fact, index) => (
        <div key={index}>
          <dt>{fact.title}</dt>
          <dd>
            <LiveValue queueId={queue.id} text={fact.text} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
