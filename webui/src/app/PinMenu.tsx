// SPDX-License-Identifier: Apache-2.0
import { Menu } from "@mantine/core";
import { menuKey, PointMenu } from "@/table/PointMenu";
import { isPinned, movePin, togglePin } from "@/table/pins";
import type { View } from "@/table/views";

/** Where the menu of a line was asked for, in pixels of the window. */
export interface PinPlace {
  view: View;
  x: number;
  y: number;
}

/** What can be done with a line of the main menu, with the keys that do the same. */
export function PinMenu({ place: { view, x, y }, onClose }: { place: PinPlace; onClose: () => void }) {
  const pinned = isPinned(view.at);
  return (
    <PointMenu name={view.name} x={x} y={y} onClose={onClose}>
      <Menu.Item rightSection={menuKey("*")} onClick={() => togglePin(view)}>
        {pinned ? "Unpin" : "Pin to the top"}
      </Menu.Item>
      {pinned ? (
        <>
          <Menu.Item rightSection={menuKey("Alt ↑")} onClick={() => movePin(view.at, -1)}>
            Move up
          </Menu.Item>
          <Menu.Item rightSection={menuKey("Alt ↓")} onClick={() => movePin(view.at, 1)}>
            Move down
          </Menu.Item>
        </>
      ) : null}
    </PointMenu>
  );
}
