// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "react";
import { asProblem, type ApiProblem } from "@/api/problem";
import { measureSpeed, type Told } from "./speedRun";

export interface SpeedState {
  state: "idle" | "running" | "over" | "stopped";
  told: Told;
  problem: ApiProblem | null;
}

/** One test at a time. It ends when the page is left. */
export function useSpeed() {
  const [run, setRun] = useState<SpeedState>({ state: "idle", told: {}, problem: null });
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const start = async (body: unknown) => {
    const control = new AbortController();
    abort.current = control;
    setRun({ state: "running", told: {}, problem: null });
    const tell = (told: Told) => setRun((now) => ({ ...now, told: { ...now.told, ...told } }));
    try {
      await measureSpeed((body as { seconds: number }).seconds, control.signal, tell);
    } catch (error) {
      if (!control.signal.aborted) setRun((now) => ({ ...now, problem: asProblem(error) }));
    }
    setRun((now) => ({ ...now, state: control.signal.aborted ? "stopped" : "over" }));
  };
  return { run, start, stop: () => abort.current?.abort() };
}
