// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/problem";
import { revisionDiffQuery } from "@/api/queries";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { DiffView } from "@/ui/DiffView";
import { countsText } from "@/ui/effect";
import { plural } from "@/ui/format";

/** What differs between two revisions, whichever they are. */
export function Comparison({ from, to }: { from: number; to: number }) {
  const diff = useQuery({ ...revisionDiffQuery(from, to), enabled: from !== to });
  return (
    <Section
      title={`From revision ${from} to ${to}`}
      aside={
        diff.data ? (
          <span className="dim">
            {plural(diff.data.total, "object")}: {countsText(diff.data.counts)}
          </span>
        ) : null
      }
    >
      {from === to ? (
        <p className="dim">Choose two different revisions.</p>
      ) : diff.data ? (
        <DiffView changes={diff.data.changes} total={diff.data.total} />
      ) : diff.isError ? (
        <Note severity="error">{asProblem(diff.error).message}</Note>
      ) : (
        <Skeleton />
      )}
    </Section>
  );
}
