// SPDX-License-Identifier: Apache-2.0
import { ObjectLink } from "../links";

/** What made a rule, as a link to it; words alone where nothing did. */
export function MadeBy({ kind, id, words }: { kind: string | null; id: string | null; words: string }) {
  if (kind === null || id === null) return <>{words}</>;
  return (
    <ObjectLink kind={kind} id={id}>
      {words}
    </ObjectLink>
  );
}
