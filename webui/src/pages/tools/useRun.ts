// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "react";
import { asProblem, type ApiProblem } from "@/api/problem";
import { eventsOf, saveAs, startTool, type ToolEvent } from "./runTool";
import { isFile, type Tool } from "./toolForms";

/** Older ones leave the page, so that it does not grow with the time that a tool runs. */
const MOST_EVENTS = 400;

export interface RunState {
  state: "idle" | "running" | "over";
  events: readonly ToolEvent[];
  problem: ApiProblem | null;
  /** What the tool cannot see. */
  note: string;
  bytes: number;
}

const IDLE: RunState = { state: "idle", events: [], problem: null, note: "", bytes: 0 };

/** One run at a time. It ends when the page is left. */
export function useRun(name: string, tool: Tool) {
  const [run, setRun] = useState<RunState>(IDLE);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const add = (event: ToolEvent) =>
    setRun((now) => ({
      ...now,
      events: [...keptBeside(tool, now.events, event), event].slice(-MOST_EVENTS),
    }));
  const start = async (body: unknown) => {
    const control = new AbortController();
    abort.current = control;
    setRun({ ...IDLE, state: "running" });
    try {
      const answer = await startTool(name, body, control.signal);
      setRun((now) => ({ ...now, note: answer.headers.get("X-Tool-Note") ?? "" }));
      if (isFile(tool)) {
        const content = await wholeFile(answer);
        setRun((now) => ({ ...now, bytes: content.size }));
        saveAs(content, `${name}.pcapng`);
      } else for await (const event of eventsOf(answer, control.signal)) add(event);
    } catch (error) {
      if (!control.signal.aborted) setRun((now) => ({ ...now, problem: asProblem(error) }));
    }
    setRun((now) => ended(tool, now, control.signal.aborted));
  };
  return { run, start, stop: () => abort.current?.abort() };
}

const CUT =
  "The file was cut short before its end, so it was not saved. The run was killed or the connection was lost.";

async function wholeFile(answer: Response): Promise<Blob> {
  try {
    return await answer.blob();
  } catch (error) {
    if (error instanceof TypeError) throw new Error(CUT);
    throw error;
  }
}

const LOST = "The output ended without saying why. The router's API may have been restarted.";

/** A run that is over; one whose last word is missing gets one. */
function ended(tool: Tool, now: RunState, isStopped: boolean): RunState {
  const over: RunState = { ...now, state: "over" };
  const isTold = now.problem !== null || now.events.some((item) => item.event === "end");
  if (!isStopped && (isTold || isFile(tool))) return over;
  const data = isStopped ? { reason: "stopped", message: null } : { reason: "lost", message: LOST };
  return { ...over, events: [...now.events, { event: "end", data }] };
}

/** The events that stay when another one comes: of those with a key one for each value. */
const keptBeside = (tool: Tool, events: readonly ToolEvent[], next: ToolEvent): readonly ToolEvent[] => {
  const value = tool.key === "" ? undefined : next.data[tool.key];
  return value === undefined ? events : events.filter((item) => item.data[tool.key] !== value);
};
