# SPDX-License-Identifier: Apache-2.0
"""Serving HTTP so that nobody without an account keeps others waiting (docs/adr/0031).

`front` owns the sockets: one thread that never waits for a single client. `worker` calls the application in
threads, with requests that have arrived in full.
"""

RECOGNISED = "weir.recognised"
"""In a request's environment: a function that is told whether its credential is good."""
STREAM = "weir.stream"
"""In a request's environment: the application puts a stream of frames there, and the front sends it."""
REACHED = "weir.reached"
"""In a request's environment: the name of the connection's own end, as `getsockname` has it."""
SMALL_BODY_BYTES = 65_536
"""Larger bodies are read by the thread that needs them, after it has looked who sends them."""
