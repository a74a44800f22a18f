"""A slow second simulator for tests: one step after the other, no skipping, plain Python objects, exact memory.

Written from the description of the scheduler, not from the product's code: at every step boundary all that has
arrived is routed, running requests get tokens in the order of their admission, and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Job:
    number: int
    arrival: float
    prompt: int
    answer: int
    cached: int
    context: int = 0
    done: int = 0
    start: float | None = None
    first: float | None = None
    end: float | None = None
    preempted: int = 0


@dataclass
class Server:
    running: list[Job] = field(default_factory=list)
    waiting: list[Job] = field(default_factory=list)
    busy_until: float | None = None
    grants: list[tuple[Job, int]] = field(default_factory=list)


def run(engines: Any, requests: Any) -> tuple[list[Job], float]:
    """All requests to their end; also the most memory any engine used."""
    memory, step = engines.memory, engines.step

    def held(job: Job, tokens: int) -> float:
        if memory.reserving:
            tokens = job.prompt + job.answer - 1

        def paged(n: int) -> int:
            return math.ceil(n / memory.page_tokens) * memory.page_tokens

        return memory.full * paged(tokens) + memory.sliding * paged(min(tokens, memory.window_tokens)) + memory.constant

    def cost(upto: int) -> float:
        return step.prefill_ms_per_token * upto + step.prefill_ms_per_token_squared * upto**2

    cached = requests.cached_tokens if requests.cached_tokens is not None else [0] * len(requests)
    jobs = [
        Job(i, math.inf, int(requests.input_tokens[i]), int(requests.output_tokens[i]), int(cached[i]))
        for i in range(len(requests))
    ]
    for job, at in zip(jobs, requests.arrival_ms, strict=True):
        job.arrival = float(at)
    upcoming = jobs[: requests.in_flight] if requests.closed else list(jobs)
    followers = jobs[requests.in_flight : requests.closed]
    later = jobs[requests.closed :] if requests.closed else []
    servers = [Server() for _ in range(engines.count)]
    turn, peak = 0, 0.0
    arrived: set[int] = set()

    def route(job: Job, now: float) -> None:
        nonlocal turn, later, upcoming
        chosen = turn
        if engines.route == "least-loaded":
            order = [(turn + k) % len(servers) for k in range(len(servers))]
            chosen = min(order, key=lambda k: len(servers[k].running) + len(servers[k].waiting))
        turn = (turn + 1) % len(servers)
        servers[chosen].waiting.append(job)
        arrived.add(job.number)
        if servers[chosen].busy_until is None:
            servers[chosen].busy_until = now
        if later and not upcoming and job.number >= requests.in_flight - 1 and not remaining():
            for each in later:  # the loop opens with its last arrival
                each.arrival += now
            upcoming, later = later, []

    def remaining() -> int:
        return sum(1 for job in jobs[: requests.closed] if job.number not in arrived)

    while any(job.end is None for job in jobs):
        boundary = min((s.busy_until for s in servers if s.busy_until is not None), default=math.inf)
        if upcoming and upcoming[0].arrival <= boundary:
            job = upcoming.pop(0)
            route(job, job.arrival)
            continue
        now = boundary
        server = next(s for s in servers if s.busy_until == now)
        leaving = 0
        for job, granted in server.grants:
            job.context += granted
            if job.context == job.prompt + job.done:
                job.done += 1
                job.first = now if job.first is None else job.first
                if job.done == job.answer:
                    job.end = now
                    leaving += 1
        server.grants = []
        server.running = [job for job in server.running if job.end is None]
        if leaving and followers:  # they arrive now, before any engine puts its next step together
            for job in followers[:leaving]:
                job.arrival = now
                route(job, now)
            followers = followers[leaving:]
            continue
        if not server.running and not server.waiting:
            server.busy_until = None
            continue

        tokens, decodes, contexts, prefill, short = engines.chunk_tokens, 0, 0, 0.0, False
        reserved = {job.number: held(job, job.context) for job in server.running}
        place = 0
        while place < len(server.running):
            job = server.running[place]
            grant = min(job.prompt + job.done - job.context, tokens)
            if grant == 0:
                place += 1
                continue
            while sum(reserved.values()) - reserved[job.number] + held(job, job.context + grant) > memory.capacity:
                victim = server.running.pop()
                del reserved[victim.number]
                victim.context, victim.preempted, short = 0, victim.preempted + 1, True
                server.waiting.insert(0, victim)
                if victim is job:
                    break
            if job not in server.running:
                break
            reserved[job.number] = held(job, job.context + grant)
            tokens -= grant
            server.grants.append((job, grant))
            if job.done and grant == 1 and job.context + 1 == job.prompt + job.done:
                decodes, contexts = decodes + 1, contexts + job.context + 1
            else:
                prefill += cost(job.context + grant) - cost(job.context)
            place += 1
        while not short and tokens and server.waiting and len(server.running) < engines.most_running:
            job = server.waiting[0]
            grant = min(job.prompt + job.done - job.cached, tokens)
            if sum(reserved.values()) + held(job, job.cached + grant) > memory.capacity:
                break
            server.waiting.pop(0)
            server.running.append(job)
            job.start = now if job.start is None else job.start
            job.context = job.cached
            reserved[job.number] = held(job, job.cached + grant)
            tokens -= grant
            server.grants.append((job, grant))
            prefill += cost(job.cached + grant) - cost(job.cached)
        peak = max(peak, sum(reserved.values()))
        took = max(prefill, step.least_prefill_ms)
        if decodes:
            took = (
                step.decode_ms[decodes]
                + step.context_ms_per_token * (contexts - decodes * step.context_mean_tokens)
                + step.prefill_stall_factor * prefill
            )
        server.busy_until = now + took
    return jobs, peak
