// SPDX-License-Identifier: Apache-2.0
/** The list of queue types: what each does in a sentence, and what of that is kept. */
import type { QueueType } from "@/api/types";
import { sentence } from "@/ui/format";
import type { OwnList } from "../lists";
import { isStored, type Row, type Values } from "../objects";
import { builtInWords, typeWords } from "./words";

/** A row as what it is; nobody uses a staged new one yet. */
const typeOf = ({ object }: Row): QueueType =>
  ({ used_by: 0, enforcement: [], ...object, etag: object.etag ?? "" }) as unknown as QueueType;

const does = (row: Row): string => builtInWords(typeOf(row)) ?? typeWords(typeOf(row));

/** Where packets wait as the type says, or do not, and why. Built-in types say it only once they are used. */
function notes(row: Row): readonly [wrong: string, kept: string] {
  const type = typeOf(row);
  const told = type.used_by > 0 || isStored(row.object) ? type.enforcement : [];
  const [kept, not] = [true, false].map((is) => told.filter((item) => item.enforced === is));
  return [
    (not ?? []).map((item) => `Not enforced: ${sentence(item.note)}`).join(" "),
    (kept ?? []).map((item) => sentence(item.note)).join(" "),
  ];
}

function Notes({ row }: { row: Row }) {
  const [wrong, kept] = notes(row);
  return (
    <span title={`${wrong} ${kept}`.trim() || undefined}>
      <span className="warn">{wrong}</span> <span className="dim">{kept}</span>
    </span>
  );
}

/** A queue that names no type has the default one; the router counts those that name one. */
const usedBy = (row: Row): string =>
  row.object.id === "default-small" ? "all others" : String(typeOf(row).used_by);

const OPTIONS_PX = 200;
const NOTES_PX = 160;

export const QUEUE_TYPES: OwnList = {
  shown: (declared) => [...declared.filter((name) => name !== "comment"), "used_by", "notes", "comment"],
  given: { type: "pcq", options: { "pcq-classifier": "dst-address" } },
  says: ({ type, options }: Values) =>
    typeof type === "string"
      ? typeWords({ type, options: type === "pcq" ? (options as Record<string, string>) : {} })
      : "",
  columns: [
    {
      id: "options",
      title: "What it does",
      leastPx: OPTIONS_PX,
      width: `minmax(${OPTIONS_PX}px, 6fr)`,
      render: (row) => <span title={does(row)}>{does(row)}</span>,
      text: does,
    },
    {
      id: "used_by",
      title: "Used by",
      numeric: true,
      leastPx: 66,
      width: "minmax(66px, 1fr)",
      render: usedBy,
      text: usedBy,
    },
    {
      id: "notes",
      title: "Notes",
      leastPx: NOTES_PX,
      width: `minmax(${NOTES_PX}px, 5fr)`,
      render: (row) => <Notes row={row} />,
      text: (row) => notes(row).join(" ").trim(),
    },
  ],
};
