# SPDX-License-Identifier: MIT OR Apache-2.0
"""Profiles in the format of pprof (github.com/google/pprof, proto/profile.proto), by protobuf's own library.

    file, gzipped or not -> Profile: sample_type, sample, mapping, location, function, string_table
    a table of samples   -> the same, by table_file.py
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from hakmem.base.atomic_write import write_whole
from hakmem.base.errors import Refusal
from hakmem.reading.mapped import without_waiting
from hakmem.reading.table_file import fill, is_table

GZIP_MAGIC = b"\x1f\x8b"
BYTES_MOST = 1 << 28  # unpacked, too: as much as the largest table of samples
WANTED = ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects")

# Per message its fields: name, number, type; `*` behind the type: repeated. A type that is none of the words is a message.
MESSAGES = {
    "ValueType": "type 1 int64, unit 2 int64",
    "Label": "key 1 int64, str 2 int64, num 3 int64, num_unit 4 int64",
    "Sample": "location_id 1 uint64*, value 2 int64*, label 3 Label*",
    "Mapping": "id 1 uint64, memory_start 2 uint64, memory_limit 3 uint64, file_offset 4 uint64, filename 5 int64, "
    "build_id 6 int64, has_functions 7 bool, has_filenames 8 bool, has_line_numbers 9 bool, has_inline_frames 10 bool",
    "Line": "function_id 1 uint64, line 2 int64, column 3 int64",
    "Location": "id 1 uint64, mapping_id 2 uint64, address 3 uint64, line 4 Line*, is_folded 5 bool",
    "Function": "id 1 uint64, name 2 int64, system_name 3 int64, filename 4 int64, start_line 5 int64",
    "Profile": "sample_type 1 ValueType*, sample 2 Sample*, mapping 3 Mapping*, location 4 Location*, "
    "function 5 Function*, string_table 6 string*, drop_frames 7 int64, keep_frames 8 int64, time_nanos 9 int64, "
    "duration_nanos 10 int64, period_type 11 ValueType, period 12 int64, comment 13 int64*, "
    "default_sample_type 14 int64",
}
PACKAGE = "perftools.profiles"


def field_of(message: Any, text: str) -> None:
    name, number, kind = text.split()
    field = message.field.add(name=name, number=int(number), label=3 if kind.endswith("*") else 1)
    kind = kind.rstrip("*")
    if kind in MESSAGES:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{PACKAGE}.{kind}"
    else:
        field.type = getattr(field, f"TYPE_{kind.upper()}")


def profile_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            field_of(message, text)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.Profile"))


Profile = profile_class()


def unpacked(raw: bytes) -> bytes:
    """A few bytes may stand for very many."""
    if not raw.startswith(GZIP_MAGIC):
        return raw
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        return file.read(BYTES_MOST + 1)


def contents(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Refusal(f"{path}: not a regular file")
            raw = file.read(min(os.fstat(file.fileno()).st_size, BYTES_MOST) + 1)
            data = unpacked(raw or b"")  # None of a regular file that has nothing yet, as /proc/kmsg
    except OSError as failure:
        raise Refusal(f"{path}: {(failure.strerror or 'damaged').lower()}") from None
    except (EOFError, zlib.error):
        raise Refusal(f"{path}: damaged") from None
    if len(data) > BYTES_MOST:
        raise Refusal(f"{path}: larger than any profile ({BYTES_MOST >> 20} MiB)")
    return data


def text_of(profile: Any, number: int) -> str:
    """As it is: what prints it sees to the terminal."""
    return profile.string_table[number] if 0 <= number < len(profile.string_table) else ""


def columns(profile: Any) -> dict[str, int]:
    return {text_of(profile, kind.type): n for n, kind in enumerate(profile.sample_type)}


def is_whole(profile: Any) -> bool:
    """A heap's profile, whose samples have all that they name."""
    known = {location.id for location in profile.location}
    values = len(profile.sample_type)
    return all(name in columns(profile) for name in WANTED) and all(
        len(sample.value) == values and known.issuperset(sample.location_id) for sample in profile.sample
    )


def read(path: Path) -> Any:
    profile, data = Profile(), contents(path)
    if is_table(data):
        return fill(profile, data, path)
    try:
        profile.ParseFromString(data)
    except DecodeError:
        raise Refusal(f"{path}: no profile in pprof's format, or damaged") from None
    if not is_whole(profile):
        raise Refusal(f"{path}: no heap profile, or damaged")
    return profile


def write(path: Path, profile: Any) -> None:
    """Whole or not at all, gzipped as pprof has it."""
    write_whole(path, gzip.compress(profile.SerializeToString(), mtime=0), 0o600)
