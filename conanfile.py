# SPDX-License-Identifier: MIT OR Apache-2.0
"""Conan's recipe for HAKMEM, in Conan 2: `conan create .` in a checkout or an unpacked archive.

A package holds one library: libhakmem.so; with secure=True libhakmem-secure.so; with shared=False libhakmem-override.a,
which overrides malloc too; with override=False besides libhakmem.a, the hak_ names only.
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

SECURE = ("hakmem_secure", "hakmem::secure", "hakmem-secure", "libhakmem-secure.so*")  # the same four of secure=True
# (shared, override): the target of CMake, its name outside, the library, its files
LIBRARIES = {
    (True, True): ("hakmem", "hakmem::hakmem", "hakmem", "libhakmem.so*"),
    (False, True): ("hakmem_override", "hakmem::override", "hakmem-override", "libhakmem-override.a"),
    (False, False): ("hakmem_static", "hakmem::static", "hakmem", "libhakmem.a"),
}


class Hakmem(ConanFile):
    name = "hakmem"
    description = "A general-purpose memory allocator: a drop-in malloc for Linux programs"
    license = "MIT OR Apache-2.0"
    topics = ("allocator", "malloc", "memory")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "override": [True, False], "secure": [True, False]}
    default_options = {"shared": True, "override": True, "secure": False}
    exports_sources = ("CMakeLists.txt", "cmake/*", "src/*", "include/*", "LICENSE*")

    def set_version(self) -> None:
        header = (Path(self.recipe_folder) / "include/hakmem/hakmem.h").read_text(encoding="utf-8")
        self.version = ".".join(re.findall(r"^#define HAK_VERSION_\w+ (\d+)", header, re.MULTILINE))

    def library(self) -> tuple[str, str, str, str]:
        return SECURE if self.options.secure else LIBRARIES[bool(self.options.shared), bool(self.options.override)]

    def validate(self) -> None:
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("HAKMEM runs on Linux on x86-64 and AArch64, 64-bit and little-endian")
        if self.options.shared and not self.options.override:
            raise ConanInvalidConfiguration("libhakmem.so overrides malloc; what does not is static: shared=False")
        if self.options.secure and not (self.options.shared and self.options.override):
            raise ConanInvalidConfiguration("libhakmem-secure.so is shared and overrides malloc: secure=True alone")

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        for option in ("HAK_BUILD_TESTS", "HAK_BUILD_TOOLS", "HAK_INSTALL"):
            toolchain.cache_variables[option] = False
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target=self.library()[0])

    def package(self) -> None:
        package = Path(self.package_folder)
        copy(self, "LICENSE*", self.source_folder, str(package / "licenses"))
        copy(self, "*.h", str(Path(self.source_folder) / "include"), str(package / "include"))
        copy(self, self.library()[3], self.build_folder, str(package / "lib"), keep_path=False)

    def package_info(self) -> None:
        _, target, library, _ = self.library()
        self.cpp_info.libs = [library]
        self.cpp_info.set_property("cmake_target_name", target)
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread"]
        if self.options.override and not self.options.shared:
            self.cpp_info.exelinkflags = ["-Wl,--undefined=malloc"]
