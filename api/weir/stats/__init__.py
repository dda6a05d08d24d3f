# SPDX-License-Identifier: Apache-2.0
"""Rates and history from the datapath's counters: vectors over all lines, nothing per queue per second.

A *line* is one direction of one class: line = slot * 2 + direction (0 upload, 1 download).
"""
