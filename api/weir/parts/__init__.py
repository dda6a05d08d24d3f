# SPDX-License-Identifier: Apache-2.0
"""The parts of the system that a configuration becomes, beside shaping: one module each.

A new part is a module here with its line in `registry.PARTS`, and a backend in `weir.backends` that does it.
Who needs one part imports its module: all of them are loaded for the registry alone.
"""
