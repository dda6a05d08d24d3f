// SPDX-License-Identifier: Apache-2.0
/** What the lists of some kinds have beside what follows from their declarations. */
import type { ComponentType } from "react";
import type { Draft } from "./form/draft";
import { INTERFACES } from "./interface/list";
import type { OwnColumn } from "./list/columns";
import type { Row, Values } from "./objects";
import { QUEUE_TYPES } from "./queue-type/list";

/** One of the things that a new object can be. */
export interface NewObject {
  /** Stands in the address for its form. */
  word: string;
  title: string;
  item: string;
  key: string;
  /** Of all that an object of the kind is one of. */
  case: string;
  /** What it has already. */
  given?: Draft;
  /** A name for one of which so much is typed, beside those that there are. */
  example?: (draft: Draft, others: readonly Row[]) => string;
}

export interface OwnList {
  columns: readonly OwnColumn[];
  /** The columns that are shown unless others are chosen, from those of the declaration. */
  shown: (declared: readonly string[]) => readonly string[];
  begins?: readonly NewObject[];
  /** What a new one has already. */
  given?: Values;
  /** In the list's head. */
  figures?: ComponentType;
  /** What the values that a form holds mean together, as they are typed. */
  says?: (values: Values) => string;
}

/** By kind. */
export const LISTS: Readonly<Record<string, OwnList>> = {
  interface: INTERFACES,
  "queue-type": QUEUE_TYPES,
};
