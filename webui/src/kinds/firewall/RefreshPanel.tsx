// SPDX-License-Identifier: Apache-2.0
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { Note } from "@/ui/blocks";
import { ReasonedButton } from "@/ui/ReasonedButton";
import type { ExtraProps } from "../extras";

interface Said {
  title: string;
  about: string;
  action: string;
  good: string;
  bad: string;
}

const SAID: Readonly<Record<string, Said>> = {
  url: {
    title: "List",
    about:
      "The router fetches the list by itself. A server that is slow may take a minute; what the set has " +
      "stays until a good list is there.",
    action: "Fetch it now",
    good: "Fetched",
    bad: "Not fetched",
  },
  dns: {
    title: "Names",
    about:
      "The router asks for the names by itself. Servers that do not answer may take half a minute; what a " +
      "name has stays for a while without a good answer.",
    action: "Ask now",
    good: "Answered",
    bad: "Not all answered",
  },
};

/** Has the list of a set fetched now, or its names asked for, and says what became of it. */
export default function RefreshPanel({ row }: ExtraProps) {
  const { object, staged } = row;
  const may = useMay("write");
  const client = useQueryClient();
  const refresh = useMutation({
    mutationFn: () =>
      need(api.POST("/api/v1/sets/{set_id}/refresh", { params: { path: { set_id: object.id } } })),
    onSettled: () => client.invalidateQueries(),
  });
  const said = SAID[String(object["source"])];
  if (!may || said === undefined) return null;
  const why = staged
    ? "Commit the pending change of this set first"
    : object["disabled"] === true
      ? "It is disabled: nothing is fetched or asked for it"
      : null;
  return (
    <section className="stack" aria-label={said.title}>
      <h3>{said.title}</h3>
      <p className="dim">{said.about}</p>
      <div className="row">
        <ReasonedButton why={why} onClick={() => refresh.mutate()} loading={refresh.isPending}>
          {said.action}
        </ReasonedButton>
      </div>
      {refresh.isError ? (
        <Note severity="error" live>
          {asProblem(refresh.error).message}
        </Note>
      ) : null}
      {refresh.data ? (
        <Note severity={refresh.data.fetched ? "ok" : "error"} live>
          {refresh.data.fetched ? said.good : said.bad}, {refresh.data.entries} entries: {refresh.data.answer}
        </Note>
      ) : null}
    </section>
  );
}
