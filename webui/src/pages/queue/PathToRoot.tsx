// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queuesByIdQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { LiveRate } from "@/table/LiveCell";
import { Arrow, Section } from "@/ui/blocks";
import { limitText } from "@/ui/rates";
import classes from "./Queue.module.css";

/** Where the queue hangs, with every ancestor's load: "it is not you, it is the tower". */
export function PathToRoot({ queue }: { queue: Queue }) {
  const ids = queue.path.map((ancestor) => ancestor.id);
  const ancestors = useQuery({ ...queuesByIdQuery(ids), enabled: ids.length > 0 }).data ?? [];
  const limitsOf = new Map(ancestors.map((ancestor) => [ancestor.id, ancestor.max_limit_bps]));
  const steps = [
    ...queue.path.map((ancestor) => ({
      ...ancestor,
      limits: limitsOf.get(ancestor.id) ?? { upload: 0, download: 0 },
    })),
    { id: queue.id, name: queue.name, limits: queue.max_limit_bps },
  ];
  return (
    <Section title={queue.path.length > 0 ? "Path to the root" : "Load"} flush>
      <ol className={classes.path}>
        {steps.map((step, depth) => (
          <li key={step.id} aria-current={step.id === queue.id ? "page" : undefined}>
            <span className={classes.pathName} style={{ paddingLeft: depth * 14 }}>
              {step.id === queue.id ? (
                step.name
              ) : (
                <Link to="/queues/$id" params={{ id: step.id }}>
                  {step.name}
                </Link>
              )}
            </span>
            {(["upload", "download"] as const).map((direction) => (
              <span key={direction} className={classes.rate}>
                <Arrow direction={direction} />
                <LiveRate queueId={step.id} direction={direction} limitBps={step.limits[direction]} />
                <span className="num dim">{limitText(step.limits[direction])}</span>
              </span>
            ))}
          </li>
        ))}
      </ol>
    </Section>
  );
}
