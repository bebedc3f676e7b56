"""Builds the wheel and the sdist with the standard library only (PEP 517). The same files give the same bytes.

`python3 build_backend.py FOLDER` builds both. SOURCE_DATE_EPOCH dates the files in them.
"""

import base64
import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "moorage"
# A date of zip files begins with 1980.
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)
BESIDE = ["LICENSE", "README.md", "build_backend.py", "pyproject.toml"]


def _read(name):
    path = os.path.join(HERE, *name.split("/"))
    # In the repository the license is one folder up. The sdist has it beside this file.
    if name == "LICENSE" and not os.path.exists(path):
        path = os.path.join(os.path.dirname(HERE), name)
    with open(path, "rb") as file:
        return file.read()


def _modules():
    found = os.listdir(os.path.join(HERE, PACKAGE))
    return sorted(f"{PACKAGE}/{name}" for name in found if name.endswith(".py") or name == "py.typed")


def _metadata():
    # Python has a parser of TOML since 3.11 only. These few lines are written so that they can be read without.
    text = _read("pyproject.toml").decode()

    def value(name):
        return re.search(rf'^{name} = "(.*)"$', text, re.M).group(1)

    def values(name):
        return re.findall(r'"([^"]*)"', re.search(rf"^{name} = \[([^\]]*)\]", text, re.M).group(1))

    version = value("version")
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {value('name')}",
        f"Version: {version}",
        f"Summary: {value('description')}",
        f"Keywords: {','.join(values('keywords'))}",
        f"License-Expression: {value('license')}",
        "License-File: LICENSE",
        *(f"Classifier: {one}" for one in values("classifiers")),
        f"Requires-Python: {value('requires-python')}",
        "Description-Content-Type: text/markdown",
    ]
    return version, ("\n".join(lines) + "\n\n").encode() + _read("README.md")


def _dist_info():
    version, metadata = _metadata()
    folder = f"{PACKAGE}-{version}.dist-info"
    wheel = "Wheel-Version: 1.0\nGenerator: build_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    return folder, {
        f"{folder}/METADATA": metadata,
        f"{folder}/WHEEL": wheel.encode(),
        f"{folder}/licenses/LICENSE": _read("LICENSE"),
    }


def _write_wheel(target, files):
    folder, info = _dist_info()
    files = {**files, **info}

    def record(name, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}"

    lines = [record(name, content) for name, content in files.items()] + [f"{folder}/RECORD,,"]
    files[f"{folder}/RECORD"] = ("\n".join(lines) + "\n").encode()
    # Not compressed: compressors differ from machine to machine.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
            info.external_attr = 0o100644 << 16
            info.create_system = 3
            archive.writestr(info, content)


def _build(folder, kind, files):
    version, _ = _metadata()
    name = f"{PACKAGE}-{version}-{kind}.whl"
    _write_wheel(os.path.join(folder, name), files)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _build(wheel_directory, "py3-none-any", {name: _read(name) for name in _modules()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _build(wheel_directory, "py3-none-any", {f"_{PACKAGE}.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    version, metadata = _metadata()
    top = f"{PACKAGE}-{version}"
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        contents = {name: _read(name) for name in [*BESIDE, *_modules()]}
        for name, content in sorted({**contents, "PKG-INFO": metadata}.items()):
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size, info.mtime, info.mode = len(content), EPOCH, 0o644
            archive.addfile(info, io.BytesIO(content))
    with open(os.path.join(sdist_directory, f"{top}.tar.gz"), "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=EPOCH) as packed:
            packed.write(plain.getvalue())
    return f"{top}.tar.gz"


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    print(build_wheel(sys.argv[1]))
    print(build_sdist(sys.argv[1]))
