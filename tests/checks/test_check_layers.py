# SPDX-License-Identifier: MIT OR Apache-2.0
"""check_layers.py finds made-up breaches and nothing else. The object files are real ones, made by cc."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402

RULES = """
base:
os:    base
box:   base os
front: base os box
blind: box
public: front
kernel: os
kernel names: mmap
"""

CLEAN = {
    "base/bits.h": "static inline int hak_bits(int n) { return n + 1; }\n",
    "os/os.h": "void *hak_os_map(void);\n",
    "os/os.c": '#include "os/os.h"\nvoid *mmap(int);\nvoid *hak_os_map(void) { return mmap(1); }\n',
    "box/slab.h": "int hak_slab_get(void);\nint hak_slab_fill(void);\n",
    "box/slab.c": '#include "box/slab.h"\n#include "base/bits.h"\n'
                  "int hak_slab_get(void) { return hak_bits(hak_slab_fill()); }\n",
    "box/slab_fill.c": '#include "box/slab.h"\nint g_slab;\nint hak_slab_fill(void) { return g_slab; }\n',
    "box/depot.h": "int hak_depot_get(void);\n",
    "box/depot.c": '#include "box/depot.h"\nint hak_depot_get(void) { return 2; }\n',
    "front/front.h": "int hak_front_alloc(void);\n",
    "front/front.c": '#include "front/front.h"\n#include "box/slab.h"\n#include "box/depot.h"\n'
                     "int hak_front_alloc(void) { return hak_slab_get() + hak_depot_get(); }\n",
}


class Tree(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.build = self.root / "build"
        (self.root / "layers.txt").write_text(RULES, encoding="utf-8")

    def breaches(self, changes: dict[str, str], unbuilt: str = "") -> list[str]:
        for name, text in (CLEAN | changes).items():
            path = self.root / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for path in (self.root / "src").rglob("*.c"):
            name = path.relative_to(self.root / "src").as_posix()
            if name != unbuilt:
                self.compile(path, name)
        found: list[str] = check_layers.check(self.root, self.build)
        return found

    def compile(self, path: Path, name: str) -> None:
        target = self.build / f"CMakeFiles/hak_main.dir/src/{name}.o"
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-c", "-I", str(self.root / "src"), "-o", str(target), str(path)], check=True)

    def assert_one(self, found: list[str], *parts: str) -> None:
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_clean_tree_passes(self) -> None:
        self.assertEqual(self.breaches({}), [])

    def test_an_include_from_above_is_found(self) -> None:
        found = self.breaches({"base/bits.h": '#include "front/front.h"\n' + CLEAN["base/bits.h"]})
        self.assert_one(found, "src/base/bits.h:1: includes front/front.h", "base may use no layer, not front")

    def test_a_call_from_above_without_an_include_is_found(self) -> None:
        found = self.breaches({"os/os.c": CLEAN["os/os.c"] + "int hak_front_alloc(void);\n"
                                          "int hak_os_wrong(void) { return hak_front_alloc(); }\n"})
        self.assert_one(found, "src/os/os.c", "uses hak_front_alloc of src/front/front.c")

    def test_a_call_hidden_in_a_shared_header_is_found(self) -> None:
        found = self.breaches({"base/bits.h": "int hak_depot_get(void);\n"
                                              "static inline int hak_bits(int n) { return n + hak_depot_get(); }\n"})
        self.assert_one(found, "src/box/slab.c: object file uses hak_depot_get", "blind")

    def test_a_foreign_variable_is_found(self) -> None:
        found = self.breaches({"box/depot.c": "extern int g_slab;\n#include \"box/depot.h\"\n"
                                              "int hak_depot_get(void) { return g_slab; }\n"})
        self.assert_one(found, "src/box/depot.c: object file uses g_slab of src/box/slab_fill.c", "blind")

    def test_a_box_that_includes_its_sibling_is_found(self) -> None:
        found = self.breaches({"box/depot.c": '#include "box/slab.h"\n' + CLEAN["box/depot.c"]})
        self.assert_one(found, "src/box/depot.c:1: includes box/slab.h", "blind")

    def test_only_the_os_layer_asks_the_kernel(self) -> None:
        found = self.breaches({"box/depot.c": "void *mmap(int);\nint hak_depot_get(void) { return mmap(1) != 0; }\n"})
        self.assert_one(found, "src/box/depot.c: object file uses mmap", "only os may ask the kernel")

    def test_the_public_header_is_for_those_named(self) -> None:
        (self.root / "include/hakmem").mkdir(parents=True)
        found = self.breaches({"base/bits.h": "// #include <hakmem/hakmem.h>\n" + CLEAN["base/bits.h"]})
        self.assertEqual(found, [])
        source = check_layers.Source("os/os.c")
        rules = check_layers.read_rules(RULES)
        self.assertIn("os may not use", check_layers.include_breach(rules, self.root, source, "hakmem/hakmem.h"))

    def test_a_layer_with_a_door_is_entered_by_it(self) -> None:
        (self.root / "layers.txt").write_text(RULES + "door: os/os.h\n", encoding="utf-8")
        self.assertEqual(self.breaches({"box/slab.c": '#include "os/os.h"\n' + CLEAN["box/slab.c"]}), [])
        found = self.breaches({"os/file.h": "\n", "box/slab.c": '#include "os/file.h"\n' + CLEAN["box/slab.c"]})
        self.assert_one(found, "src/box/slab.c:1: includes os/file.h", "the door of os is os/os.h")

    def test_an_include_without_its_layer_is_found(self) -> None:
        found = self.breaches({"box/depot.c": CLEAN["box/depot.c"].replace("box/depot.h", "depot.h")})
        self.assert_one(found, 'write it as "box/depot.h"')

    def test_an_unbuilt_source_is_found(self) -> None:
        found = self.breaches({"os/more.c": "int hak_more(void) { return 1; }\n"}, unbuilt="os/more.c")
        self.assert_one(found, "src/os/more.c: no object file", "build first")

    def test_a_folder_without_a_rule_is_found(self) -> None:
        found = self.breaches({"learn/ucb.h": "\n"})
        self.assert_one(found, "src/learn/ucb.h: layers.txt has no layer learn")

    def test_rules_that_point_upwards_are_refused(self) -> None:
        with self.assertRaisesRegex(check_layers.CannotCheck, "layers.txt:1: base names os"):
            check_layers.read_rules("base: os\nos: base\n")


if __name__ == "__main__":
    unittest.main()
