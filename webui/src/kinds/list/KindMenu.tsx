// SPDX-License-Identifier: Apache-2.0
import { Menu } from "@mantine/core";
import { menuKey, PointMenu } from "@/table/PointMenu";
import { copyText } from "@/ui/copy";
import { say } from "@/ui/toast";
import type { Declared } from "../kinds";
import { nameOf, type Row } from "../objects";
import type { Moves } from "./moving";
import { isRemovable, type useEdits } from "./useEdits";

/** Where a row's menu was asked for, in pixels of the window. */
export interface MenuPlace {
  row: Row;
  x: number;
  y: number;
}

interface KindMenuProps {
  place: MenuPlace;
  declared: Declared;
  isChosen: boolean;
  onOpen: () => void;
  onSelect: () => void;
  /** Null: nothing may be changed. */
  edits: ReturnType<typeof useEdits> | null;
  /** Null: nothing can be moved. */
  moves: Moves | null;
  onClose: () => void;
}

/** The address that opens the row's form in this list, as it is shown now. */
function linkTo(row: Row): string {
  const address = new URL(window.location.href);
  address.searchParams.set("edit", row.object.id);
  return address.href;
}

function copyLink(row: Row, name: string): void {
  const isCopied = copyText(linkTo(row));
  say(isCopied ? "notice" : "error", isCopied ? `Copied the link to ${name}.` : "The browser did not copy.");
}

/** What a row can do, with the keys that do the same. */
export function KindMenu(props: KindMenuProps) {
  const { place, declared, isChosen, onOpen, onSelect, onClose } = props;
  const { row, x, y } = place;
  const name = nameOf(declared, row.object);
  return (
    <PointMenu name={name} x={x} y={y} onClose={onClose}>
      <Menu.Item rightSection={menuKey("Enter")} onClick={onOpen}>
        Open
      </Menu.Item>
      <Menu.Item rightSection={menuKey("x")} onClick={onSelect}>
        {isChosen ? "Unselect" : "Select"}
      </Menu.Item>
      <Menu.Item onClick={() => copyLink(row, name)}>Copy the link</Menu.Item>
      <Edits {...props} />
    </PointMenu>
  );
}

function Edits({ place: { row }, declared, edits, moves }: KindMenuProps) {
  if (!edits) return null;
  const canDisable = declared.fields.some((field) => field.name === "disabled");
  const isOff = row.object["disabled"] === true;
  const isGoing = row.staged === "remove";
  return (
    <>
      <Menu.Divider />
      {canDisable && !isGoing ? (
        <Menu.Item onClick={() => edits.setDisabled([row], !isOff)}>{isOff ? "Enable" : "Disable"}</Menu.Item>
      ) : null}
      {moves && !isGoing ? (
        <>
          <Menu.Item rightSection={menuKey("Alt ↑")} onClick={() => moves.step(row, -1)}>
            Move up
          </Menu.Item>
          <Menu.Item rightSection={menuKey("Alt ↓")} onClick={() => moves.step(row, 1)}>
            Move down
          </Menu.Item>
        </>
      ) : null}
      {row.staged ? <Menu.Item onClick={() => edits.undo(row)}>Undo its pending change</Menu.Item> : null}
      {isRemovable(row) ? (
        <Menu.Item className="bad" rightSection={menuKey("Del")} onClick={() => edits.remove([row])}>
          Delete
        </Menu.Item>
      ) : null}
    </>
  );
}
