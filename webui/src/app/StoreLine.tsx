// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { IconDatabaseExclamation } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ofSystem, storeQuery, storeRestoreQuery } from "@/api/queries";
import type { Change, Kind, System } from "@/api/types";
import { kindWords } from "@/kinds/names";
import { plural } from "@/ui/format";
import classes from "./Frame.module.css";

const StoreDialog = lazy(() => import("./StoreDialog"));

/** Whose list each page shows. */
const LISTED: Record<string, Kind> = {
  "/queues": "queue",
  "/queue-types": "queue-type",
  "/interfaces": "interface",
  "/routes": "static-route",
};
const MOST_NAMED = 5;

type Lost = Pick<Change, "kind" | "id">;

/** `2 queues and 1 route`. */
export function lostText(lost: readonly Lost[]): string {
  const counts = [...new Set(lost.map((item) => item.kind))].map((kind) =>
    plural(lost.filter((item) => item.kind === kind).length, ...kindWords(kind)),
  );
  return counts.length > 1 ? `${counts.slice(0, -1).join(", ")} and ${counts.at(-1)}` : (counts[0] ?? "");
}

/** `lost`: what runs and cannot be read from the database; undefined while that is not known. */
function damageText(lost: readonly Lost[] | undefined): string {
  if (lost === undefined) return "The database is damaged. The router goes on with what it ran last.";
  if (lost.length === 0)
    return "Old revisions in the database are damaged. All that runs can be read and is not affected.";
  return `Damaged in the database: ${lostText(lost)}. The router goes on with what it ran last.`;
}

/** What the list on this page lacks: an object that cannot be read is in no list. */
function MissingHere({ lost }: { lost: readonly Lost[] }) {
  const path = useLocation({ select: (location) => location.pathname });
  const ids = lost.filter((item) => item.kind === LISTED[path]).map((item) => item.id);
  if (ids.length === 0) return null;
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
  return (
    <>
      {" "}
      This list lacks <span className="mono">{ids.slice(0, MOST_NAMED).join(", ")}</span>
      {more}.
    </>
  );
}

const isStoreWrong = (system: System) => system.checks.some((check) => check.id === "store");

/** A database that is damaged, or not what ran last, is said on every page, with the way out. */
export function StoreLine() {
  const isWrong = useQuery(ofSystem(isStoreWrong)).data ?? false;
  const store = useQuery({ ...storeQuery, enabled: isWrong }).data;
  const followed = store?.followed ?? false;
  const lost = useQuery({ ...storeRestoreQuery, enabled: isWrong && followed }).data?.changes;
  const [open, setOpen] = useState(false);
  if (!isWrong || !store) return null;
  return (
    <div className={classes.refused} role="alert">
      <IconDatabaseExclamation size={16} className="bad" aria-hidden="true" />
      <span className="grow">
        {store.followed !== false
          ? damageText(lost)
          : `The router does not follow its database: ${store.reason}.`}
        <MissingHere lost={lost ?? []} />
      </span>
      <Button size="compact-xs" onClick={() => setOpen(true)}>
        {store.followed !== false ? "Look at the damage" : "Decide what runs"}
      </Button>
      {open ? (
        <Suspense fallback={null}>
          <StoreDialog store={store} onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}
