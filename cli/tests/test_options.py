# SPDX-License-Identifier: MIT OR Apache-2.0
"""What commands declare: words are parsed by it, help says all of it, and each command takes what it declares."""

from __future__ import annotations

import inspect
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from hakmem.base import help as help_of_commands
from hakmem.base.errors import Refusal
from hakmem.base.options import REQUIRED, Argument, AskedForHelp, Command, Option, parsed, process_number, real, whole
from hakmem.cli import ABOUT, command_named, grouped
from hakmem.commands import FIRST, NAMES

SOME = Command(
    "some", "Do it.\n\n    Twice.", "0 done.", print,
    (
        Option(("--output", "-o"), "There.", "FILE", Path), Option(("--runs",), "How often.", "N", whole(1, 9), default=5),
        Option(("--fast",), "Faster."), Option(("--set",), "A setting.", "NAME", many=True, to="settings"),
        Option(("--profile",), "A profile.", "[=FILE]", optional=True), Option(("--rate",), "A rate.", "R", real(0, 1), default=0.5),
    ),
    (Argument("file", "FILE", "It."), Argument("more", "MORE", "Others.", required=False, many=True)),
)
RUNS = SOME._replace(arguments=(Argument("command", "CMD", "A program.", many=True),), runs_program=True)
NONE = {"output": None, "runs": 5, "fast": False, "settings": (), "profile": None, "rate": 0.5}


class Parsing(unittest.TestCase):
    def given(self, words: str, command: Command = SOME) -> dict[str, Any]:
        return parsed(command, words.split())

    def test_defaults(self) -> None:
        self.assertEqual(self.given("a"), NONE | {"file": "a", "more": []})

    def test_options_between_arguments(self) -> None:
        found = self.given("a --runs 3 b -o x --set p --fast c --set=q")
        self.assertEqual(found, NONE | {"file": "a", "more": ["b", "c"], "runs": 3, "output": Path("x"), "fast": True,
                                        "settings": ("p", "q")})

    def test_forms_of_values(self) -> None:
        for words in ("-o x a", "-ox a", "--output x a", "--output=x a"):
            self.assertEqual(self.given(words)["output"], Path("x"), words)
        self.assertEqual(self.given("--runs 1 --runs 2 a")["runs"], 2)
        self.assertEqual(self.given("--output= a")["output"], Path(""))

    def test_a_value_that_may_be_left_out(self) -> None:
        self.assertEqual(self.given("--profile a"), NONE | {"profile": "", "file": "a", "more": []})
        self.assertEqual(self.given("--profile=x a")["profile"], "x")

    def test_a_program_keeps_its_words(self) -> None:
        for words, command in (("ls --runs 3", ["ls", "--runs", "3"]), ("-- ls -o", ["ls", "-o"]), ("--fast ls -- x", ["ls", "--", "x"]),
                               ("--runs 3 -- --odd", ["--odd"]), ("ls --help", ["ls", "--help"])):
            self.assertEqual(self.given(words, RUNS)["command"], command, words)

    def test_a_dash_is_an_argument(self) -> None:
        self.assertEqual(self.given("- -- -o")["more"], ["-o"])

    def test_help(self) -> None:
        for words in ("-h", "--help", "a --runs 3 --help"):
            with self.assertRaises(AskedForHelp):
                self.given(words)

    def test_what_is_wrong(self) -> None:
        for words, text in (
            ("", "FILE is missing"), ("a --odd", "no such option: --odd"), ("a -x", "no such option: -x"), ("a --out x", "no such option: --out"),
            ("a --runs", "--runs needs a value"), ("a --runs 0", "--runs 0: allowed: a whole number from 1 to 9"),
            ("a --runs 10", "--runs 10: allowed"), ("a --runs 1_0", "--runs 1_0: allowed"), ("a --rate nan", "--rate nan: allowed"),
            ("a --rate x", "--rate x: allowed: a number from 0 to 1"), ("a --fast=1", "--fast takes no value"),
        ):
            with self.subTest(words), self.assertRaises(Refusal) as refused:
                self.given(words)
            self.assertTrue(str(refused.exception).startswith(text), refused.exception)
            self.assertTrue(str(refused.exception).endswith(" (see hakmem some --help)"))

    def test_arguments(self) -> None:
        one = SOME._replace(arguments=(Argument("pid", "PID", "", takes=process_number),), options=())
        self.assertEqual(self.given("12", one), {"pid": 12})
        for words, text in (("1 2", "one argument too many: 2"), ("x", "PID x: allowed: the number of a process"),
                            ("1" * 19, f"PID {'1' * 19}: allowed")):
            with self.assertRaisesRegex(Refusal, text):
                self.given(words, one)

    def test_an_option_without_default(self) -> None:
        pid = SOME._replace(options=(Option(("--pid", "-p"), "", "PID", process_number, default=REQUIRED),), arguments=())
        self.assertEqual(self.given("-p 7", pid), {"pid": 7})
        with self.assertRaisesRegex(Refusal, "--pid is missing"):
            self.given("", pid)


class Commands(unittest.TestCase):
    """All that there are."""

    def test_each_stands_in_a_group(self) -> None:
        self.assertEqual(sorted(command.name for _, commands in grouped() for command in commands), list(NAMES))
        self.assertEqual([command_named(name).name for name in NAMES], list(NAMES))
        self.assertEqual(len(NAMES), 18)

    def test_seven_stand_first_and_each_has_one_line_at_80_columns(self) -> None:
        with mock.patch.dict("os.environ", COLUMNS="80"):
            lines = help_of_commands.overview(ABOUT, grouped()).splitlines()
        names = [line.split()[0] for line in lines if line.startswith("  ")]
        self.assertEqual(tuple(names[:7]), ("run", "exec", "top", "report", "profile", "explain", "doctor"))
        self.assertEqual(names[7:], [name for name in NAMES if name not in FIRST])
        self.assertEqual([line for line in lines if line.startswith("  ") and not line.endswith(".")], [])

    def test_each_takes_what_it_declares(self) -> None:
        for command in map(command_named, NAMES):
            fields = [one.field for one in (*command.options, *command.arguments)]
            self.assertEqual(len(fields), len(set(fields)), command.name)
            parameters = inspect.signature(command.perform).parameters.values()
            if all(one.kind != one.VAR_KEYWORD for one in parameters):
                self.assertEqual({one.name for one in parameters}, set(fields), command.name)

    def test_help_says_all(self) -> None:
        for columns in (40, 50, 100):
            with mock.patch.dict("os.environ", COLUMNS=str(columns)):
                for command in map(command_named, NAMES):
                    text = help_of_commands.help_of(command)
                    self.assertLessEqual(max(map(len, text.splitlines())), columns, text)
                    for option in command.options:
                        self.assertIn(option.names[0], text)
                        self.assertTrue(option.help.endswith("."), option)
                overview = help_of_commands.overview(ABOUT, grouped())
                self.assertLessEqual(max(map(len, overview.splitlines())), columns)
                self.assertTrue(all(f"  {name} " in overview for name in NAMES), overview)


if __name__ == "__main__":
    unittest.main()
