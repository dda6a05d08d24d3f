// SPDX-License-Identifier: Apache-2.0
import {
  IconActivity,
  IconAddressBook,
  IconAdjustments,
  IconAffiliate,
  IconApps,
  IconArrowForwardUp,
  IconArrowsDownUp,
  IconArrowsSplit,
  IconBan,
  IconBell,
  IconBinaryTree,
  IconCalendarEvent,
  IconCertificate,
  IconChartSankey,
  IconClock,
  IconClockHour4,
  IconDeviceDesktopCog,
  IconDeviceFloppy,
  IconDevices,
  IconFileImport,
  IconFileText,
  IconFilter,
  IconFingerprint,
  IconFlame,
  IconGauge,
  IconGitBranch,
  IconGridDots,
  IconHandStop,
  IconHeartRateMonitor,
  IconHeartbeat,
  IconHistory,
  IconId,
  IconInfoCircle,
  IconKey,
  IconList,
  IconListCheck,
  IconListNumbers,
  IconLock,
  IconLogs,
  IconNetwork,
  IconPin,
  IconPinned,
  IconPlugConnected,
  IconPower,
  IconRefresh,
  IconRoute,
  IconRouteAltLeft,
  IconSend,
  IconServer,
  IconServer2,
  IconSettings,
  IconShield,
  IconShieldCheck,
  IconShieldLock,
  IconSitemap,
  IconStack2,
  IconStethoscope,
  IconTags,
  IconTerminal2,
  IconTool,
  IconTopologyRing,
  IconTransfer,
  IconTransform,
  IconUsers,
  IconWall,
  IconWorld,
  IconWorldWww,
  type Icon,
} from "@tabler/icons-react";
import { AREAS, NAMED, type Area } from "@/kinds/names";
import { pageTitle } from "@/kinds/title";

export interface NavItem {
  /** A page of its own, or `/$page` with the page of a declared kind. */
  to:
    | "/"
    | "/traffic"
    | "/queues"
    | "/queue-types"
    | "/import"
    | "/interfaces"
    | "/hosts"
    | "/leases"
    | "/routes"
    | "/firewall"
    | "/history"
    | "/users"
    | "/tuning"
    | "/backup"
    | "/update"
    | "/maintenance"
    | "/diagnostics"
    | "/tools"
    | "/log"
    | "/about"
    | "/$page";
  page: string;
  label: string;
  icon: Icon;
  /** "" where a kind has none. */
  keys: string;
}

const OVERVIEW: NavItem = { to: "/", page: "", label: "Overview", icon: IconGauge, keys: "g o" };
const TRAFFIC: NavItem = {
  to: "/traffic",
  page: "",
  label: "Live traffic",
  icon: IconChartSankey,
  keys: "g v",
};

/** Pages that are made by hand, and the keys and icons of some that follow from a declaration. */
const OWN: Readonly<Record<Area, readonly NavItem[]>> = {
  Shaping: [
    { to: "/queues", page: "", label: "Queues", icon: IconStack2, keys: "g q" },
    { to: "/queue-types", page: "", label: "Queue types", icon: IconAdjustments, keys: "g t" },
    { to: "/import", page: "", label: "Import", icon: IconFileImport, keys: "g m" },
  ],
  Network: [
    { to: "/interfaces", page: "", label: "Interfaces", icon: IconPlugConnected, keys: "g i" },
    { to: "/hosts", page: "", label: "Hosts", icon: IconDevices, keys: "g s" },
  ],
  Routing: [{ to: "/routes", page: "", label: "Routes", icon: IconRoute, keys: "g r" }],
  Firewall: [{ to: "/firewall", page: "", label: "Firewall", icon: IconFlame, keys: "g f" }],
  VPN: [],
  Services: [{ to: "/leases", page: "", label: "Leases", icon: IconClockHour4, keys: "g l" }],
  System: [
    { to: "/history", page: "", label: "History", icon: IconHistory, keys: "g h" },
    { to: "/users", page: "", label: "Users and tokens", icon: IconUsers, keys: "g u" },
    { to: "/tuning", page: "", label: "Tuning", icon: IconTool, keys: "g n" },
    { to: "/backup", page: "", label: "Backup", icon: IconDeviceFloppy, keys: "g b" },
    { to: "/update", page: "", label: "Update", icon: IconRefresh, keys: "g p" },
    { to: "/maintenance", page: "", label: "Maintenance", icon: IconPower, keys: "g c" },
    { to: "/diagnostics", page: "", label: "Diagnostics", icon: IconActivity, keys: "g d" },
    { to: "/tools", page: "", label: "Tools", icon: IconStethoscope, keys: "g z" },
    { to: "/log", page: "", label: "Log", icon: IconLogs, keys: "g e" },
    { to: "/about", page: "", label: "About", icon: IconInfoCircle, keys: "g a" },
  ],
};

/** By page, of declared kinds. */
const ICONS: Readonly<Record<string, Icon>> = {
  peers: IconKey,
  uplinks: IconRouteAltLeft,
  checks: IconHeartRateMonitor,
  "prefix-lists": IconFilter,
  "prefix-list-entries": IconListNumbers,
  "route-maps": IconGitBranch,
  "route-map-entries": IconBinaryTree,
  "bfd-profiles": IconHeartbeat,
  bgp: IconWorld,
  "bgp-neighbors": IconAffiliate,
  ospf: IconTopologyRing,
  "ospf-interfaces": IconNetwork,
  zones: IconShield,
  "zone-policies": IconShieldCheck,
  rules: IconWall,
  "nat-rules": IconTransform,
  "bounded-sources": IconHandStop,
  services: IconTags,
  sets: IconGridDots,
  "set-entries": IconListCheck,
  "dhcp-servers": IconServer,
  "dhcp-reservations": IconPin,
  "dhcp-relays": IconTransfer,
  "dhcpv6-servers": IconServer2,
  "dhcpv6-reservations": IconPinned,
  dns: IconWorldWww,
  "dns-records": IconAddressBook,
  "dns-forwards": IconArrowForwardUp,
  "dns-block-lists": IconBan,
  ntp: IconClock,
  "alert-targets": IconSend,
  "alert-rules": IconBell,
  "syslog-targets": IconFileText,
  identity: IconId,
  certificates: IconCertificate,
  management: IconDeviceDesktopCog,
  jobs: IconCalendarEvent,
  "ssh-server": IconTerminal2,
  "ssh-keys": IconFingerprint,
};

/** Of a kind that has no icon of its own. */
const AREA_ICONS: Readonly<Record<Area, Icon>> = {
  Shaping: IconStack2,
  Network: IconPlugConnected,
  Routing: IconRoute,
  Firewall: IconFlame,
  VPN: IconLock,
  Services: IconList,
  System: IconTool,
};

/** In the menu, at the line that opens an area. */
const AREA_LINES: Readonly<Record<Area, Icon>> = {
  Shaping: IconArrowsDownUp,
  Network: IconSitemap,
  Routing: IconArrowsSplit,
  Firewall: IconShieldLock,
  VPN: IconLock,
  Services: IconApps,
  System: IconSettings,
};

const TAKEN = new Set([OVERVIEW, TRAFFIC, ...Object.values(OWN).flat()].map((item) => item.keys.slice(2)));

/** The first letter of a page's name that no other page has; "" where all are taken: the palette finds it. */
function keysOf(page: string): string {
  const letter = page.match(/[a-z]/g)?.find((char) => !TAKEN.has(char));
  if (letter === undefined) return "";
  TAKEN.add(letter);
  return `g ${letter}`;
}

/** The declared kinds of an area that have no line above. */
const declaredIn = (area: Area): NavItem[] =>
  [...NAMED.values()]
    .filter((kind) => kind.area === area && !OWN[area].some((item) => item.to === `/${kind.page}`))
    .map((kind) => ({
      to: "/$page",
      page: kind.page,
      label: pageTitle(kind),
      icon: ICONS[kind.page] ?? AREA_ICONS[area],
      keys: keysOf(kind.page),
    }));

export interface NavArea {
  title: Area;
  icon: Icon;
  items: readonly NavItem[];
}

/** What is always shown, and the areas, which fold; one without pages is left out. */
export const NAV: { top: readonly NavItem[]; areas: readonly NavArea[] } = {
  top: [OVERVIEW, TRAFFIC],
  areas: AREAS.map((area) => ({
    title: area,
    icon: AREA_LINES[area],
    items: [...OWN[area], ...declaredIn(area)],
  })).filter((area) => area.items.length > 0),
};

export const ALL_NAV: readonly NavItem[] = [...NAV.top, ...NAV.areas.flatMap((area) => area.items)];

/** The path of a page's address. */
export const pathOf = ({ to, page }: NavItem): string => (to === "/$page" ? `/${page}` : to);

/** The area whose page is at this path of an address, or a page below it; null where none is. */
export function areaOf(path: string): Area | null {
  const isAt = (item: NavItem) => `${path}/`.startsWith(`${pathOf(item)}/`);
  return NAV.areas.find((area) => area.items.some(isAt))?.title ?? null;
}
