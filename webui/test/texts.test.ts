// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { allTexts, textsOf, type Text } from "./mock/texts";

/** Riddles that were found in the interface, and what to say instead. */
const RIDDLES: readonly (readonly [RegExp, string])[] = [
  [/\bsold\b.*\btimes\b/, "120 % sold"],
  [/\bta(ke|kes|ken|king) (it |them |that )?back\b/i, "Undo"],
  [/\bwhose version\b/i, "Keep mine / Keep admin's, with both values"],
  [/\bthings? to look at\b/i, "1 warning"],
  [/\brevision \S+, agreed\b/i, "Revision 1 active"],
  [/\bfull now\b/i, "Near the limit"],
  [/\bwho suffers\b/i, "Losing packets"],
  [/^not yet$/i, "Close"],
  [/\bin force\b/i, "active, or committed"],
  [/\bholds? at once\b/i, "is active at once"],
  [/\bnobody(?:'s business| else's)\b/i, "not looked at; which no other has"],
  [/\bhas got\b/i, "is"],
  [/\bgave way\b/i, "was evicted"],
];

/** Verbs that are no plural noun as well: a sentence that begins with one does not say of what it speaks. */
const WITHOUT_SUBJECT = new RegExp(
  "^(Adds|Allows|Applies|Becomes|Belongs|Comes|Contains|Covers|Depends|Ends|Gives|Goes|Has|Holds|Is|Keeps|" +
    "Kept|Leads|Lets|Makes|Means|Multiplies|Needs|Puts|Raises|Reads|Refuses|Removes|Replaces|Says|Sends|Sent|" +
    "Shows|Stands|Stays|Takes|Tells|Turns|Was|Were|Writes)\\b.*[.:]( |$)",
);

const riddleIn = ({ text }: Text): string | null => {
  const found = RIDDLES.find(([riddle]) => riddle.test(text));
  return found ? `"${text}": rather "${found[1]}"` : null;
};

describe("the texts of the interface", () => {
  const texts = allTexts();

  it("are found in its source and in the declarations", () => {
    expect(texts.filter(({ where }) => where.endsWith(".tsx")).length).toBeGreaterThan(500);
    expect(texts.filter(({ where }) => where.endsWith("forms.json")).length).toBeGreaterThan(100);
    const source =
      "const x = <p title='Take back now'>It {a} is\n sold {b} times</p>; say(`It ${a} holds at once`);";
    expect(textsOf("x.tsx", source).map(({ text }) => text)).toEqual([
      "Take back now",
      "is sold",
      "It … holds at once",
    ]);
  });

  it("hold none of the riddles that were found", () => {
    expect(riddleIn({ where: "", text: "Take back now" })).toContain("Undo");
    expect(riddleIn({ where: "", text: "…: … sold … times…" })).toContain("120 % sold");
    expect(texts.map(riddleIn).filter(Boolean)).toEqual([]);
  });

  it("say of what they speak", () => {
    expect(WITHOUT_SUBJECT.test("Takes no packets now: the parent is disabled.")).toBe(true);
    expect(WITHOUT_SUBJECT.test("Keeps the set; rules that use it match nothing.")).toBe(true);
    expect(WITHOUT_SUBJECT.test("This queue takes no packets now: …")).toBe(false);
    expect(texts.filter(({ text }) => WITHOUT_SUBJECT.test(text)).map(({ text }) => text)).toEqual([]);
  });
});
