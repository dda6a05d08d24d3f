// SPDX-License-Identifier: Apache-2.0
import type { Interface } from "@/api/types";
import type { Row } from "../objects";

/** A row of the list of interfaces as what it is. Of a staged new one nothing is found yet. */
export const interfaceOf = ({ object }: Row): Interface =>
  ({ state: null, ...object }) as unknown as Interface;
