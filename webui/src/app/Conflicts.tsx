// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { meQuery, stagedRowsQuery } from "@/api/queries";
import { OVERLAY_LIMIT } from "@/api/staging";
import type { Candidate, Change } from "@/api/types";
import { useResolve } from "@/api/writes";
import { Note } from "@/ui/blocks";
import { agoText, plural } from "@/ui/format";
import { BothValues, differences } from "./BothValues";

type Conflict = Candidate["conflicts"][number];
/** More are counted and not shown one by one. */
const SHOWN = 10;

/** `admin's`; whose a version is that this account committed elsewhere, or nobody knows any more. */
function ownerOf(conflicts: readonly Conflict[], me: string | undefined): string {
  const [first, ...more] = new Set(conflicts.map((item) => item.author));
  if (more.length > 0 || !first) return "theirs";
  return first === me ? "the committed one" : `${first}'s`;
}

/** What somebody else committed since it was staged, with both values and whose they are. */
export function Conflicts({ candidate }: { candidate: Candidate }) {
  const resolve = useResolve();
  const me = useQuery(meQuery).data?.username;
  const changes = useQuery(stagedRowsQuery(OVERLAY_LIMIT)).data?.changes ?? [];
  const { conflicts, conflict_count: count } = candidate;
  const staged = new Map(changes.map((change) => [`${change.kind}/${change.id}`, change]));
  return (
    <Note severity="warning" live>
      <div className="stack">
        <p>
          {count === 1
            ? "1 of these objects was"
            : `${plural(count, "of these objects", "of these objects")} were`}{" "}
          changed by somebody else since you staged a change of {count === 1 ? "it" : "them"}.
        </p>
        {conflicts.slice(0, SHOWN).map((item) => (
          <OneConflict
            key={`${item.kind}/${item.id}`}
            conflict={item}
            change={staged.get(`${item.kind}/${item.id}`)}
            me={me}
          />
        ))}
        {count > SHOWN ? <p className="dim">{plural(count - SHOWN, "more object")} in conflict.</p> : null}
        <div className="row">
          <Button loading={resolve.isPending} onClick={() => resolve.mutate("mine")}>
            Keep mine
          </Button>
          <Button loading={resolve.isPending} onClick={() => resolve.mutate("theirs")}>
            Keep {ownerOf(conflicts, me)}
          </Button>
        </div>
      </div>
    </Note>
  );
}

function whatTheyDid({ author, changed_at }: Conflict, change: Change | undefined, me: string | undefined) {
  const who = author === null ? "Somebody" : author === me ? `${author} elsewhere` : author;
  const what = change && change.old === null ? "removed it" : "changed it";
  return `${who} ${what}${changed_at ? ` ${agoText(changed_at)}` : ""}.`;
}

function OneConflict({
  conflict,
  change,
  me,
}: {
  conflict: Conflict;
  change: Change | undefined;
  me: string | undefined;
}) {
  const rows = change ? differences(change.kind, change.new, change.old) : [];
  const other = conflict.author === null || conflict.author === me ? "Committed" : conflict.author;
  return (
    <div>
      <p>
        <strong>{change?.name ?? conflict.id}</strong>: {whatTheyDid(conflict, change, me)}
        {change && change.new === null ? " Your change removes it." : ""}
      </p>
      <BothValues caption={`Both versions of ${change?.name ?? conflict.id}`} rows={rows} other={other} />
    </div>
  );
}
