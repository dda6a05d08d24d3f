// SPDX-License-Identifier: Apache-2.0
import { Popover } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useFreshness, useSilence } from "@/api/live";
import { asProblem } from "@/api/problem";
import { systemQuery, unrepaired } from "@/api/queries";
import type { System } from "@/api/types";
import { Facts, SeverityIcon, type Severity } from "@/ui/blocks";
import { plural } from "@/ui/format";
import classes from "./Frame.module.css";

interface LampState {
  severity: Severity;
  text: string;
}

/** One word for agent, kernel and agreement; the worst of them wins. */
export function lampOf(system: System | undefined, failed: boolean): LampState {
  if (failed) return { severity: "error", text: "No answer" };
  if (!system) return { severity: "notice", text: "Asking" };
  if (!system.agent.connected) return { severity: "error", text: "Agent down" };
  if (system.agent.state === "failed" || system.health === "failed")
    return { severity: "error", text: "Failed" };
  if (system.agent.state === "drift" || unrepaired(system).length > 0)
    return { severity: "warning", text: "Drift" };
  if (system.agent.state === "starting") return { severity: "notice", text: "Starting" };
  if (system.agent.revision !== null && system.agent.revision !== system.revision)
    return { severity: "notice", text: "Applying" };
  if (system.health === "warning") return { severity: "warning", text: "Attention" };
  return { severity: "ok", text: "Healthy" };
}

function agreementText(system: System): string {
  if (!system.agent.connected) return "unknown";
  const open = unrepaired(system).length;
  return open === 0 ? "kernel and configuration agree" : plural(open, "difference");
}

export function Lamp() {
  const [open, setOpen] = useState(false);
  const query = useQuery(systemQuery);
  const freshness = useFreshness();
  const system = query.data;
  const silent = useSilence();
  const lamp = lampOf(system, query.isError || silent);
  return (
    <Popover
      opened={open}
      onChange={setOpen}
      position="bottom-end"
      width="min(330px, calc(100vw - 16px))"
      trapFocus={false}
    >
      <Popover.Target>
        <button
          type="button"
          className={classes.lamp}
          onClick={() => setOpen(!open)}
          aria-label={`Router state: ${lamp.text}`}
        >
          <SeverityIcon severity={lamp.severity} />
          <span className={classes.lampText}>{lamp.text}</span>
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Router state">
        <div className="stack">
          {query.isError ? <p className="bad">{asProblem(query.error).message}</p> : null}
          {system ? (
            <Facts
              items={[
                ["Agent", system.agent.connected ? system.agent.state : "not connected"],
                [
                  "Kernel holds",
                  system.agent.revision === null ? "unknown" : `revision ${system.agent.revision}`,
                ],
                ["Running", system.revision === null ? "unknown" : `revision ${system.revision}`],
                ["Agreement", agreementText(system)],
                ["Live data", freshness.state === "live" ? "every second" : freshness.state],
              ]}
            />
          ) : null}
          {system?.checks
            .filter((check) => check.state !== "ok")
            .map((check) => (
              <div key={check.id} className="row nowrap">
                <SeverityIcon severity={check.state === "failed" ? "error" : "warning"} />
                <span className={`grow ${classes.said ?? ""}`}>{check.message}</span>
              </div>
            ))}
          <Link to="/diagnostics" onClick={() => setOpen(false)}>
            Diagnostics
          </Link>
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
