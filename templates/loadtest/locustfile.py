"""Load test of one endpoint: raises the users step by step, measures every streamed answer, stops where a target fails.

Written by gpubook; plan.json beside this file says what is asked, how long a step lasts and what must hold. Run:

    locust -f locustfile.py --headless --host http://SERVER:8000 --csv locust
"""

from __future__ import annotations

import csv
import datetime
import json
import math
import os
import random
import time
from pathlib import Path
from typing import Any

from locust import HttpUser, LoadTestShape, constant, task

HERE = Path(__file__).resolve().parent
PLAN = json.loads((HERE / "plan.json").read_text(encoding="utf-8"))
MIXES = json.loads((HERE / "mixes.json").read_text(encoding="utf-8"))
RESULTS = Path(os.environ.get("LOADTEST_RESULTS", HERE / "results.csv"))
HEADERS = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"}
WORDS = """
time year way day man thing woman life child world school state family student group country problem hand part
place case week company system program question work number night point home water room mother area money
story fact month lot right study book eye job word business issue side kind head house service friend father
power hour
""".split()  # noqa: SIM905 - a list of them is sixty lines
COLUMNS = ("mix", "users", "day", "finished_s", "ttft_ms", "tpot_ms", "answer_ms", "input_tokens", "output_tokens",
           "wanted_input_tokens", "wanted_output_tokens", "error")  # fmt: skip


def statistic(values: list[float], name: str) -> float:
    """Mean, or a percentile: the shortest that so many values do not exceed."""
    if not values:
        return math.nan
    if name == "mean":
        return sum(values) / len(values)
    return sorted(values)[max(math.ceil(int(name[1:]) / 100 * len(values)) - 1, 0)]


class Test:
    """Where the test is, and what was measured in the present step."""

    def __init__(self) -> None:
        self.mixes = list(MIXES)
        self.mix, self.step = 0, 0
        self.began: float | None = None
        self.random = random.Random(PLAN["seed"])
        self.asked = 0
        self.rows: list[dict[str, Any]] = []
        self.over = False
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(COLUMNS)

    @property
    def place(self) -> tuple[int, int]:
        return self.mix, self.step

    @property
    def users(self) -> int:
        return int(PLAN["steps"][self.step])

    @property
    def elapsed(self) -> float:
        """Seconds since the users of the step were all there, less the warming up; negative before its end."""
        return -1.0 if self.began is None else time.monotonic() - self.began - PLAN["warm_up_seconds"]

    def next_request(self) -> tuple[int, int]:
        pairs = MIXES[self.mixes[self.mix]]
        self.asked += 1
        wanted, answer = pairs[self.asked % len(pairs)]
        return int(wanted), int(answer)

    def prompt(self, tokens: int) -> str:
        """About one token a word; the share that a prefix cache may hold is the same for everybody."""
        shared = int(tokens * PLAN["prefix_hit_share"])
        words = [WORDS[index % len(WORDS)] for index in range(shared)]
        return " ".join(words + self.random.choices(WORDS, k=max(tokens - shared, 1)))

    def keep(self, place: tuple[int, int], row: dict[str, Any]) -> None:
        """An answer counts where its whole life was in one step, and its end after the warming up."""
        now = self.elapsed
        if place == self.place and now >= 0 and not self.over:
            self.rows.append({"mix": self.mixes[self.mix], "users": self.users, "finished_s": f"{now:.3f}",
                              "day": datetime.date.today().isoformat(), **row})  # fmt: skip

    def forward(self, users: int) -> None:
        """At the end of a step: write it down, judge it, go on to the next step or the next mix."""
        if self.began is None and users == self.users:
            self.began = time.monotonic()
        if self.elapsed < PLAN["step_seconds"]:
            return
        with RESULTS.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="")
            writer.writerows(self.rows)
        failed = self.reasons()
        done = len(self.rows)
        print(f"{self.mixes[self.mix]}, {self.users} users: {done} answers, {'; '.join(failed) or 'holds'}", flush=True)
        self.rows = []
        self.step += 1
        if failed or self.step >= len(PLAN["steps"]):
            self.mix, self.step = self.mix + 1, 0
        self.over = self.mix >= len(self.mixes)
        self.began = None

    def reasons(self) -> list[str]:
        """Why the step did not hold; nothing where it did."""
        failed = sum(bool(row["error"]) for row in self.rows)
        found = ["no answer at all"] if not self.rows else []
        if self.rows and failed / len(self.rows) > PLAN["most_failed_share"]:
            found.append(f"{failed} of {len(self.rows)} requests failed")
        for column, target in PLAN["targets"].items():
            values = [row[column] for row in self.rows if not row["error"] and row[column] != ""]
            value = statistic(values, target["statistic"])
            if value > target["ms"]:
                found.append(f"{target['statistic']} of {column} {value:.0f} over {target['ms']:.0f}")
        return found


TEST = Test()


class Steps(LoadTestShape):
    """Users of each moment."""

    def tick(self) -> tuple[int, float] | None:
        TEST.forward(self.get_current_user_count())
        return None if TEST.over else (TEST.users, float(PLAN["spawn_rate"]))


class Client(HttpUser):
    """Asks, reads the answer to its end, asks again: as many users, as many requests in flight."""

    wait_time = constant(0)

    @task
    def ask(self) -> None:
        place = TEST.place
        wanted, tokens = TEST.next_request()
        body = {
            "model": PLAN["model_name"], "stream": True, "stream_options": {"include_usage": True},
            "messages": [{"role": "user", "content": TEST.prompt(wanted)}], "max_tokens": tokens, "temperature": 0,
            **PLAN["more_body"],
        }  # fmt: skip
        found: dict[str, Any] = {"first": None, "last": None, "pieces": 0, "input": "", "output": 0, "done": False}
        error = ""
        began = time.perf_counter()
        with self.client.post(PLAN["path"], json=body, headers=HEADERS, stream=True, catch_response=True,
                              timeout=PLAN["timeout_seconds"]) as answer:  # fmt: skip
            try:
                if answer.status_code != 200:
                    error = f"HTTP {answer.status_code}"
                else:
                    for line in answer.iter_lines(chunk_size=None):
                        read_line(line, found)
                    error = "" if found["pieces"] else "an answer without a token"
            except Exception as problem:  # whatever breaks the stream is a failed request, not the end of the test
                error = f"{type(problem).__name__} in the stream"
            whole = (time.perf_counter() - began) * 1000
            answer.request_meta["response_time"] = whole
            if error:
                answer.failure(error)
            else:
                answer.success()
        row: dict[str, Any] = {"error": error, "answer_ms": whole, "ttft_ms": "", "tpot_ms": "",
                               "wanted_input_tokens": wanted, "wanted_output_tokens": tokens}  # fmt: skip
        if error:
            TEST.keep(place, row)
            time.sleep(0.5)
            return
        output = found["output"] or found["pieces"]
        row |= {"ttft_ms": (found["first"] - began) * 1000, "input_tokens": found["input"], "output_tokens": output}
        self.report("ttft_ms", row["ttft_ms"])
        if output > 1:
            row["tpot_ms"] = (found["last"] - found["first"]) * 1000 / (output - 1)
            self.report("tpot_ms", row["tpot_ms"])
        TEST.keep(place, row)

    def report(self, name: str, value: float) -> None:
        """Locust's own statistics have both times as requests of their own."""
        self.environment.events.request.fire(
            request_type="LLM", name=name, response_time=value, response_length=0, exception=None, context={}
        )


def read_line(line: bytes, found: dict[str, Any]) -> None:
    """One line of server-sent events."""
    if not line.startswith(b"data:") or line[5:].strip() == b"[DONE]":
        return
    data = json.loads(line[5:])
    if data.get("error"):
        raise ValueError(data["error"])
    usage = data.get("usage")
    if usage:
        found["input"], found["output"] = usage.get("prompt_tokens", ""), usage.get("completion_tokens", 0)
    for choice in data.get("choices") or ():
        delta = choice.get("delta") or {}
        if delta.get("content") or delta.get("reasoning_content") or choice.get("text"):
            found["last"] = time.perf_counter()
            found["first"] = found["first"] or found["last"]
            found["pieces"] += 1
