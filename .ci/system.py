"""Checks what the Python packages cannot bring along, and installs it where that is allowed.

``system.py report`` looks for the libraries of the PDF engine, ``system.py test`` for LibreOffice and poppler too,
``system.py venv`` for what ``python -m venv`` needs. Nothing missing: no output. Missing: apt installs it when this is
root or sudo asks for no password, otherwise one line says what to install. Standard library only.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """One thing to be found: a shared library by its loader names, a program by its name, or a Python module."""

    name: str
    apt: str
    libraries: tuple[str, ...] = ()
    program: str = ""
    module: str = ""

    def found(self) -> bool:
        """Whether it is on this machine."""
        if self.module:
            return importlib.util.find_spec(self.module) is not None
        if self.program:
            return shutil.which(self.program) is not None
        return any(_loads(library) for library in self.libraries)


def _loads(library: str) -> bool:
    for folder in ("", "/opt/homebrew/lib/", "/usr/local/lib/") if sys.platform == "darwin" else ("",):
        try:
            ctypes.CDLL(folder + library)
        except OSError:
            continue
        return True
    return False


VENV = (Need("ensurepip", f"python3.{sys.version_info[1]}-venv", module="ensurepip"),)
REPORT = (
    Need("pango", "libpango-1.0-0", ("libpango-1.0.so.0", "libpango-1.0.0.dylib")),
    Need("pangoft2", "libpangoft2-1.0-0", ("libpangoft2-1.0.so.0", "libpangoft2-1.0.0.dylib")),
    Need("harfbuzz", "libharfbuzz0b", ("libharfbuzz.so.0", "libharfbuzz.0.dylib")),
    Need("harfbuzz-subset", "libharfbuzz-subset0", ("libharfbuzz-subset.so.0", "libharfbuzz-subset.0.dylib")),
    Need("fontconfig", "libfontconfig1", ("libfontconfig.so.1", "libfontconfig.1.dylib")),
)
TEST = (
    Need("LibreOffice Calc", "libreoffice-calc", program="soffice"),
    Need("poppler", "poppler-utils", program="pdftoppm"),
)
GROUPS: dict[str, tuple[Need, ...]] = {"venv": VENV, "report": REPORT, "test": (*REPORT, *TEST)}


def _root() -> list[str] | None:
    """How to run a command as root: nothing before it, ``sudo -n``, or None when neither is allowed."""
    if os.geteuid() == 0:
        return []
    allowed = shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if allowed and allowed.returncode == 0 else None


def _apt(packages: list[str]) -> None:
    """Install, reading the package lists first only when they turn out to be missing or old."""
    root = _root()
    if root is None or shutil.which("apt-get") is None:
        return
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    install = [*apt, "install", "--no-install-recommends", *packages]
    print("installing " + " ".join(packages), flush=True)
    if subprocess.run(install, capture_output=True, check=False).returncode:
        subprocess.run([*apt, "update"], capture_output=True, check=False)
        again = subprocess.run(install, capture_output=True, text=True, check=False)
        print(again.stderr if again.returncode else "", end="", file=sys.stderr)


def _advice(missing: list[Need]) -> str:
    names = ", ".join(need.name for need in missing)
    if sys.platform == "darwin":
        formulas = ["pango"] if any(need.libraries for need in missing) else []
        formulas += [name for program, name in (("pdftoppm", "poppler"),) if any(n.program == program for n in missing)]
        casks = any(need.program == "soffice" for need in missing)
        command = " && ".join(
            [*(["brew install " + " ".join(formulas)] if formulas else []),
             *(["brew install --cask libreoffice"] if casks else [])]
        )
        return f"missing {names}: run `{command or 'install a Python that has ' + names}`"
    command = "sudo apt-get install -y --no-install-recommends " + " ".join(need.apt for need in missing)
    return f"missing {names}: run `{command}` or your system's equivalent"


def main(group: str) -> int:
    """Check one group; 0 when everything is there in the end."""
    missing = [need for need in GROUPS[group] if not need.found()]
    if missing:
        _apt([need.apt for need in missing])
        missing = [need for need in missing if not need.found()]
    if missing:
        print(_advice(missing), file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
