// SPDX-License-Identifier: Apache-2.0
import { Suspense, useCallback, useMemo } from "react";
import type { Kind } from "@/api/types";
import { ObjectDrawer } from "@/forms/ObjectDrawer";
import { Note } from "@/ui/blocks";
import { EXTRAS } from "../extras";
import type { Declared } from "../kinds";
import { nameOf, type Row } from "../objects";
import { StateSection } from "../StateSection";
import { objectTitle } from "../title";
import { draftOfObject, readDraft, type Draft } from "./draft";
import { KindFields } from "./KindFields";

interface KindDrawerProps {
  kind: string;
  declared: Declared;
  /** null: a new object. */
  row: Row | null;
  /** What a new one is, of all that it can be, and what its form is called. */
  begins?: string;
  /** What a new one has already. */
  given?: Readonly<Draft>;
  title?: string;
  onClose: () => void;
}

/** The form of one object of a kind. */
export function KindDrawer({ kind, declared, row, begins, given, title, onClose }: KindDrawerProps) {
  const object = row?.object ?? null;
  const initial = useMemo(
    () => draftOfObject(declared, object ?? (given ? { ...declared.defaults, ...given } : null), begins),
    [declared, object, given, begins],
  );
  const read = useCallback((draft: Draft) => readDraft(declared, draft), [declared]);
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
          : (title ?? `New ${what}`)
      }
      initial={initial}
      read={read}
      onClose={onClose}
      removable
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
            isNew={object === null}
          />
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
