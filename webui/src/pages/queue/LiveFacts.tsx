// SPDX-License-Identifier: Apache-2.0
import type { Queue, QueueStats } from "@/api/types";
import { LiveValue } from "@/table/LiveCell";
import { bytesText, delayText, percentText } from "@/ui/format";
import { longRate } from "@/ui/rates";
import classes from "./Queue.module.css";

type Text = (stats: QueueStats) => string;

const whenLive = (text: Text): Text => (stats) => (stats.live ? text(stats) : "–");

const FACTS: readonly { title: React.ReactNode; text: Text }[] = [
  { title: <><span className="up">↑</span> now</>, text: whenLive((stats) => longRate(stats.rate_bps.upload)) },
  { title: <><span className="down">↓</span> now</>, text: whenLive((stats) => longRate(stats.rate_bps.download)) },
  { title: <><span className="up">↑</span> last minute</>, text: whenLive((stats) => longRate(stats.minute_rate_bps.upload)) },
  { title: <><span className="down">↓</span> last minute</>, text: whenLive((stats) => longRate(stats.minute_rate_bps.download)) },
  { title: "Drops/s", text: whenLive((stats) => (stats.drops_ps.upload + stats.drops_ps.download).toFixed(1)) },
  { title: "Dropped in all", text: (stats) => String(stats.drops.upload + stats.drops.download) },
  { title: "Delay in the queue", text: (stats) => (stats.delay_us ? `${delayText(stats.delay_us.upload)} / ${delayText(stats.delay_us.download)}` : "not measured") },
  { title: "Fast path", text: (stats) => (stats.fast_share === null ? "none" : percentText(stats.fast_share)) },
  { title: "Carried", text: (stats) => `${bytesText(stats.bytes.upload)} / ${bytesText(stats.bytes.download)}` },
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
