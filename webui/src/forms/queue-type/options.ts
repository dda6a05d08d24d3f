// SPDX-License-Identifier: Apache-2.0
/** The options of each kind of queue type that have an effect (api/weir/model/queue_options.py), as an operator reads them. */
import type { QueueType, QueueTypeInput } from "@/api/types";
import { limitWords, parseRate } from "@/ui/rates";

export type Kind = QueueTypeInput["type"];

export interface OptionField {
  name: string;
  label: string;
  /** What holds while the field is empty. */
  otherwise: string;
  reads: "rate" | "size" | "time" | "count" | "choice";
  choices?: readonly (readonly [string, string])[];
  /** Options of one fold; without it the field is always in view. */
  fold?: string;
}

const field = (
  reads: OptionField["reads"],
  name: string,
  label: string,
  otherwise: string,
  fold?: string,
): OptionField => ({ name, label, otherwise, reads, fold });
const choice = (
  name: string,
  label: string,
  otherwise: string,
  choices: readonly (readonly [string, string])[],
): OptionField => ({ name, label, otherwise, reads: "choice", choices });
const plain = (...words: string[]): readonly (readonly [string, string])[] =>
  words.map((word) => [word, word]);
const YES_NO = plain("yes", "no");

const BURST = "Burst of each sub-queue";
const MASKS = "Masks: how many addresses share one sub-queue";

export const OPTIONS: Record<Kind, readonly OptionField[]> = {
  pfifo: [field("count", "pfifo-limit", "Packets that may wait", "50")],
  "mq-pfifo": [field("count", "mq-pfifo-limit", "Packets that may wait", "50")],
  bfifo: [field("size", "bfifo-limit", "Bytes that may wait", "15000")],
  none: [],
  sfq: [
    field("count", "sfq-perturb", "New hash every so many seconds", "5"),
    field("size", "sfq-allot", "Bytes of each flow in a turn", "1514"),
  ],
  red: [
    field("count", "red-limit", "Packets that may wait", "60"),
    field("count", "red-min-threshold", "Drops begin at so many packets", "10"),
    field("count", "red-max-threshold", "All are dropped at so many packets", "50"),
    field("count", "red-burst", "Packets of a burst that is let through", "20"),
    field("size", "red-avg-packet", "Average packet, bytes", "1000"),
  ],
  codel: [
    field("time", "codel-target", "Delay that is accepted", "5ms"),
    field("time", "codel-interval", "Time over which it is watched", "100ms"),
    field("count", "codel-limit", "Packets that may wait", "1000"),
    choice("codel-ecn", "Marks instead of drops where a flow can (ECN)", "no", YES_NO),
  ],
  "fq-codel": [
    field("time", "fq-codel-target", "Delay that is accepted", "5ms"),
    field("time", "fq-codel-interval", "Time over which it is watched", "100ms"),
    field("count", "fq-codel-limit", "Packets that may wait", "10240"),
    field("count", "fq-codel-flows", "Flows that are told apart", "1024"),
    field("size", "fq-codel-quantum", "Bytes of each flow in a turn", "1514"),
    field("size", "fq-codel-memlimit", "Memory", "32MiB"),
    choice("fq-codel-ecn", "Marks instead of drops where a flow can (ECN)", "yes", YES_NO),
  ],
  cake: [
    choice(
      "cake-flowmode",
      "What is treated fairly",
      "triple-isolate",
      plain(
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
      ),
    ),
    choice(
      "cake-diffserv",
      "Classes by DSCP",
      "diffserv3",
      plain("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"),
    ),
    choice(
      "cake-ack-filter",
      "Drops needless TCP acknowledgements",
      "none",
      plain("none", "filter", "aggressive"),
    ),
    choice("cake-nat", "Looks behind NAT", "no", YES_NO),
    choice("cake-wash", "Clears DSCP", "no", YES_NO),
    field("time", "cake-rtt", "Round trip that is expected", "100ms"),
    field("size", "cake-memlimit", "Memory", "chosen by CAKE"),
  ],
  pcq: [
    choice("pcq-classifier", "A sub-queue for each", "source address", [
      ["src-address", "source address: each customer's upload"],
      ["dst-address", "destination address: each customer's download"],
      ["src-address,dst-address", "pair of source and destination address"],
    ]),
    field("rate", "pcq-rate", "Limit of each sub-queue", "equal shares of the queue's limit"),
    field("size", "pcq-limit", "Bytes that may wait in each", "50KiB"),
    field("rate", "pcq-burst-rate", "Burst rate", "no burst", BURST),
    field("rate", "pcq-burst-threshold", "Threshold", "no burst", BURST),
    field("time", "pcq-burst-time", "Time over which the average is taken", "no burst", BURST),
    field("count", "pcq-src-address-mask", "Source, IPv4 bits", "32", MASKS),
    field("count", "pcq-dst-address-mask", "Destination, IPv4 bits", "32", MASKS),
    field("count", "pcq-src-address6-mask", "Source, IPv6 bits", "128", MASKS),
    field("count", "pcq-dst-address6-mask", "Destination, IPv6 bits", "128", MASKS),
  ],
};

export const KINDS = Object.keys(OPTIONS).sort() as Kind[];

/** What each kind is for, in a line. */
export const KIND_WORDS: Record<Kind, string> = {
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

export const isKind = (type: string): type is Kind => type in OPTIONS;

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
