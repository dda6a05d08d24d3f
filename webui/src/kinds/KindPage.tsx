// SPDX-License-Identifier: Apache-2.0
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { NotFoundScreen } from "@/app/ErrorScreen";
import type { KindSearch } from "@/app/search";
import { SinglePage } from "./form/SinglePage";
import { kindAt } from "./kinds";
import { KindList } from "./list/KindList";

/** The page of the declared kind that the address names. */
export default function KindPage() {
  const page = useLocation({ select: (location) => location.pathname.slice(1) });
  const search: KindSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const onSearch = useCallback(
    (change: Partial<KindSearch>) =>
      void navigate({
        to: ".",
        search: (before) => ({ ...before, ...change }),
        replace: !("edit" in change),
      }),
    [navigate],
  );
  const found = kindAt(page);
  if (!found) return <NotFoundScreen />;
  const [kind, declared] = found;
  return declared.isSingle ? (
    <SinglePage key={kind} kind={kind} declared={declared} />
  ) : (
    <KindList key={kind} kind={kind} declared={declared} search={search} onSearch={onSearch} />
  );
}
