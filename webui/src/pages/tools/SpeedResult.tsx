// SPDX-License-Identifier: Apache-2.0
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Arrow, Note } from "@/ui/blocks";
import { delayText } from "@/ui/format";
import { limitWords, longRate } from "@/ui/rates";
import { addedMs, gradeOf, type Load, type Told, type Trips, type Way } from "./speedRun";
import classes from "./SpeedResult.module.css";
import type { SpeedState } from "./useSpeed";

/** What was measured so far, and when it is over between whom and how much that says. */
export function SpeedResult({ run: { state, told, problem } }: { run: SpeedState }) {
  const isRunning = state === "running";
  const waiting = (step: Told["step"]) =>
    !isRunning ? "not measured" : told.step === step ? "measuring" : "waiting";
  return (
    <>
      {told.way ? <Between way={told.way} /> : null}
      <div className={classes.cards} data-live>
        <Card title="Without load" value={tripText(told.idle)} waiting={waiting("idle")} trips={told.idle} />
        <Direction way="download" load={told.download} waiting={waiting("download")} />
        <Direction way="upload" load={told.upload} waiting={waiting("upload")} />
      </div>
      {problem ? (
        <Note severity="error" live>
          {problem.message}
        </Note>
      ) : null}
      {state === "stopped" ? (
        <Note severity="notice" live>
          Stopped.
        </Note>
      ) : null}
      {state === "over" && !problem ? <Remarks told={told} /> : null}
    </>
  );
}

function Between({ way }: { way: Way }) {
  return (
    <p>
      Between this browser at <span className="mono">{way.address}</span> and the router
      {way.interface === null ? null : (
        <>
          , by the router’s interface <span className="mono">{way.interface}</span>
        </>
      )}
      .
    </p>
  );
}

function Direction({
  way,
  load,
  waiting,
}: {
  way: "download" | "upload";
  load: Load | undefined;
  waiting: string;
}) {
  const rate = load?.rateBps;
  const title = (
    <>
      <Arrow direction={way} /> {way === "download" ? "Download" : "Upload"}
    </>
  );
  return (
    <Card
      title={title}
      name={way}
      value={rate === undefined || rate === null ? null : longRate(rate)}
      waiting={waiting}
      trips={load}
    />
  );
}

interface CardProps {
  title: ReactNode;
  /** Of a direction; without load there is the round trip alone. */
  name?: string;
  value: string | null;
  waiting: string;
  trips: Trips | undefined;
}

function Card({ title, name, value, waiting, trips }: CardProps) {
  return (
    <div className={classes.card} role="group" aria-label={name ?? "without load"}>
      <span className="dim">{title}</span>
      {value === null ? (
        <span className={`${classes.value} ${classes.none} dim`}>{waiting}</span>
      ) : (
        <strong className={classes.value}>{value}</strong>
      )}
      <span className="dim">
        Round trip{name ? ` ${tripText(trips) ?? "–"}` : ""}
        {trips?.p95Ms == null ? "" : `, 95 % within ${msText(trips.p95Ms)}`}
      </span>
    </div>
  );
}

const msText = (ms: number): string => delayText(ms * 1000);
const tripText = (trips: Trips | undefined): string | null =>
  trips?.medianMs == null ? null : msText(trips.medianMs);

function Remarks({ told }: { told: Told }) {
  const added = addedMs(told);
  const { way } = told;
  return (
    <div className={classes.remarks}>
      {added === null ? null : (
        <Note severity={added < 60 ? "ok" : "warning"} live>
          Load adds {msText(added)} to the round trip (median, mean of both directions): grade{" "}
          <strong>{gradeOf(added)}</strong> on the scale of DSLReports (dslreports.com/faq/17930).
          {told.isShared ? " By HTTP/2, answers also wait behind the data of their own connection." : ""}
        </Note>
      )}
      {way?.queue ? (
        <Note severity="notice">
          Queue{" "}
          <Link to="/queues/$id" params={{ id: way.queue.id }}>
            {way.queue.name}
          </Link>{" "}
          limits downloads to this address to {limitWords(way.queue.limit_bps)}.
        </Note>
      ) : null}
      {way?.unknown ? <Note severity="notice">{way.unknown}.</Note> : null}
      <p className="dim">
        This browser and the router’s web server can be slower than the way between them. Queues limit what
        the router sends, not uploads to the router itself. What is behind the router was not measured.
      </p>
    </div>
  );
}
