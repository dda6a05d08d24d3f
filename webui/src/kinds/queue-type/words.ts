// SPDX-License-Identifier: Apache-2.0
/** Queue types in sentences. */
import type { QueueType, QueueTypeInput } from "@/api/types";
import { limitWords, parseRate } from "@/ui/rates";

type Kind = QueueTypeInput["type"];

/** What each kind is for, in a line. */
const KIND_WORDS: Record<Kind, string> = {
  pfifo: "a line of so many packets",
  "mq-pfifo": "a line of so many packets",
  bfifo: "a line of so many bytes",
  none: "nothing waits: what is above the rate is dropped",
  sfq: "flows take turns",
  red: "drops at random before the line is full",
  codel: "drops by how long packets have waited",
  "fq-codel": "flows take turns, each watched for its delay",
  cake: "flows and hosts take turns, by DSCP classes",
  pcq: "a sub-queue for each address",
};

const isKind = (type: string): type is Kind => type in KIND_WORDS;

/** The addresses of one sub-queue: `source address`, `source /24 (IPv6 /64)`. */
function keyWords(options: Record<string, string>): string {
  const classifier = options["pcq-classifier"] ?? "src-address";
  const ends = [
    classifier.includes("src-address") ? "source" : "",
    classifier.includes("dst-address") ? "destination" : "",
  ].filter(Boolean);
  const end = classifier.includes("src-address") ? "src" : "dst";
  const bits = options[`pcq-${end}-address-mask`] ?? "32";
  const bits6 = options[`pcq-${end}-address6-mask`] ?? "128";
  const width =
    bits === "32" && bits6 === "128" ? "address" : `/${bits}${bits6 === "128" ? "" : ` (IPv6 /${bits6})`}`;
  return `${ends.join(" and ") || "source"} ${width}`;
}

const rateOf = (text: string | undefined): number => {
  const parsed = parseRate(text?.trim() || "0");
  return parsed.ok ? parsed.value : 0;
};

/** The built-in `default-small` stands for Weir's own way; a type of that name that somebody made is taken at its word. */
export const builtInWords = (type: Pick<QueueType, "id" | "etag">): string | undefined =>
  type.id === "default-small" && type.etag.includes("built-in")
    ? "Weir's own way: sparse flows first, 50 ms of the rate may wait, marks before drops"
    : undefined;

/** A type as a sentence for the list and for the page of a queue. */
export function typeWords(type: Pick<QueueType, "type" | "options">): string {
  const { options } = type;
  if (type.type !== "pcq")
    return [
      isKind(type.type) ? KIND_WORDS[type.type] : "",
      ...Object.entries(options).map(([name, value]) => `${name}=${value}`),
    ]
      .filter(Boolean)
      .join(", ");
  const rate = rateOf(options["pcq-rate"]);
  const burst = rateOf(options["pcq-burst-rate"]);
  const limit = rate === 0 ? "equal shares" : `${limitWords(rate)} each`;
  return `a sub-queue for each ${keyWords(options)}: ${limit}${burst > 0 ? `, bursts of ${limitWords(burst)} below ${limitWords(rateOf(options["pcq-burst-threshold"]))} over ${options["pcq-burst-time"] ?? "0s"}` : ""}, ${options["pcq-limit"] ?? "50KiB"} wait`;
}
