// SPDX-License-Identifier: Apache-2.0
import { Menu } from "@mantine/core";
import type { ReactNode } from "react";

interface PointMenuProps {
  /** Whose actions they are: the menu's name. */
  name: string;
  /** Where it was asked for, in pixels of the window. */
  x: number;
  y: number;
  onClose: () => void;
  children: ReactNode;
}

/** The menu of a row, where the pointer or the cursor is. */
export const PointMenu = ({ name, x, y, onClose, children }: PointMenuProps) => (
  <Menu
    opened
    onClose={onClose}
    position="bottom-start"
    offset={0}
    width={230}
    transitionProps={{ duration: 0 }}
    returnFocus
    withInitialFocusPlaceholder={false}
  >
    <Menu.Target>
      <span
        role="button"
        style={{ position: "fixed", left: x, top: y, width: 1, height: 1, overflow: "hidden" }}
      >
        Actions of {name}
      </span>
    </Menu.Target>
    <Menu.Dropdown>{children}</Menu.Dropdown>
  </Menu>
);

/** The key that does the same as an entry. */
export const menuKey = (name: string) => <span className="dim">{name}</span>;
