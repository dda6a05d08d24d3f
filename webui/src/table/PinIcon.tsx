// SPDX-License-Identifier: Apache-2.0
import { IconPinned, IconPinnedFilled } from "@tabler/icons-react";

/** Filled where it is pinned. */
export const PinIcon = ({ isPinned, size }: { isPinned: boolean; size: number }) =>
  isPinned ? (
    <IconPinnedFilled size={size} aria-hidden="true" />
  ) : (
    <IconPinned size={size} stroke={1.6} aria-hidden="true" />
  );
