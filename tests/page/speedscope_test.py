# SPDX-License-Identifier: MIT OR Apache-2.0
"""Speedscope itself, of npm, opens a profile in a headless browser and shows the function that leaks.

    hakmem profile -o x.pb.gz -> x.js, as its command makes one -> index.html#localProfilePath=x.js -> the table of functions

Skipped, in a line, where there is no npm. HAK_TEST_PACKAGES: the folder that npm puts it into, once.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from browser import Browser, found

LIBRARY, PROGRAM = os.environ["HAK_TEST_LIBRARY"], os.environ["HAK_TEST_PROGRAM"]
PACKAGES = Path(os.environ["HAK_TEST_PACKAGES"])
SPEEDSCOPE = "speedscope@1.25.0"
PAGE = PACKAGES / "node_modules/speedscope/dist/release/index.html"
HAKMEM = Path(__file__).resolve().parents[2] / "build/venv/bin/hakmem"


def install() -> None:
    PACKAGES.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", PACKAGES, SPEEDSCOPE],
                   check=True, stdin=subprocess.DEVNULL)


@unittest.skipUnless(shutil.which("npm") and found(), "page_speedscope: there is no npm, or no browser")
class Speedscope(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        if not PAGE.is_file():
            install()

    def named_profile(self) -> bytes:
        variables = {"LD_PRELOAD": LIBRARY, "HAKMEM_PROFILE_FILE": str(self.folder / "heap"), "HAKMEM_PROFILE_BYTES": "4096"}
        subprocess.run([PROGRAM, "leak"], env=variables, check=True)
        (raw,) = self.folder.glob("heap.*")
        named = self.folder / "named.pb.gz"
        subprocess.run([HAKMEM, "profile", "-o", named, raw], check=True, stdout=subprocess.DEVNULL)
        return named.read_bytes()

    def test_it_names_the_leaking_function(self) -> None:
        script = self.folder / "profile.js"
        words = json.dumps("named.pb.gz"), json.dumps(base64.b64encode(self.named_profile()).decode())
        script.write_text(f"speedscope.loadFileFromBase64({', '.join(words)})")
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(PAGE, 1200, 800, fragment=f"#localProfilePath={script}&view=sandwich")
        browser.wait_for("document.body.innerText.includes('leak_nodes(int)')")
        self.assertIn("named.pb.gz", browser.value("document.title"))


if __name__ == "__main__":
    unittest.main()
