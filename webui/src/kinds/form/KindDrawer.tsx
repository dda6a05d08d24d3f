// SPDX-License-Identifier: Apache-2.0
import { Suspense, useCallback, useMemo } from "react";
import type { Kind } from "@/api/types";
import { ObjectDrawer } from "@/forms/ObjectDrawer";
import { Note } from "@/ui/blocks";
import { sentence } from "@/ui/format";
import { EXTRAS } from "../extras";
import type { Declared } from "../kinds";
import { LISTS, type NewObject } from "../lists";
import { isStored, nameOf, type Row } from "../objects";
import { StateSection } from "../StateSection";
import { objectTitle } from "../title";
import { draftOfObject, readDraft, type Draft } from "./draft";
import { KindFields } from "./KindFields";

interface KindDrawerProps {
  kind: string;
  declared: Declared;
  /** null: a new object. */
  row: Row | null;
  /** What a new one begins as. */
  begin?: NewObject;
  /** What a new one has already. */
  given?: Readonly<Draft>;
  /** Objects whose names a new one cannot have. */
  others?: readonly Row[];
  onClose: () => void;
}

const Says = ({ words }: { words: string | undefined }) =>
  words ? <p className="dim">{sentence(words)}</p> : null;

/** What is wrong with the name of a new object. */
function nameProblem(
  { assignsIds, singular }: Declared,
  id: string | undefined,
  others: readonly Row[],
): string | null {
  if (id === undefined) return assignsIds ? null : "This is needed.";
  return others.some((row) => row.object.id === id) ? `There is another ${singular} of this name.` : null;
}

const NOBODY: readonly Row[] = [];

/** The form of one object of a kind. */
export function KindDrawer({ kind, declared, row, begin, given, others = NOBODY, onClose }: KindDrawerProps) {
  const object = row?.object ?? null;
  const own = LISTS[kind];
  const initial = useMemo(
    () =>
      draftOfObject(
        declared,
        object ?? { ...declared.defaults, ...own?.given, ...begin?.given, ...given },
        begin?.case,
      ),
    [declared, object, own, given, begin],
  );
  const read = useCallback(
    (draft: Draft) => {
      const found = readDraft(declared, draft);
      const wrong = object === null ? nameProblem(declared, found.id, others) : null;
      return wrong === null ? found : { ...found, messages: { ...found.messages, id: wrong } };
    },
    [declared, object, others],
  );
  const Extra = object?.etag ? EXTRAS[kind] : undefined;
  const what = objectTitle(declared);
  return (
    <ObjectDrawer
      kind={kind as Kind}
      id={object?.id ?? null}
      etag={object?.etag ?? null}
      title={
        object
          ? `${what.charAt(0).toUpperCase()}${what.slice(1)} ${nameOf(declared, object)}`
          : (begin?.title ?? `New ${what}`)
      }
      initial={initial}
      read={read}
      onClose={onClose}
      removable={object !== null && isStored(object)}
    >
      {(draft, set, messages) => (
        <>
          {object?.warnings?.map((finding, index) => (
            <Note key={index} severity={finding.severity}>
              {finding.message}
            </Note>
          ))}
          {object?.etag ? (
            <StateSection kind={kind} declared={declared} id={object.id} object={object} />
          ) : null}
          <KindFields
            declared={declared}
            draft={draft}
            set={set}
            messages={messages}
            example={begin?.example?.(draft, others)}
            isNew={object === null}
          />
          <Says words={own?.says?.(readDraft(declared, draft).input)} />
          {Extra && row ? (
            <Suspense fallback={null}>
              <Extra row={row} />
            </Suspense>
          ) : null}
        </>
      )}
    </ObjectDrawer>
  );
}
