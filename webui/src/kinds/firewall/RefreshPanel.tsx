// SPDX-License-Identifier: Apache-2.0
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { Note } from "@/ui/blocks";
import { ReasonedButton } from "@/ui/ReasonedButton";
import type { ExtraProps } from "../extras";

/** Has the list of a set fetched now and says what became of it. */
export default function RefreshPanel({ row }: ExtraProps) {
  const { object, staged } = row;
  const may = useMay("write");
  const client = useQueryClient();
  const refresh = useMutation({
    mutationFn: () =>
      need(api.POST("/api/v1/sets/{set_id}/refresh", { params: { path: { set_id: object.id } } })),
    onSettled: () => client.invalidateQueries(),
  });
  if (!may || object["source"] !== "url") return null;
  const why = staged
    ? "Commit the pending change of this set first"
    : object["disabled"] === true
      ? "It is disabled: nothing is fetched for it"
      : null;
  return (
    <section className="stack" aria-label="List">
      <h3>List</h3>
      <p className="dim">
        The router fetches the list by itself. A server that is slow may take a minute; what the set has stays
        until a good list is there.
      </p>
      <div className="row">
        <ReasonedButton why={why} onClick={() => refresh.mutate()} loading={refresh.isPending}>
          Fetch it now
        </ReasonedButton>
      </div>
      {refresh.isError ? (
        <Note severity="error" live>
          {asProblem(refresh.error).message}
        </Note>
      ) : null}
      {refresh.data ? (
        <Note severity={refresh.data.fetched ? "ok" : "error"} live>
          {refresh.data.fetched ? "Fetched" : "Not fetched"}, {refresh.data.entries} entries:{" "}
          {refresh.data.answer}
        </Note>
      ) : null}
    </section>
  );
}
