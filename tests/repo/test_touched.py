# SPDX-License-Identifier: Apache-2.0
"""What is made of the files that the emulator's plugin writes (bench/rig/touched.c)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import touched, touched_rows
from bench.touched import FEWEST, Touches
from bench.touched_rows import ALONE, PAIRS

KALLSYMS = """\
ffffffff81000000 T first
ffffffffc0001000 t bpf_prog_00112233445566aa_weir_egress\t[bpf]
ffffffffc0001800 t bpf_prog_00112233445566bb_weir_look\t[bpf]
ffffffffc0002000 t bpf_prog_00112233445566cc_generate\t[bpf]
"""


def written(folder: Path, name: str, packets: int, leaf_lines: int) -> None:
    """Two lines in each packet, and a program of ours that touches so many more in all packets together."""
    more = f"{leaf_lines} {leaf_lines} {leaf_lines} 0 {leaf_lines} 0"
    (folder / f"touched-{name}").write_text(
        f"packets {packets}\n"
        f"by ffffffff81000010 {2 * packets} {packets} 0 0 0 0 ffff888000000000 ffff888000000040\n"
        f"by ffffffffc0001010 {more} ffffc90000000000 ffffc90000100000\n"
        f"block ffffffffc0001000 100 {packets}\n"
        f"block ffffffffc0001400 50 {packets // 2}\n"
        f"block ffffffffc0001800 3 {packets}\n"
        f"block ffffffffc0002000 168 {packets}\n"
    )


def test_a_file_of_the_plugin_is_read_by_packet(tmp_path: Path) -> None:
    written(tmp_path, "edt", 4000, 6000)
    seen = touched.read(tmp_path / "touched-edt")
    assert seen.touches == Touches(3.5, 2.5, 1.5, 0, 1.5, 0)
    assert seen.instructions[0xFFFFFFFFC0001400] == 25
    assert seen.origins[1].highest - seen.origins[1].lowest == 0x100000


def test_figures_of_few_packets_are_none(tmp_path: Path) -> None:
    written(tmp_path, "edt", FEWEST - 1, 0)
    with pytest.raises(ValueError, match="only 1999 packets"):
        touched.read(tmp_path / "touched-edt")


def test_rows_say_what_shaping_touches_more_and_what_our_programs_execute(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    for name in {*ALONE, *(name for pair in PAIRS.values() for name in pair[:2])}:
        shaped = name.startswith(("edt", "fast"))
        written(tmp_path, name, 4000, 6000 if shaped else 1000)
    rows = {row.id: row.median for row in touched_rows.rows(tmp_path)}
    assert rows["lines-paced-100k"] == rows["lines-far-paced-100k"] == rows["lines-all-paced-100k"] == 1.25
    assert (rows["pages-paced-100k"], rows["pages-all-paced-100k"]) == (0, 1.25)
    assert (rows["lines-of-noqueue"], rows["lines-of-edt-100k"]) == (2.25, 3.5)
    assert rows["insn-program-egress-edt-100k"] == 125, "both blocks"
    assert "insn-program-look-edt-100k" not in rows, "three instructions are not worth a row"
    assert not any("generate" in id for id in rows), "the rig's own"
