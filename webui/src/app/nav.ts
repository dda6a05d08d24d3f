// SPDX-License-Identifier: Apache-2.0
import {
  IconActivity,
  IconAdjustments,
  IconDeviceFloppy,
  IconFileImport,
  IconFlame,
  IconGauge,
  IconHistory,
  IconInfoCircle,
  IconPlugConnected,
  IconPower,
  IconRoute,
  IconRefresh,
  IconStack2,
  IconTool,
  IconUsers,
  type Icon,
} from "@tabler/icons-react";

export interface NavItem {
  to:
    | "/"
    | "/queues"
    | "/queue-types"
    | "/import"
    | "/interfaces"
    | "/routes"
    | "/firewall"
    | "/history"
    | "/users"
    | "/tuning"
    | "/backup"
    | "/update"
    | "/maintenance"
    | "/diagnostics"
    | "/about";
  label: string;
  icon: Icon;
  keys: string;
}

export const NAV: readonly { title: string | null; items: readonly NavItem[] }[] = [
  { title: null, items: [{ to: "/", label: "Overview", icon: IconGauge, keys: "g o" }] },
  {
    title: "Shaping",
    items: [
      { to: "/queues", label: "Queues", icon: IconStack2, keys: "g q" },
      { to: "/queue-types", label: "Queue types", icon: IconAdjustments, keys: "g t" },
      { to: "/import", label: "Import", icon: IconFileImport, keys: "g m" },
    ],
  },
  {
    title: "Network",
    items: [
      { to: "/interfaces", label: "Interfaces", icon: IconPlugConnected, keys: "g i" },
      { to: "/routes", label: "Routes", icon: IconRoute, keys: "g r" },
      { to: "/firewall", label: "Firewall", icon: IconFlame, keys: "g f" },
    ],
  },
  {
    title: "System",
    items: [
      { to: "/history", label: "History", icon: IconHistory, keys: "g h" },
      { to: "/users", label: "Users and tokens", icon: IconUsers, keys: "g u" },
      { to: "/tuning", label: "Tuning", icon: IconTool, keys: "g n" },
      { to: "/backup", label: "Backup", icon: IconDeviceFloppy, keys: "g b" },
      { to: "/update", label: "Update", icon: IconRefresh, keys: "g p" },
      { to: "/maintenance", label: "Maintenance", icon: IconPower, keys: "g c" },
      { to: "/diagnostics", label: "Diagnostics", icon: IconActivity, keys: "g d" },
      { to: "/about", label: "About", icon: IconInfoCircle, keys: "g a" },
    ],
  },
];

export const ALL_NAV: readonly NavItem[] = NAV.flatMap((group) => group.items);
