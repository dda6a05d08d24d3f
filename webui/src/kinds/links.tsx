// SPDX-License-Identifier: Apache-2.0
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { NAMED } from "./names";

/** Kinds whose objects have pages of their own; others are edited in their list. */
const WITH_PAGES: readonly string[] = ["queue"];

export function addressOf(kind: string, id: string): string | null {
  const named = NAMED.get(kind);
  if (!named) return null;
  if (named.isSingle) return `/${named.page}`;
  return `/${named.page}${WITH_PAGES.includes(kind) ? "/" : "?edit="}${encodeURIComponent(id)}`;
}

/** A link to another object. */
export function ObjectLink({ kind, id, children }: { kind: string; id: string; children: ReactNode }) {
  const address = addressOf(kind, id);
  if (address === null) return <>{children}</>;
  const [path = "/", query = ""] = address.split("?");
  return (
    <Link
      // The address of a kind is known when it runs, not when it is compiled.
      to={path as "/"}
      search={Object.fromEntries(new URLSearchParams(query)) as never}
      tabIndex={-1}
      onClick={(event) => event.stopPropagation()}
    >
      {children}
    </Link>
  );
}
