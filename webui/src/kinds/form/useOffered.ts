// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useInterfaces } from "@/api/interfaces";
import { queueSearchQuery, queueTypesQuery } from "@/api/queries";
import { DECLARED, type Declared, type When } from "../kinds";
import { nameOf, useRows, type Stored, type Values } from "../objects";
import { holds } from "../values";

export interface Offer {
  value: string;
  label: string;
}

const fitting = (items: readonly Values[], when: When | undefined): Offer[] =>
  items
    .filter((item) => holds(when, item))
    .map((item) => ({ value: String(item["id"]), label: String(item["name"] ?? item["id"]) }));

/** What a reference may name: every object of the kind that fits, with what is staged; where it may, also what the
 * router has and nobody configured. */
type UseOffers = (when: When | undefined, words: string, unconfigured: boolean) => readonly Offer[];

const useInterfaceOffers: UseOffers = (when, _words, unconfigured) => {
  const { items, staged } = useInterfaces();
  const known = items.filter((item) => unconfigured || item.configured || staged.get(item.id)?.new);
  return fitting(known, when);
};

const useTypeOffers: UseOffers = (when) => fitting(useQuery(queueTypesQuery).data?.items ?? [], when);

const useQueueOffers: UseOffers = (when, words) =>
  fitting(useQuery(queueSearchQuery(words, 50)).data?.items ?? [], when);

const useNone: UseOffers = () => [];

const declaredOffers =
  (kind: string, declared: Declared): UseOffers =>
  (when) => {
    // A kind is the same for as long as a field is shown.

    const { rows } = useRows(kind, declared);
    return rows
      .map((row): Stored => row.object)
      .filter((object) => holds(when, object))
      .map((object) => ({ value: object.id, label: nameOf(declared, object) }));
  };

const OFFERS: Readonly<Record<string, UseOffers>> = {
  ...Object.fromEntries([...DECLARED].map(([kind, declared]) => [kind, declaredOffers(kind, declared)])),
  interface: useInterfaceOffers,
  "queue-type": useTypeOffers,
  queue: useQueueOffers,
};

export const offersOf = (kind: string): UseOffers => OFFERS[kind] ?? useNone;
