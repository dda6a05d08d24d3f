// SPDX-License-Identifier: Apache-2.0
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouterHistory,
} from "@tanstack/react-router";
import { setMoved } from "@/ui/focus";
import { ErrorScreen, NotFoundScreen } from "./ErrorScreen";
import { Frame } from "./Frame";
import * as search from "./search";
import { SignInPage } from "./SignInPage";

/** Every state of a page that a colleague might want to see is in its address: see search.ts. */
const root = createRootRoute({
  component: Outlet,
  errorComponent: ErrorScreen,
  notFoundComponent: NotFoundScreen,
});
const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: SignInPage,
  validateSearch: search.signIn,
});
const frame = createRoute({ getParentRoute: () => root, id: "frame", component: Frame });

const overview = createRoute({
  getParentRoute: () => frame,
  path: "/",
  validateSearch: search.overview,
  component: lazyRouteComponent(() => import("@/pages/overview/OverviewPage")),
});
const traffic = createRoute({
  getParentRoute: () => frame,
  path: "/traffic",
  validateSearch: search.traffic,
  component: lazyRouteComponent(() => import("@/pages/traffic/TrafficPage")),
});
const queues = createRoute({
  getParentRoute: () => frame,
  path: "/queues",
  validateSearch: search.queues,
  component: lazyRouteComponent(() => import("@/pages/queues/QueuesPage")),
});
const queue = createRoute({
  getParentRoute: () => frame,
  path: "/queues/$id",
  validateSearch: search.queue,
  component: lazyRouteComponent(() => import("@/pages/queue/QueuePage")),
});
const queueTypes = createRoute({
  getParentRoute: () => frame,
  path: "/queue-types",
  validateSearch: search.kind,
  component: lazyRouteComponent(() => import("@/kinds/KindPage")),
});
const importRoute = createRoute({
  getParentRoute: () => frame,
  path: "/import",
  validateSearch: search.importReport,
  component: lazyRouteComponent(() => import("@/pages/import/ImportPage")),
});
const interfaces = createRoute({
  getParentRoute: () => frame,
  path: "/interfaces",
  validateSearch: search.kind,
  component: lazyRouteComponent(() => import("@/kinds/KindPage")),
});
const hosts = createRoute({
  getParentRoute: () => frame,
  path: "/hosts",
  validateSearch: search.hosts,
  component: lazyRouteComponent(() => import("@/pages/hosts/HostsPage")),
});
const tools = createRoute({
  getParentRoute: () => frame,
  path: "/tools",
  validateSearch: search.tools,
  component: lazyRouteComponent(() => import("@/pages/tools/ToolsPage")),
});
const log = createRoute({
  getParentRoute: () => frame,
  path: "/log",
  validateSearch: search.log,
  component: lazyRouteComponent(() => import("@/pages/log/LogPage")),
});
const leases = createRoute({
  getParentRoute: () => frame,
  path: "/leases",
  validateSearch: search.leases,
  component: lazyRouteComponent(() => import("@/pages/leases/LeasesPage")),
});
const routes = createRoute({
  getParentRoute: () => frame,
  path: "/routes",
  validateSearch: search.kind,
  component: lazyRouteComponent(() => import("@/kinds/KindPage")),
});
const firewall = createRoute({
  getParentRoute: () => frame,
  path: "/firewall",
  validateSearch: search.kind,
  component: lazyRouteComponent(() => import("@/kinds/KindPage")),
});
const history = createRoute({
  getParentRoute: () => frame,
  path: "/history",
  validateSearch: search.history,
  component: lazyRouteComponent(() => import("@/pages/history/HistoryPage")),
});
const users = createRoute({
  getParentRoute: () => frame,
  path: "/users",
  validateSearch: search.users,
  component: lazyRouteComponent(() => import("@/pages/users/UsersPage")),
});
const tuning = createRoute({
  getParentRoute: () => frame,
  path: "/tuning",
  validateSearch: search.tuning,
  component: lazyRouteComponent(() => import("@/pages/tuning/TuningPage")),
});
const backup = createRoute({
  getParentRoute: () => frame,
  path: "/backup",
  component: lazyRouteComponent(() => import("@/pages/BackupPage")),
});
const update = createRoute({
  getParentRoute: () => frame,
  path: "/update",
  component: lazyRouteComponent(() => import("@/pages/UpdatePage")),
});
const maintenance = createRoute({
  getParentRoute: () => frame,
  path: "/maintenance",
  component: lazyRouteComponent(() => import("@/pages/MaintenancePage")),
});
const diagnostics = createRoute({
  getParentRoute: () => frame,
  path: "/diagnostics",
  validateSearch: search.diagnostics,
  component: lazyRouteComponent(() => import("@/pages/DiagnosticsPage")),
});
const about = createRoute({
  getParentRoute: () => frame,
  path: "/about",
  component: lazyRouteComponent(() => import("@/pages/AboutPage")),
});
const account = createRoute({
  getParentRoute: () => frame,
  path: "/account",
  component: lazyRouteComponent(() => import("@/pages/AccountPage")),
});
/** Every kind that is declared has its page; the addresses above are those that other pages name. */
const declared = createRoute({
  getParentRoute: () => frame,
  path: "/$page",
  validateSearch: search.kind,
  component: lazyRouteComponent(() => import("@/kinds/KindPage")),
});
const elsewhere = createRoute({ getParentRoute: () => frame, path: "$", component: NotFoundScreen });

const routeTree = root.addChildren([
  signIn,
  frame.addChildren([
    overview,
    traffic,
    queues,
    queue,
    queueTypes,
    importRoute,
    interfaces,
    hosts,
    tools,
    log,
    leases,
    routes,
    firewall,
    history,
    users,
    tuning,
    backup,
    update,
    maintenance,
    diagnostics,
    about,
    account,
    declared,
    elsewhere,
  ]),
]);

/** Tests give a history in memory; the browser has its own. */
export function makeRouter(memory?: RouterHistory) {
  const router = createRouter({
    routeTree,
    history: memory,
    defaultPreload: "intent",
    defaultErrorComponent: ErrorScreen,
    scrollRestoration: true,
  });
  setMoved(false);
  router.subscribe("onBeforeLoad", ({ fromLocation, pathChanged }) => {
    if (fromLocation && pathChanged) setMoved(true);
  });
  return router;
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
