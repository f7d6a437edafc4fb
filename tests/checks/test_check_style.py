# SPDX-License-Identifier: MIT OR Apache-2.0
"""check_style.py finds made-up breaches and nothing else."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_style  # noqa: E402

FACTS = "".join(f" * {fact:9} That.\n" for fact in check_style.FACTS)
OPENING = f"/* a.c: an example.\n *\n{FACTS} */\n"


def body(lines: int) -> str:
    return "int long_one(int n) {\n" + "  n++;\n" * (lines - 2) + "}\n"


class Functions(unittest.TestCase):
    def found(self, text: str) -> list[tuple[str, int]]:
        return [(f.name, f.lines) for f in check_style.functions_of(text)]

    def test_functions_of_every_shape(self) -> None:
        self.assertEqual(self.found("static inline int one(int a) { return a; }\n"), [("one", 1)])
        self.assertEqual(self.found("int\ntwo(void)\n{\n  if (1) { }\n}\n"), [("two", 4)])
        self.assertEqual(self.found("__attribute__((noinline, cold)) void *slow(size_t n) {\n}\n"), [("slow", 2)])
        self.assertEqual(self.found('extern "C" {\nvoid a(void) {\n}\nvoid b(void) { }\n}\n'), [("a", 2), ("b", 1)])
        self.assertEqual(self.found("void operator delete[](void *p) noexcept {\n}\n"), [("operator delete[]", 2)])

    def test_what_is_not_a_function(self) -> None:
        for text in ("struct box { int a; };\n", "static const int t[] = { 1, 2 };\n", "enum { A, B };\n",
                     "static bool (*const table[])(int) = {\n  one,\n};\n", "/* f(void) { */\n", 'char *s = "f() {";\n',
                     "#define RUN(x) do { x(); } \\\n  while (0)\n", "_Static_assert(sizeof(int) == 4, \"{\");\n"):
            self.assertEqual(self.found(text), [], text)

    def test_braces_in_literals_do_not_count(self) -> None:
        self.assertEqual(self.found("int f(void) {\n  g('{');\n  g(\"}\");\n}\nint h(void) { return 1; }\n"),
                         [("f", 4), ("h", 1)])


class Tree(unittest.TestCase):
    def breaches(self, text: str, name: str = "a.c") -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "src/box" / name
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            found: list[str] = check_style.check(Path(folder))[0]
            return found

    def assert_one(self, text: str, *parts: str) -> None:
        found = self.breaches(text)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_clean_file_passes(self) -> None:
        self.assertEqual(self.breaches(OPENING + "int f(void) { return 1; }\n"), [])

    def test_the_licence_stands_before_the_facts(self) -> None:
        self.assertEqual(self.breaches(check_style.LICENCE + OPENING + "int f(void) { return 1; }\n"), [])
        self.assert_one(check_style.LICENCE + OPENING.replace("locks     That.", "locks     None."), "a.c:6: a fact")

    def test_a_long_function_is_found(self) -> None:
        short = "int f(void) { return 1; }\n" * 3
        self.assertEqual(self.breaches(OPENING + short + body(60)), [])
        self.assert_one(OPENING + short + body(61), "long_one has 61 lines, at most 60")

    def test_a_long_median_is_found(self) -> None:
        self.assert_one(OPENING + body(10), "median function has 10 lines")
        self.assertEqual(self.breaches(OPENING + body(9)), [])

    def test_a_condition_inside_a_function_is_found(self) -> None:
        self.assert_one(OPENING + "int f(void) {\n#ifdef A\n  return 1;\n  #endif\n}\n", "#ifdef A inside f")
        self.assertEqual(self.breaches(OPENING + "#if A\nint f(void) { return 1; }\n#endif\n"), [])

    def test_missing_and_disordered_facts_are_found(self) -> None:
        self.assert_one("int f(void) { return 1; }\n", "must open with `/* a.c: ")
        self.assertEqual(self.breaches(OPENING.replace(" * locks     That.\n", "")), [])
        self.assert_one(OPENING.replace(" * what      That.\n", ""), "must state what")
        lines = OPENING.splitlines(keepends=True)
        lines[2], lines[3] = lines[3], lines[2]
        self.assert_one("".join(lines), "in order")
        for nothing in ("None.", "See a.h."):
            self.assert_one(OPENING.replace("locks     That.", f"locks     {nothing}"), "says nothing")

    def test_a_long_file_is_no_breach(self) -> None:
        self.assertEqual(self.breaches(OPENING + "int f(void) { return 1; }\n" + "\n" * 600), [])

    def test_a_wide_line_is_found_but_not_in_a_table(self) -> None:
        self.assert_one(OPENING + "// " + "x" * 118 + "\n", "121 characters, at most 120")
        self.assertEqual(self.breaches("ROW(" + "x" * 130 + ")\n", "a.def"), [])

    def test_unfinished_work_is_found(self) -> None:
        self.assert_one(OPENING + "// TO" "DO: later\n", "unfinished")


if __name__ == "__main__":
    unittest.main()
