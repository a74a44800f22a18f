"""Reads what nvidia-smi prints: -q -x (XML), -q, its table, --query-gpu, -L; what is cut off is said, the rest kept."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from xml.parsers import expat

from reports.errors import InputError
from reports.field.readers.text import refuse
from reports.probe.records import Card, Reading, bus_address, number

DEEPEST = 40
MOST_ELEMENTS = 500_000
MOST_CARDS = 1024

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WRITTEN = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w* +(\w{3}) +(\d{1,2}) +[\d:]+ *(?:[AP]M)? *(?:[A-Z]+ )? *(20\d\d)\b"
)
_ISO = re.compile(r"\b(20\d\d)[-/](\d\d)[-/](\d\d)\b")

Paths = Mapping[str, str]

_XML = {
    "name": "product_name", "bus": "pci/pci_bus_id", "memory": "fb_memory_usage/total",
    "now": "pci/pci_gpu_link_info/pcie_gen/current_link_gen", "most": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "card": "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",
    "slot": "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen",
    "lanes": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "lanes_most": "pci/pci_gpu_link_info/link_widths/max_link_width", "state": "performance_state",
    "mig": "mig_mode/current_mig", "virtual": "gpu_virtualization_mode/virtualization_mode",
}  # fmt: skip
_QUERY = {
    "name": "Product Name", "bus": "PCI/Bus Id", "memory": "FB Memory Usage/Total",
    "now": "PCI/GPU Link Info/PCIe Generation/Current", "most": "PCI/GPU Link Info/PCIe Generation/Max",
    "card": "PCI/GPU Link Info/PCIe Generation/Device Max", "slot": "PCI/GPU Link Info/PCIe Generation/Host Max",
    "lanes": "PCI/GPU Link Info/Link Width/Current", "lanes_most": "PCI/GPU Link Info/Link Width/Max",
    "state": "Performance State", "mig": "MIG Mode/Current",
    "virtual": "GPU Virtualization Mode/Virtualization Mode",
}  # fmt: skip
_LIMITS = ("power_readings", "gpu_power_readings", "Power Readings", "GPU Power Readings")
_LIMIT = ("power_limit", "enforced_power_limit", "current_power_limit", "Enforced Power Limit", "Power Limit",
          "Current Power Limit")  # fmt: skip
_DEFAULT = ("default_power_limit", "Default Power Limit")
_WANTED = {"name": "its name", "memory": "its memory", "most": "the PCIe generation", "lanes": "the PCIe width"}


def day_of(text: str) -> str:
    """The first date that a tool printed, as 2026-07-14; '' where there is none."""
    if found := _WRITTEN.search(text):
        month = found[1].lower()
        if month in _MONTHS:
            return f"{found[3]}-{_MONTHS.index(month) + 1:02d}-{int(found[2]):02d}"
    found = _ISO.search(text)
    return "-".join(found.groups()) if found else ""


def _card(index: int, paths: Paths, names: Mapping[str, str]) -> Card:
    def said(key: str) -> str:
        return paths.get(names[key], "")

    def limit(wanted: tuple[str, ...]) -> float:
        values = (number(paths.get(f"{group}/{name}")) for name in wanted for group in _LIMITS)
        return next((value for value in values if value == value), float("nan"))

    virtual = said("virtual").lower()
    return Card(
        index=index, name="" if said("name") in ("N/A", "[N/A]") else said("name"), bus=bus_address(said("bus")),
        memory_mib=number(said("memory")), generation_now=number(said("now")), generation_most=number(said("most")),
        generation_card=number(said("card")), generation_slot=number(said("slot")),
        lanes_now=number(said("lanes")), lanes_most=number(said("lanes_most")), state=said("state"),
        power_limit_w=limit(_LIMIT), power_default_w=limit(_DEFAULT), divided=said("mig").lower() == "enabled",
        virtual=virtual.startswith(("pass", "vgpu")),
    )  # fmt: skip


def _lacking(cards: Sequence[Paths], names: Mapping[str, str]) -> list[str]:
    return [
        f"card {index} does not say {', '.join(words)}"
        for index, paths in enumerate(cards)
        if (words := [word for key, word in _WANTED.items() if not paths.get(names[key])])
    ]


# XML ---------------------------------------------------------------------------------------------------------------


def read_xml(text: str, file: str) -> Reading | None:
    """``nvidia-smi -q -x``. Entities are refused; a file that ends early gives the cards before its end."""
    start = text.find("<nvidia_smi_log")
    if start < 0:
        return None
    prolog = max(text.rfind("<?xml", 0, start), 0) or text.find("<?xml", 0, start)
    body = text[prolog if prolog >= 0 else start :]
    first_line = text.count("\n", 0, len(text) - len(body)) + 1
    document = _Document(file, first_line)
    document.parse(body)
    top, cards = document.top, document.cards
    missing = [*document.missing, *_lacking(cards, _XML)]
    promised = number(top.get("attached_gpus"))
    if promised == promised and int(promised) != len(cards):
        missing.append(f"{promised:.0f} cards are attached, {len(cards)} are described")
    if not cards:
        missing.append("no card is described")
    return Reading(
        file, "nvidia-smi -q -x", day_of(top.get("timestamp", "")), top.get("driver_version", ""),
        top.get("cuda_version", ""), tuple(_card(index, paths, _XML) for index, paths in enumerate(cards)),
        promised_cards=int(promised) if promised == promised else len(cards), missing=tuple(missing),
    )  # fmt: skip


class _Document:
    """Texts of elements by their path, of the log itself and of each card; the first of a path counts."""

    def __init__(self, file: str, first_line: int) -> None:
        self.file, self.first_line = file, first_line
        self.top: dict[str, str] = {}
        self.cards: list[dict[str, str]] = []
        self.missing: list[str] = []
        self._stack: list[str] = []
        self._elements = 0
        self._text = ""

    def parse(self, body: str) -> None:
        parser = expat.ParserCreate()
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        try:
            # whatever follows the document (the next command's output) is not part of it
            end = body.find("</nvidia_smi_log>")
            parser.Parse(body if end < 0 else body[: end + len("</nvidia_smi_log>")], True)
        except expat.ExpatError as error:
            line = self.first_line + error.lineno - 1
            self.missing.append(f"the XML breaks off in line {line} ({expat.ErrorString(error.code)})")

    def _refused(self, message: str) -> InputError:
        return refuse(self.file, message, self.first_line, expected="what nvidia-smi -q -x prints")

    def _entity(self, *ignored: object) -> None:
        raise self._refused("declares XML entities, which nvidia-smi never does")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if len(self._stack) >= DEEPEST or self._elements > MOST_ELEMENTS or len(self.cards) > MOST_CARDS:
            raise self._refused("is nested too deep or too large for one server")
        if name == "gpu" and len(self._stack) == 1:
            self.cards.append({"pci/pci_bus_id": attributes["id"]} if "id" in attributes else {})
        self._stack.append(name)
        self._text = ""

    def _characters(self, text: str) -> None:
        self._text += text

    def _end(self, name: str) -> None:
        text = " ".join(self._text.split())
        if text and len(self._stack) == 2:
            self.top.setdefault(name, text)
        elif text and len(self._stack) > 2 and self._stack[1] == "gpu":
            self.cards[-1].setdefault("/".join(self._stack[2:]), text)
        self._stack.pop()
        self._text = ""


# nvidia-smi -q -----------------------------------------------------------------------------------------------------

_LINE = re.compile(r"^(\s*)([^:]+?)\s*(?::\s(.*))?$")
_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$", re.MULTILINE)


def read_query(text: str, file: str) -> Reading | None:
    """``nvidia-smi -q``: sections by their indentation."""
    starts = list(_GPU.finditer(text))
    if "NVSMI LOG" not in text and not starts:
        return None
    begin = text.find("NVSMI LOG")
    top = text[max(begin, 0) : starts[0].start() if starts else len(text)]
    cards: list[dict[str, str]] = []
    for start, stop in zip(starts, [*(each.start() for each in starts[1:]), len(text)], strict=False):
        paths = dict(_sections(text[start.end() : stop]))
        cards.append({"PCI/Bus Id": start[1], **paths})
    missing = _lacking(cards, _QUERY)
    promised = number(_after(top, "Attached GPUs"))
    if promised == promised and int(promised) != len(cards):
        missing.append(f"{promised:.0f} cards are attached, {len(cards)} are described")
    return Reading(
        file, "nvidia-smi -q", day_of(_after(top, "Timestamp")), _after(top, "Driver Version"),
        _after(top, "CUDA Version"), tuple(_card(index, paths, _QUERY) for index, paths in enumerate(cards)),
        promised_cards=int(promised) if promised == promised else len(cards), missing=tuple(missing),
    )  # fmt: skip


def _after(text: str, label: str) -> str:
    found = re.search(rf"^\s*{label}\s*:\s*(.*?)\s*$", text, re.MULTILINE)
    return found[1] if found else ""


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """(path, value) of one card; a line without indentation ends it."""
    stack: list[tuple[int, str]] = []
    seen: set[str] = set()
    for line in text.splitlines()[:20_000]:
        if not line.strip():
            continue
        found = _LINE.match(line)
        if not found or not found[1]:
            return
        depth = len(found[1].expandtabs())
        while stack and stack[-1][0] >= depth:
            stack.pop()
        path = "/".join([*(name for _, name in stack), found[2]])
        if found[3] is None:
            stack.append((depth, found[2]))
        elif path not in seen:
            seen.add(path)
            yield path, found[3].strip()


# The table, --query-gpu, -L ----------------------------------------------------------------------------------------

_FIRST = re.compile(r"^\|\s+(\d+)\s+(\S.*?)\s+(?:On|Off|N/A)\s+\|\s+([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:]{5}\.\d)\s")
_SECOND = re.compile(
    r"\|\s*(?:N/A|\d+%|ERR!|Unknown).*?\b(P\d{1,2})\s.*?/\s*([\d.]+W|N/A)\s*\|\s*\d+MiB\s*/\s*(\d+)MiB"
)


def read_table(text: str, file: str) -> Reading | None:
    """The plain ``nvidia-smi`` table: names (cut at 24 letters), memory, bus; it shows no link."""
    header = re.search(r"NVIDIA-SMI\s+\S+\s+Driver Version:\s*(\S+)\s+CUDA Version:\s*(\S+)", text)
    if not header:
        return None
    cards: list[Card] = []
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not (first := _FIRST.match(line)):
            continue
        second = _SECOND.search(following)
        after = lines[lines.index(line) + 2] if lines.index(line) + 2 < len(lines) else ""
        cards.append(Card(
            int(first[1]), first[2], bus_address(first[3]), number(second[3]) if second else float("nan"),
            state=second[1] if second else "", power_limit_w=number(second[2]) if second else float("nan"),
            divided="Enabled" in after,
        ))  # fmt: skip
    missing = () if cards else ("no card is described",)
    return Reading(file, "nvidia-smi", day_of(text[: header.start()][-200:]), header[1], header[2], tuple(cards),
                   promised_cards=len(cards), missing=missing)  # fmt: skip


_COLUMNS = {
    "name": "name", "pci.bus_id": "bus", "gpu_bus_id": "bus", "memory.total [mib]": "memory", "memory.total": "memory",
    "pcie.link.gen.current": "now", "pcie.link.gen.max": "most", "pcie.link.gen.gpumax": "card",
    "pcie.link.gen.hostmax": "slot", "pcie.link.width.current": "lanes", "pcie.link.width.max": "lanes_most",
    "pstate": "state", "mig.mode.current": "mig", "index": "index", "driver_version": "driver",
    "power.limit [w]": "power", "power.default_limit [w]": "default",
}  # fmt: skip


def read_csv(text: str, file: str) -> Reading | None:
    """``nvidia-smi --query-gpu=… --format=csv``."""
    header = re.search(r"^(?=.*\bname\b)(?=.*(?:memory\.|driver_version|pci|index|uuid)).*,.*$", text, re.MULTILINE)
    if not header or "NVSMI" in header[0]:
        return None
    names = [_COLUMNS.get(name.strip().lower(), "") for name in header[0].split(",")]
    cards: list[Card] = []
    driver = ""
    for cells in csv.reader(text[header.end() :].strip("\r\n").splitlines()[:MOST_CARDS]):
        if len(cells) != len(names):
            break
        said = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        driver = said.get("driver", driver)
        cards.append(Card(
            int(number(said["index"])) if number(said.get("index")) >= 0 else len(cards), said.get("name", ""),
            bus_address(said.get("bus", "")), number(said.get("memory")), number(said.get("now")),
            number(said.get("most")), number(said.get("card")), number(said.get("slot")), number(said.get("lanes")),
            number(said.get("lanes_most")), said.get("state", ""), number(said.get("power")),
            number(said.get("default")), divided=said.get("mig", "").lower() == "enabled",
        ))  # fmt: skip
    if not cards:
        return None
    return Reading(file, "nvidia-smi --query-gpu", "", driver, "", tuple(cards), len(cards))


def read_list(text: str, file: str) -> Reading | None:
    """``nvidia-smi -L``: names alone."""
    found = re.findall(r"^GPU (\d+): (.+?) \(UUID: ", text, re.MULTILINE)
    if not found:
        return None
    cards = tuple(Card(int(index), name) for index, name in found[:MOST_CARDS])
    return Reading(file, "nvidia-smi -L", cards=cards, promised_cards=len(cards),
                   missing=("the list shows no memory and no link: give nvidia-smi -q -x too",))  # fmt: skip
