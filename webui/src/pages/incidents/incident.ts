// SPDX-License-Identifier: Apache-2.0
/** An incident's seconds as the graphs take them. */
import { asCustomersSee } from "@/api/interfaces";
import type { Incident, IncidentInterface, IncidentQueue } from "@/api/types";
import type { GraphData, GraphEvent } from "@/ui/Graph";

type Values = readonly (number | null)[];

/** One thing that an incident has figures of. */
export interface Shown {
  /** Of the choice: an interface and a queue may have one name. */
  key: string;
  label: string;
  data: GraphData;
  /** The longest waits in microseconds; null where none was measured. */
  waits: GraphData | null;
}

const sumOf = (one: Values, other: Values): (number | null)[] =>
  one.map((value, index) => {
    const beside = other[index] ?? null;
    return value === null && beside === null ? null : (value ?? 0) + (beside ?? 0);
  });

const timesOf = (start: number, values: Values): number[] => values.map((_, index) => start + index);

function ofInterface(start: number, { id, rx, tx }: IncidentInterface, role: string): Shown {
  const data = {
    at: timesOf(start, rx.rate_bps),
    ...asCustomersSee(role, rx.rate_bps, tx.rate_bps),
    drops: sumOf(rx.drops_ps, tx.drops_ps),
  };
  return { key: `interface ${id}`, label: `Interface ${id}`, data, waits: null };
}

function ofQueue(start: number, { id, name, upload, download }: IncidentQueue): Shown {
  const at = timesOf(start, upload.rate_bps);
  const waits = { at, upload: upload.worst_delay_us, download: download.worst_delay_us };
  const isMeasured = [...waits.upload, ...waits.download].some((value) => value !== null && value > 0);
  return {
    key: `queue ${id}`,
    label: `Queue ${name ?? id}`,
    data: {
      at,
      upload: upload.rate_bps,
      download: download.rate_bps,
      drops: sumOf(upload.drops_ps, download.drops_ps),
    },
    waits: isMeasured ? waits : null,
  };
}

/** What it is about comes first, then the busiest interfaces, then queues. */
export function shownOf(incident: Incident, roleOf: (name: string) => string): Shown[] {
  const interfaces = incident.interfaces.map((item) => ofInterface(incident.start, item, roleOf(item.id)));
  return [...interfaces, ...incident.queues.map((item) => ofQueue(incident.start, item))];
}

const SHORT = 24;

/** In few words: marks stand in the graph. */
export const markOf = ({ at, sentence }: { at: string; sentence: string }): GraphEvent => ({
  at: new Date(at).getTime() / 1000,
  text: sentence.length > SHORT ? `${sentence.slice(0, SHORT)}…` : sentence,
});

/** What begins an incident, and commits, as marks. */
export const marksOf = ({ events }: Incident): GraphEvent[] =>
  events
    .filter((event) => event.begins || event.code === "commit")
    .map((event) => markOf(event.code === "commit" ? { at: event.at, sentence: event.subject } : event));

export interface Busy {
  /** Means and the most of the busiest core, 0 to 1. */
  before: number | null;
  after: number | null;
  most: number | null;
}

/** How much the busiest core had to do in each half; null where nothing was measured. */
export function busyOf({ cores }: Incident): Busy {
  const busiest = cores.map((shares) => (shares === null ? null : Math.max(...shares)));
  const middle = Math.floor(busiest.length / 2);
  const mean = (values: Values) => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  };
  const known = busiest.filter((value) => value !== null);
  return {
    before: mean(busiest.slice(0, middle)),
    after: mean(busiest.slice(middle)),
    most: known.length === 0 ? null : Math.max(...known),
  };
}
