// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ONLY_READS, useMay } from "@/api/may";
import { whyQuery, type WhyAsked } from "@/api/diagnosis";
import type { Queue, Why } from "@/api/types";
import { NAMED } from "@/kinds/names";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Arrow, Note, Section, Skeleton, Tag } from "@/ui/blocks";
import { agoText, clause, sentence } from "@/ui/format";
import { RaiseButton } from "./Raise";
import classes from "./WhySlow.module.css";

type Place = Why["line"][number];
type Fix = Place["fixes"][number];
type Loss = Why["losses"][number];
type Figure = Place["numbers"][number];

const PLACES: Record<Place["place"], string> = {
  device: "Device",
  access: "Port",
  queue: "Queue",
  parent: "Above",
  router: "Router",
  uplink: "Uplink",
  internet: "Internet",
};

const STATES: Record<Place["state"], readonly [string, "bad" | "warn" | "ok" | undefined]> = {
  culprit: ["Culprit", "bad"],
  trouble: ["Also in trouble", "warn"],
  clear: ["Ruled out", "ok"],
  unknown: ["Not known", undefined],
};

const UPLINKS = NAMED.get("uplink")?.page ?? "";

const WHERE: Record<Loss["where"], string> = {
  before: "before this router",
  here: "in this router",
  after: "after this router",
};

/** The customer's line from the device to the internet: one culprit, and what is ruled out (docs/diagnosis.md). */
export function WhySlow({ queue }: { queue: Queue }) {
  const asked = useQuery(whyQuery({ queue: queue.id })).data;
  return (
    <Section title="Why slow?" aside={<MeasuredAt asked={asked} />}>
      <WhyAnswer asked={asked} queue={queue} />
    </Section>
  );
}

export function MeasuredAt({ asked }: { asked: WhyAsked | undefined }) {
  return asked?.found ? <span className="dim">measured {agoText(asked.found.at)}</span> : null;
}

interface WhyAnswerProps {
  asked: WhyAsked | undefined;
  /** The one that limits the customer, where it is known. */
  queue: Queue | undefined;
}

export function WhyAnswer({ asked, queue }: WhyAnswerProps) {
  if (!asked) return <Skeleton lines={3} />;
  if (asked.found) return <Answer found={asked.found} queue={queue} />;
  const { status, message } = asked.problem;
  const isRefused = status >= 400 && status < 500;
  return (
    <Note severity={isRefused ? "error" : "warning"} live>
      {isRefused ? sentence(message) : `Not known: ${clause(message)}`}
    </Note>
  );
}

function Answer({ found, queue }: { found: Why; queue: Queue | undefined }) {
  const culprit = found.culprit === null ? undefined : found.line[found.culprit];
  return (
    <>
      <p className={classes.answer}>{found.sentence}</p>
      {culprit && culprit.fixes.length > 0 ? <Fixes fixes={culprit.fixes} queue={queue} /> : null}
      <ol className={classes.line} aria-label="From the device to the internet">
        {found.line.map((place) => (
          <PlaceItem key={`${place.place} ${place.subject}`} place={place} />
        ))}
      </ol>
      <details className={classes.more}>
        <summary>Every number, and where packets are lost</summary>
        <Losses losses={found.losses} />
        <SimpleTable
          caption="Numbers of each place"
          columns={NUMBERS}
          rows={numbersOf(found.line)}
          rowKey={(row) => row.key}
        />
      </details>
    </>
  );
}

function PlaceItem({ place }: { place: Place }) {
  const [word, tone] = STATES[place.state];
  return (
    <li data-state={place.state} aria-current={place.state === "culprit" ? "true" : undefined}>
      <span className={classes.head}>
        <strong>{PLACES[place.place]}</strong>
        <Tag {...(tone ? { tone } : {})}>{word}</Tag>
      </span>
      <span>{place.sentence}</span>
      {place.not_known.length > 0 && place.state !== "unknown" ? (
        <span className="dim">Not known: {place.not_known.join(", ")}.</span>
      ) : null}
    </li>
  );
}

/** Who may not change anything reads what could be done, and sees what it would be done to. */
function Fixes({ fixes, queue }: { fixes: readonly Fix[]; queue: Queue | undefined }) {
  const may = useMay("write");
  return (
    <ul className={classes.fixes} aria-label="What can be done">
      {fixes.map((fix) => (
        <li key={fix.id}>
          {fix.id === "raise" && may && queue ? (
            <RaiseButton queue={queue} />
          ) : (
            <FixLink fix={fix} may={may} />
          )}
          {fix.command ? <code className={classes.command}>{fix.command}</code> : null}
        </li>
      ))}
      {may ? null : <li className="dim">{ONLY_READS}</li>}
    </ul>
  );
}

function FixLink({ fix, may }: { fix: Fix; may: boolean }) {
  const { subject, text } = fix;
  if (fix.id === "raise" && !may) return <span>{text}</span>;
  if (subject?.kind === "queue")
    return (
      <Link
        to="/queues/$id"
        params={{ id: subject.id }}
        search={fix.id === "edit" && may ? { edit: true } : {}}
      >
        {text}
      </Link>
    );
  if (subject?.kind === "interface")
    return (
      <Link to="/interfaces" search={{ edit: subject.id }}>
        {text}
      </Link>
    );
  if (subject?.kind === "uplink")
    return (
      <Link to="/$page" params={{ page: UPLINKS }} search={{ edit: subject.id }}>
        {text}
      </Link>
    );
  if (subject?.kind === "finding") return <Link to="/diagnostics">{text}</Link>;
  return <span>{text}</span>;
}

function Losses({ losses }: { losses: readonly Loss[] }) {
  return (
    <ul className={classes.losses} aria-label="Where packets are lost">
      {losses.map((loss) => (
        <li key={`${loss.way} ${loss.where}`}>
          <span className="nowrap">
            <Arrow direction={loss.way} /> {WHERE[loss.where]}
          </span>
          <span className={loss.known ? undefined : "dim"}>
            {loss.sentence}
            <span className={classes.numbers}>
              {loss.numbers.map((number) => (
                <span key={number.name} className="nowrap">
                  {number.name.replaceAll("_", " ").replace(/ ps$/, "")} {number.shown}
                </span>
              ))}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

interface NumberRow {
  key: string;
  place: string;
  number: Figure;
}

const NUMBERS: readonly Column<NumberRow>[] = [
  { id: "place", title: "Place", render: (row) => row.place },
  { id: "name", title: "Number", render: (row) => <span className="mono">{row.number.name}</span> },
  { id: "value", title: "Measured", numeric: true, render: (row) => row.number.shown },
  { id: "threshold", title: "Threshold", numeric: true, render: (row) => row.number.threshold_shown },
];

const numbersOf = (line: readonly Place[]): NumberRow[] =>
  line.flatMap((place) =>
    place.numbers.map((number, index) => ({
      key: `${place.place} ${place.subject} ${number.name} ${index}`,
      place: `${PLACES[place.place]} ${place.subject}`.trim(),
      number,
    })),
  );
