// SPDX-License-Identifier: Apache-2.0
import { ActionIcon } from "@mantine/core";
import { IconChevronsLeft, IconChevronsRight } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import classes from "./Frame.module.css";
import { NAV } from "./nav";

const FOLD_KEY = "weir.nav-folded";

export function NavBar({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [folded, setFolded] = useState(() => localStorage.getItem(FOLD_KEY) === "1");
  const fold = () => {
    localStorage.setItem(FOLD_KEY, folded ? "0" : "1");
    setFolded(!folded);
  };
  return (
    <>
      {open ? (
        <button type="button" className={classes.scrim} aria-label="Close the menu" onClick={onClose} />
      ) : null}
      <nav className={classes.nav} data-open={open} data-folded={folded} aria-label="Main">
        {NAV.map((group) => (
          <div key={group.title ?? ""}>
            {group.title ? <div className={classes.group}>{group.title}</div> : null}
            <ul aria-label={group.title ?? undefined}>
              {group.items.map((item) => (
                <li key={item.label}>
                  <Link
                    to={item.to}
                    params={{ page: item.page }}
                    className={classes.link}
                    activeOptions={{ exact: item.to === "/", includeSearch: false }}
                    aria-label={item.label}
                    title={folded ? item.label : undefined}
                    onClick={onClose}
                  >
                    <item.icon size={17} stroke={1.6} aria-hidden="true" />
                    <span>{item.label}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <ActionIcon
          className={classes.fold}
          variant="subtle"
          color="gray"
          aria-label={folded ? "Unfold the menu" : "Fold the menu"}
          onClick={fold}
        >
          {folded ? <IconChevronsRight size={16} /> : <IconChevronsLeft size={16} />}
        </ActionIcon>
      </nav>
    </>
  );
}
