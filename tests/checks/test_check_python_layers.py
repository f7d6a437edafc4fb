# SPDX-License-Identifier: MIT OR Apache-2.0
"""check_python_layers.py finds made-up breaches and nothing else."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_python_layers  # noqa: E402

RULES = "base:\nreading: base\ncommands: base reading\n"
CLEAN = {
    "cli/hakmem/__init__.py": "", "cli/hakmem/base/__init__.py": "", "cli/hakmem/base/errors.py": "import os\n",
    "cli/hakmem/reading/__init__.py": "", "cli/hakmem/reading/page.py": "from hakmem.base.errors import Refusal\n",
    "cli/hakmem/commands/__init__.py": "", "cli/hakmem/commands/stats.py": "def f():\n    from hakmem.reading import page\n",
    "cli/hakmem/cli.py": "from hakmem.commands import stats\n",
    "lab/hakmem_lab/__init__.py": "", "lab/hakmem_lab/bench.py": "from hakmem.reading.page import read\n",
}


class Layers(unittest.TestCase):
    def breaches(self, **changes: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in (CLEAN | {"cli/layers.txt": RULES} | {f"{key.replace('__', '/')}.py": changes[key] for key in changes}).items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_python_layers.check(root)[1]

    def test_clean(self) -> None:
        self.assertEqual(self.breaches(), [])

    def test_from_below(self) -> None:
        for text in ("from hakmem.reading import page\n", "import hakmem.reading.page\n", "def f():\n    import hakmem.reading.page\n"):
            found = self.breaches(cli__hakmem__base__low=text)
            self.assertEqual(len(found), 1, found)
            self.assertIn("base may import no layer, not reading", found[0])

    def test_the_laboratory(self) -> None:
        (found,) = self.breaches(cli__hakmem__base__low="from hakmem_lab import bench\n")
        self.assertIn("cli/hakmem/base/low.py:1: imports hakmem_lab.bench: the product may not", found)

    def test_a_folder_without_a_layer(self) -> None:
        self.assertIn("cli/layers.txt has no layer new", self.breaches(cli__hakmem__new__one=""))

    def test_circles(self) -> None:
        found = self.breaches(lab__hakmem_lab__a="from hakmem_lab import b\n", lab__hakmem_lab__b="from hakmem_lab.a import f\n")
        self.assertEqual(found, ["a circle: hakmem_lab.a -> hakmem_lab.b -> hakmem_lab.a"])

    def test_no_rules(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(check_python_layers.CannotCheck):
            check_python_layers.check(Path(folder))


if __name__ == "__main__":
    unittest.main()
