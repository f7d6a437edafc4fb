# SPDX-License-Identifier: MIT OR Apache-2.0
"""Conan's recipe for HAKMEM, in Conan 2: `conan create .` in a checkout or an unpacked archive.

The package has the four libraries; `hakmem/*:library` says which of them who requires it links: shared (libhakmem.so,
the default), static (the hak_ names only) or override (malloc, in a program that is linked statically).
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

NAMES = {"shared": ("hakmem", "hakmem::hakmem"), "static": ("hakmem", "hakmem::static"),
         "override": ("hakmem-override", "hakmem::override")}


class Hakmem(ConanFile):
    name = "hakmem"
    description = "A general-purpose memory allocator: a drop-in malloc for Linux programs"
    license = "MIT OR Apache-2.0"
    topics = ("allocator", "malloc", "memory")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"library": ["shared", "static", "override"]}
    default_options = {"library": "shared"}
    exports_sources = ("CMakeLists.txt", "cmake/*", "src/*", "include/*", "man/*", "completions/*", "LICENSE*", "CHANGELOG.md")

    def set_version(self) -> None:
        header = (Path(self.recipe_folder) / "include/hakmem/hakmem.h").read_text(encoding="utf-8")
        self.version = ".".join(re.findall(r"^#define HAK_VERSION_\w+ (\d+)", header, re.MULTILINE))

    def validate(self) -> None:
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("HAKMEM runs on 64-bit Linux with glibc")

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HAK_BUILD_TESTS"] = False
        toolchain.cache_variables["HAK_BUILD_TOOLS"] = False
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        CMake(self).install()
        copy(self, "LICENSE*", self.source_folder, str(Path(self.package_folder) / "licenses"))

    def package_info(self) -> None:
        library, target = NAMES[str(self.options.library)]
        shared = self.options.library == "shared"
        self.cpp_info.libs = [library] if shared else [f":lib{library}.a"]
        self.cpp_info.system_libs = [] if shared else ["pthread"]
        if self.options.library == "override":
            self.cpp_info.exelinkflags = ["-Wl,--undefined=malloc"]
        self.cpp_info.set_property("cmake_target_name", target)
        self.cpp_info.set_property("pkg_config_name", "hakmem")
