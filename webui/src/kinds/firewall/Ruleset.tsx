// SPDX-License-Identifier: Apache-2.0
/** Every rule that runs: what was typed, and in its place what the policy, zones, NAT and services add. */
import { NativeSelect } from "@mantine/core";
import { IconLock } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { CONFIG } from "@/api/queries";
import type { components } from "@/api/schema";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Skeleton } from "@/ui/blocks";
import { bytesText, countText, plural } from "@/ui/format";
import classes from "./Decision.module.css";
import { MadeBy } from "./MadeBy";

type Rule = components["schemas"]["RulesetRule"];
type Placed = Rule & { place: number };

/** What people typed can be changed in its list; the rest follows from something else. */
const TYPED = "firewall-rule";

/** A rule that only leads on, or sets something, has no counter. */
const counted = (count: number | null | undefined, text: (count: number) => string) =>
  count == null ? "" : text(count);

const COLUMNS: readonly Column<Placed>[] = [
  { id: "place", title: "Place", numeric: true, render: (rule) => countText(rule.place) },
  {
    id: "text",
    title: "Rule",
    width: "60%",
    render: (rule) => (
      <span>
        {rule.kind === TYPED ? null : <IconLock size={13} className="dim" role="img" aria-label="locked" />}{" "}
        {rule.text}
      </span>
    ),
  },
  { id: "packets", title: "Packets", numeric: true, render: (rule) => counted(rule.packets, countText) },
  { id: "bytes", title: "Bytes", numeric: true, render: (rule) => counted(rule.bytes, bytesText) },
  { id: "by", title: "Made by", render: (rule) => <MadeBy {...rule} words={rule.id ?? ""} /> },
];

/** Packets meet these chains in this order; those that rules jump to come last. */
const ORDER = [
  "raw",
  "entry",
  "helpers",
  "prerouting",
  "clamp",
  "sources",
  "input",
  "forward",
  "output",
  "outgoing",
  "postrouting",
];
const placeOf = (chain: string): number => (ORDER.includes(chain) ? ORDER.indexOf(chain) : ORDER.length);

function Rules() {
  const query = useQuery({
    queryKey: [CONFIG, "ruleset"],
    queryFn: ({ signal }) => need(api.GET("/api/v1/firewall/ruleset", { signal })),
  });
  const [asked, setAsked] = useState("forward");
  if (query.isError)
    return (
      <Note severity="error" live>
        {asProblem(query.error).message}
      </Note>
    );
  if (!query.data) return <Skeleton lines={6} />;
  const { items, total, uncounted } = query.data;
  const chains = [...new Set(items.map((rule) => rule.chain))].sort((a, b) => placeOf(a) - placeOf(b));
  const chain = chains.includes(asked) ? asked : chains[0];
  const rows = items
    .filter((rule) => rule.chain === chain)
    .map((rule, index) => ({ ...rule, place: index + 1 }));
  return (
    <>
      <NativeSelect
        className={classes.chain}
        label="Chain"
        data={chains}
        value={chain}
        onChange={(event) => setAsked(event.currentTarget.value)}
      />
      {total > items.length ? (
        <Note severity="warning">
          {plural(total - items.length, "more rule")} not listed here: <code>weir firewall ruleset</code> with
          a chain lists them.
        </Note>
      ) : null}
      {uncounted ? <Note severity="warning">Packets are not known: {uncounted}</Note> : null}
      <div className={classes.rules}>
        <SimpleTable
          caption={`Rules of ${chain ?? "no chain"}`}
          columns={COLUMNS}
          rows={rows}
          rowKey={(rule) => String(rule.place)}
        />
      </div>
      <p className="dim">
        These are the rules of the configuration that runs, not of what is pending. Locked ones follow from
        what made them. Packets are counted since a rule is there; what the fast path forwards meets no rule
        again, and in the chains of NAT and helpers only the first packet of a connection does.
      </p>
    </>
  );
}

export function Ruleset() {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={classes.panel} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Every rule that runs</summary>
      {isOpen ? <Rules /> : null}
    </details>
  );
}
