// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { asProblem } from "@/api/problem";
import { objectHistoryQuery } from "@/api/queries";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { FieldChanges } from "@/ui/DiffView";
import { agoText, stampText } from "@/ui/format";
import classes from "./Queue.module.css";

const WORD = { add: "created", change: "changed", remove: "removed" } as const;

export function QueueChanges({ id }: { id: string }) {
  const query = useQuery(objectHistoryQuery(id));
  return (
    <Section title="Changes" flush>
      {query.isError ? <Note severity="error">{asProblem(query.error).message}</Note> : null}
      {query.isPending ? <Skeleton /> : null}
      <ol className={classes.versions}>
        {query.data?.items.map((version) => (
          <li key={version.revision.revision}>
            <div className="spread">
              <span>
                <strong>{WORD[version.action]}</strong> by {version.revision.author}
                {version.revision.message ? <span className="dim">: {version.revision.message}</span> : null}
              </span>
              <span className="dim" title={stampText(version.revision.created_at)}>
                <Link
                  to="/history"
                  search={{ from: version.revision.revision - 1, to: version.revision.revision }}
                >
                  revision {version.revision.revision}
                </Link>
                , {agoText(version.revision.created_at)}
              </span>
            </div>
            {version.action === "change" ? (
              <FieldChanges kind="queue" fields={version.fields} action="change" name="" />
            ) : null}
          </li>
        ))}
      </ol>
    </Section>
  );
}
