// SPDX-License-Identifier: Apache-2.0
/** Lines of the log as text: whatever a process wrote, nobody's screen or clipboard obeys it. */
import type { LogLine } from "@/api/types";
import { stampText } from "@/ui/format";

/** Control characters, halves of pairs, and what turns the direction of text or cannot be seen. */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const NAMES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** As a program's source would have it. */
const shown = (char: string): string => {
  const code = char.charCodeAt(0).toString(16);
  return NAMES[char] ?? (code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`);
};

/** The text with every character to be seen, and none that does something: `\x1b[31m`, `\u202e`. */
export const visible = (text: string): string => text.replace(UNSEEN, shown);

export const textOf = (line: LogLine): string =>
  line.text === null ? "A line of more than 4,096 bytes, which is not shown" : visible(line.text);

/** `bgpd`, or `bgpd[7]`. */
export const processOf = ({ process, pid }: Pick<LogLine, "process" | "pid">): string =>
  visible(pid === "" ? process : `${process}[${pid}]`);

/** As it is copied. */
export const lineText = (line: LogLine): string =>
  `${stampText(line.at)} ${line.severity} ${line.source} ${processOf(line)}: ${textOf(line)}`;
