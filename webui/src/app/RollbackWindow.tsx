// SPDX-License-Identifier: Apache-2.0
import { NativeSelect } from "@mantine/core";

const WINDOWS = [
  { value: "0", label: "no timer" },
  { value: "20", label: "within 20 seconds" },
  { value: "60", label: "within 1 minute" },
  { value: "300", label: "within 5 minutes" },
  { value: "900", label: "within 15 minutes" },
];

/** Seconds; what every dialog begins with. */
export const USUAL_WINDOW_S = 60;

interface RollbackWindowProps {
  /** Of the timer; 0 is none. */
  seconds: number;
  onSeconds: (seconds: number) => void;
}

/** How long a commit waits for somebody to say that it is to stay. */
export function RollbackWindow({ seconds, onSeconds }: RollbackWindowProps) {
  return (
    <NativeSelect
      label="Roll back by itself unless kept"
      data={WINDOWS}
      value={String(seconds)}
      onChange={(event) => onSeconds(Number(event.currentTarget.value))}
    />
  );
}
