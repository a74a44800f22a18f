"""How services refer to workloads, mixes, profiles and traces: what each takes, what it replaces, and wrong names."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenario_text import GOOD, problems, read

from reports.catalog.records import Catalog
from reports.scenario.services import Service

LENGTHS = "  input_tokens: 512\n  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}\n"
MODELS = "  model: [qwen2.5-7b-instruct, deepseek-r1]\n"
TRACE = "arrival_s,input_tokens,output_tokens\n0,100,10\n1,300,30\n"
OTHER = "arrival_s,input_tokens,output_tokens\n0,1000,20\n2,1000,40\n"


def with_services(*entries: str, workload: str = LENGTHS) -> str:
    listed = "".join(f"  - {{model: qwen2.5-7b-instruct, {each}}}\n" for each in entries)
    return GOOD.replace(LENGTHS, workload).replace(MODELS, "") + f"services:\n{listed}"


def services(folder: Path, catalog: Catalog, text: str) -> dict[str, Service]:
    (folder / "t.csv").write_text(TRACE)
    (folder / "other.csv").write_text(OTHER)
    return {each.name: each for each in read(folder, catalog, text).service_axis}


def means(service: Service) -> tuple[float, float]:
    return service.workload.input_tokens.mean, service.workload.output_tokens.mean


def test_a_service_has_the_workload_of_the_scenario_or_its_own(tmp_path: Path, catalog: Catalog) -> None:
    """Means by hand: the trace has prompts of 100 and 300 and answers of 10 and 30; the other 1000, and 20 and 40."""
    found = services(
        tmp_path, catalog,
        with_services(
            "name: same", "name: own, workload: {trace: {file: other.csv}}",
            "name: one, workload: {output_tokens: 7}",
            workload="  trace: {file: t.csv}\n",
        ),
    )  # fmt: skip
    assert means(found["same"]) == (200, 20)
    assert means(found["own"]) == (1000, 30)
    assert means(found["one"]) == (200, 7)
    assert [each.workload_key for each in found.values()] == ["", "own", "one"]
    assert found["same"].workload.length_source == "t.csv"
    assert found["own"].workload.length_source == "other.csv"


def test_a_mix_and_a_profile_by_any_of_their_names(tmp_path: Path, catalog: Catalog) -> None:
    """``chat`` and ``Working hours`` are names of azure-conversation and office-hours."""
    found = services(
        tmp_path, catalog,
        with_services(
            "name: chat, workload: {lengths: chat}",
            "name: office, demand: {peak_concurrency: 5, hourly_profile: Working hours}",
        ),
    )  # fmt: skip
    assert found["chat"].workload.lengths == "azure-conversation"
    assert found["chat"].workload.length_source == "azure-llm-trace-2023"
    assert found["office"].workload.profile is not None
    assert found["office"].workload.profile.name == "office-hours"
    assert means(found["office"]) == (512, 256)


def test_the_files_of_all_services_are_listed_once_each(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "t.csv").write_text(TRACE)
    (tmp_path / "other.csv").write_text(OTHER)
    text = with_services(*(f"name: s{n}, workload: {{trace: {{file: {file}}}}}"
                           for n, file in enumerate(["t.csv", "other.csv", "t.csv"])))  # fmt: skip
    assert [name for name, _ in read(tmp_path, catalog, text).files] == ["s.yaml", "t.csv", "other.csv"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("name: a, workload: {lengths: chatt}", 'services[0].workload.lengths: unknown mix of lengths "chatt"'),
        ("name: a, workload: {trace: {file: tt.csv}}", '(did you mean "t.csv"?)'),
        ("name: a, workload: {trace: {file: ../t.csv}}", "workload.trace.file: leaves the scenario's folder"),
        ("name: a, workload: {trace: {file: sub}}", "services[0].workload.trace.file: no such file"),
        ("name: a, demand: {peak_concurrency: 5, hourly_profile: office-hour}", 'did you mean "office-hours"?'),
        ("name: a, demand: {peak_concurrency: 5, hourly_profile: trace}", "is taken from a trace, and there is none"),
        ("name: a, workload: {input_tokens: {distribution: trace}}", "is taken from a trace, and there is none"),
        ("name: a, workload: {inputs: 5}", 'services[0].workload: unknown key; read "inputs"'),
        ("name: a, workload: chat", "services[0].workload"),
        ("name: a, teir: 2", '(did you mean "tier"?)'),
        ("name: A B", "services[0].name: has the wrong form"),
    ],
)  # fmt: skip
def test_a_wrong_reference_of_a_service_is_named_where_it_stands(
    tmp_path: Path, catalog: Catalog, entry: str, message: str
) -> None:
    (tmp_path / "t.csv").write_text(TRACE)
    (tmp_path / "sub").mkdir()
    found = problems(tmp_path, catalog, with_services(entry))
    assert any(message in line for line in found), found
    assert all(line.startswith(("s.yaml:16:", "s.yaml:17:")) for line in found), found


def test_wrong_references_of_several_services_are_listed_together(tmp_path: Path, catalog: Catalog) -> None:
    found = problems(
        tmp_path, catalog,
        with_services(
            "name: a, workload: {lengths: chatt}",
            "name: b, demand: {peak_concurrency: 5, hourly_profile: nightly}",
            "name: c, tier: 12",
        ),
    )  # fmt: skip
    assert sum("services[0].workload.lengths" in line for line in found) == 1
    assert sum("services[1].demand.hourly_profile" in line for line in found) == 1
    assert sum("services[2].tier" in line for line in found) == 1
