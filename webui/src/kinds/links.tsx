// SPDX-License-Identifier: Apache-2.0
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { NAMED } from "./names";

/** Where a kind without a declaration has its objects. */
const OWN_PAGES: Readonly<Record<string, (id: string) => string>> = {
  queue: (id) => `/queues/${encodeURIComponent(id)}`,
  interface: (id) => `/interfaces?edit=${encodeURIComponent(id)}`,
  "queue-type": (id) => `/queue-types?edit=${encodeURIComponent(id)}`,
};

export function addressOf(kind: string, id: string): string | null {
  const own = OWN_PAGES[kind];
  if (own) return own(id);
  const named = NAMED.get(kind);
  if (!named) return null;
  return named.isSingle ? `/${named.page}` : `/${named.page}?edit=${encodeURIComponent(id)}`;
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
