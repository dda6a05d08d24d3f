// SPDX-License-Identifier: Apache-2.0
/** What is ill now, by the page that shows it: for marks in the menu. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useDoubt } from "@/api/known";
import { findingsQuery } from "@/api/diagnosis";
import { ofSystem, unrepaired } from "@/api/queries";
import type { Findings, System } from "@/api/types";
import { plural, sentence } from "@/ui/format";
import type { NavItem } from "./nav";

export interface Ill {
  /** The page's path, such as "/uplinks". */
  path: string;
  isError: boolean;
  text: string;
}

/** A finding ends half a minute after its cause: the menu need not ask more often. */
const AGAIN_MS = 30_000;

/** Every check, difference and finding is on this page; some are at home on another. */
const ALL = "/diagnostics";
const CHECKED: Readonly<Record<string, string>> = { shapers: "/interfaces" };
const DIFFERENT: Readonly<Record<string, string>> = { network: "/interfaces", ports: "/interfaces" };
const FOUND: Readonly<Record<string, string>> = {
  "uplink-down": "/uplinks",
  "certificate-ending": "/certificates",
  "certificate-invalid": "/certificates",
  "set-names-unanswered": "/sets",
  "set-not-fetched": "/sets",
  "set-outdated": "/sets",
  "one-lock": "/interfaces",
  "ring-overrun": "/interfaces",
};

/** What the router says of itself; nothing of what it cannot look at now. */
export function illsOfSystem(system: System): readonly Ill[] {
  const checks = system.checks.filter((check) => check.state !== "ok");
  return [
    ...checks.map((check) => ({
      path: CHECKED[check.id] ?? ALL,
      isError: check.state === "failed",
      text: check.message,
    })),
    ...(system.agent.connected ? unrepaired(system) : []).map((item) => ({
      path: DIFFERENT[item.part] ?? ALL,
      isError: false,
      text: sentence(item.what),
    })),
  ];
}

/** What was found, and is known to be so still. */
export const illsOfFindings = ({ findings }: Findings): readonly Ill[] =>
  findings
    .filter((one) => one.severity !== "notice" && one.doubt === null)
    .map((one) => ({
      path: FOUND[one.code] ?? ALL,
      isError: one.severity === "error",
      text: sentence(one.sentence),
    }));

const pathOf = ({ to, page }: NavItem): string => (to === "/$page" ? `/${page}` : to);

export const illsAt = (ills: readonly Ill[], items: readonly NavItem[]): readonly Ill[] => {
  const paths = new Set(items.map(pathOf));
  return ills.filter((ill) => paths.has(ill.path));
};

/** "1 error, 2 warnings"; "" where there is none. */
export function illWords(ills: readonly Ill[]): string {
  const errors = ills.filter((ill) => ill.isError).length;
  const warnings = ills.length - errors;
  return [
    ...(errors > 0 ? [plural(errors, "error")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ].join(", ");
}

/** Of now: while the router or its agent does not answer, nothing is said from before. */
export function useIlls(): readonly Ill[] {
  const system = useQuery(ofSystem(illsOfSystem));
  const found = useQuery({ ...findingsQuery, refetchInterval: AGAIN_MS, select: illsOfFindings });
  const ofRouter = useDoubt(system) === null ? system.data : undefined;
  const ofTraffic = useDoubt(found) === null ? found.data : undefined;
  return useMemo(() => [...(ofRouter ?? []), ...(ofTraffic ?? [])], [ofRouter, ofTraffic]);
}
