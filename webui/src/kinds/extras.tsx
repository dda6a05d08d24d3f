// SPDX-License-Identifier: Apache-2.0
/** What the form or the list of one kind has beside its fields. */
import { lazy, type ComponentType } from "react";
import type { Row } from "./objects";

export interface ExtraProps {
  row: Row;
}

/** By kind; each is loaded with the first form that has it. */
export const EXTRAS: Readonly<Record<string, ComponentType<ExtraProps>>> = {
  "wireguard-peer": lazy(() => import("./wireguard/ClientPanel")),
  "alert-target": lazy(() => import("./alert/TestPanel")),
  set: lazy(() => import("./firewall/RefreshPanel")),
};

const Ports = lazy(() => import("./interface/Ports"));
const Decision = lazy(() => import("./firewall/Decision"));

/** By kind, what stands above its list. */
export const ABOVE: Readonly<Record<string, ComponentType>> = {
  interface: Ports,
  "firewall-rule": Decision,
  "nat-rule": Decision,
};
