// SPDX-License-Identifier: Apache-2.0
import { ActionIcon } from "@mantine/core";
import { PinIcon } from "@/table/PinIcon";
import { togglePin } from "@/table/pins";
import type { View } from "@/table/views";
import classes from "./Frame.module.css";

/** For the pointer; by keys it is `*` at the line. */
export function PinButton({ view, pins }: { view: View; pins: readonly View[] }) {
  const isPinned = pins.some((pin) => pin.at === view.at);
  const name = isPinned ? `Unpin ${view.name}` : `Pin ${view.name} to the top`;
  return (
    <ActionIcon
      className={classes.pin}
      variant="subtle"
      color="gray"
      size="sm"
      tabIndex={-1}
      aria-label={name}
      title={name}
      data-on={isPinned || undefined}
      onClick={() => togglePin(view)}
    >
      <PinIcon isPinned={isPinned} size={14} />
    </ActionIcon>
  );
}
