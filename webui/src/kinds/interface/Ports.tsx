// SPDX-License-Identifier: Apache-2.0
import { useInterfaces } from "@/api/interfaces";
import { PortsPicture } from "@/ports/PortsPicture";

/** The face of the box above the list of its interfaces. */
export default function Ports() {
  return <PortsPicture items={useInterfaces().items} />;
}
