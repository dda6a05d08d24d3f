# SPDX-License-Identifier: Apache-2.0
"""What the tools of `weir.tools` do: each run is a process of its own.

The agent starts it (`python -m weir.probes`). It opens its socket, gives up every right, and is killed with
the agent. A line of its output is an event as JSON, and the last one says how it ended.
"""
