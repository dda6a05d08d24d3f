# SPDX-License-Identifier: Apache-2.0
"""Measures every figure of docs/benchmarks.md."""
