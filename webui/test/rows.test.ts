// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { formField } from "@/api/problem";
import { blankOf, draftOfObject, readDraft } from "@/kinds/form/draft";
import type { Declared, Field } from "@/kinds/kinds";

const field = (name: string, label: string, rest: object): Field =>
  ({ name, label, importance: "shown", required: false, nullable: true, ...rest }) as Field;

describe("lists of rows", () => {
  const plain: Declared = {
    singular: "toy",
    plural: "toys",
    short: "toy",
    path: "toys",
    page: "toys",
    area: "Services",
    isSingle: false,
    assignsIds: true,
    namedBy: "id",
    columns: [],
    purpose: "",
    defaults: {},
    state: [],
    fields: [
      field("peers", "Peers", {
        type: "rows",
        most: 2,
        nullable: false,
        fields: [
          field("at", "At", { type: "host", required: true, nullable: false }),
          field("wait_s", "Wait", { type: "whole", low: 1, high: 90, unit: "s", default: 60 }),
          field("fast", "Fast", { type: "flag", nullable: false, default: true }),
        ],
      }),
    ],
  };
  it("are read as objects, in the units of their fields", () => {
    const draft = draftOfObject(plain, { id: "x", peers: [{ at: "192.0.2.1", wait_s: 90, fast: false }] });
    expect(draft["peers"]).toEqual([{ at: "192.0.2.1", wait_s: "1m30s", fast: false }]);
    expect(readDraft(plain, draft).input).toEqual({ peers: [{ at: "192.0.2.1", wait_s: 90, fast: false }] });
  });

  it("begin with their defaults, and what is wrong has its place", () => {
    const blank = blankOf((plain.fields[0] as Extract<Field, { type: "rows" }>).fields);
    expect(blank).toEqual({ at: "", wait_s: "1m", fast: true });
    const { messages } = readDraft(plain, { peers: [{ ...blank, wait_s: "2m" }, blank, blank] });
    expect(messages).toEqual({
      peers: "At most 2.",
      "peers.0.at": "This is needed.",
      "peers.0.wait_s": "From 1s to 1m30s.",
      "peers.1.at": "This is needed.",
      "peers.2.at": "This is needed.",
    });
    expect(formField("changes.0.new.peers[1].at")).toBe("peers.1.at");
  });
});
