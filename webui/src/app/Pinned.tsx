// SPDX-License-Identifier: Apache-2.0
import { IconBookmark } from "@tabler/icons-react";
import { useLocation, useRouter } from "@tanstack/react-router";
import type { DragEvent, MouseEvent } from "react";
import { dropPin, usePins } from "@/table/pins";
import type { View } from "@/table/views";
import classes from "./Frame.module.css";
import { ALL_NAV, pathOf } from "./nav";
import { PinButton } from "./PinButton";

const DRAGGED = "text/x-weir-pin";

interface PinnedProps {
  folded: boolean;
  onClose: () => void;
}

/** The lines at the top of the menu that somebody chose. */
export function Pinned({ folded, onClose }: PinnedProps) {
  const pins = usePins();
  if (pins.length === 0) return null;
  return (
    <ul className={classes.pinned} aria-label="Pinned">
      {pins.map((pin) => (
        <Pin key={pin.at} pin={pin} folded={folded} onClose={onClose} />
      ))}
    </ul>
  );
}

function Pin({ pin, folded, onClose }: PinnedProps & { pin: View }) {
  const router = useRouter();
  const href = useLocation({ select: (location) => location.pathname + location.searchStr });
  const page = ALL_NAV.find((item) => pathOf(item) === pin.at);
  const Icon = page?.icon ?? IconBookmark;
  const go = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onClose();
    router.history.push(pin.at);
  };
  const onDrop = (event: DragEvent) => {
    const dragged = event.dataTransfer.getData(DRAGGED);
    if (dragged === "") return;
    event.preventDefault();
    dropPin(dragged, pin.at);
  };
  return (
    <li
      className={classes.entry}
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes(DRAGGED)) event.preventDefault();
      }}
      onDrop={onDrop}
    >
      <a
        href={pin.at}
        className={classes.link}
        data-status={href === pin.at ? "active" : undefined}
        aria-current={href === pin.at ? "page" : undefined}
        data-at={pin.at}
        data-name={pin.name}
        data-pin
        title={folded ? pin.name : undefined}
        aria-label={`${pin.name}, pinned`}
        draggable
        onDragStart={(event) => event.dataTransfer.setData(DRAGGED, pin.at)}
        onClick={go}
      >
        <Icon size={17} stroke={1.6} aria-hidden="true" />
        <span className={classes.pinName}>{pin.name}</span>
      </a>
      <PinButton view={pin} pins={[pin]} />
    </li>
  );
}
