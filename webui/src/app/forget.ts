// SPDX-License-Identifier: Apache-2.0
import { disputes } from "@/api/elsewhere";
import { live } from "@/api/live";
import { queryClient } from "@/api/queries";
import { forgetSteps } from "@/api/undo";
import { dismissAll } from "@/ui/toast";

/** Whatever this page keeps of who was signed in. Nothing of it is shown to who signs in next, or can be undone by them. */
export function forgetAccount(): void {
  disputes.giveWay();
  forgetSteps();
  dismissAll();
  live.stop();
  queryClient.clear();
  sessionStorage.clear();
}
