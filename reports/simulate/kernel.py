"""The inner loop of the simulation: one engine or several, request by request, many equal decode steps at once.

Everything here is plain loops over plain arrays, so that it compiles; ``engine`` has the words around it. The order of
a step is that of vLLM's scheduler: running requests first, in the order of their admission, one token each or a chunk
of their prompt; when memory is short the one admitted last is put back to the head of the queue and computed again
later; then waiting requests in order, as far as the token budget, the limit of running requests and memory reach.
A stretch is the steps from one decision to the next: while nothing arrives, ends or is short of memory all steps are
alike but for the growing context, and are taken together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUND_ROBIN, LEAST_LOADED = 0, 1
NEVER = np.inf
NOBODY = -1

AREAS = 9
WAITING, RUNNING, BUSY, USED, OVER, SPAN, SYSTEM, PREEMPTIONS, PEAK = range(AREAS)
"""What the kernel adds up: request-ms waiting, running; ms busy; unit-ms of memory used, ms above the watched amount;
ms measured; request-ms in the system over the whole run; preemptions; most memory used at once."""


def held(tokens: int, page: int, window: int, full: float, sliding: float, constant: float) -> float:
    """Memory of a request with so many tokens: whole pages of full layers, whole pages of the window, its state.

    A page is a power of two: whole pages are a mask away, where a division would take most of the program's time.
    """
    pages = (tokens + page - 1) & -page
    if sliding == 0.0:
        return full * pages + constant
    return full * pages + sliding * ((min(tokens, window) + page - 1) & -page) + constant


def prefill_time(tokens: float, linear: float, square: float) -> float:
    """Time to compute a prompt up to a token."""
    return linear * tokens + square * tokens * tokens


def stretch_time(steps: int, first: float, growth: float) -> float:
    """Time of equal decode steps, each longer than the one before by what the batch appended."""
    return steps * first + growth * steps * (steps - 1) / 2


def remembered(members: Any, count: int, context: Any, ahead: int, layout: Any) -> float:
    """Memory of the running requests after so many more decode steps."""
    total = 0.0
    for place in range(count):
        total += held(context[members[place]] + ahead, *layout)
    return total


def steps_that_fit(members: Any, count: int, context: Any, used: float, most: int, capacity: float, layout: Any) -> int:
    """Largest number of decode steps, up to ``most``, after which the running requests still fit."""
    page, _, full, sliding, _ = layout
    if used + count * (full + sliding) * ((most + page - 1) & -page) <= capacity:
        return most
    if remembered(members, count, context, most, layout) <= capacity:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if remembered(members, count, context, middle, layout) <= capacity:
            low = middle
        else:
            high = middle
    return low


def simulate(
    arrive: Any,  # ms; of a closed loop only its first ``in_flight`` count, after it from its last arrival on
    prompt: Any,  # tokens
    answer: Any,  # tokens
    cached: Any,  # tokens of the prompt that the prefix cache has
    step: Any,  # ms of a decode step by the number of requests in it
    context_cost: float,  # ms for each token of context beyond the mean
    context_mean: float,
    linear: float,  # ms for a prompt token
    square: float,
    least: float,  # ms that a step without decodes takes at least
    stall: float,  # factor on prompts that are computed beside decodes
    page: int,
    window: int,
    full: float,
    sliding: float,
    constant: float,
    capacity: float,
    watched: float,
    reserving: bool,  # a request is given the memory of its whole length when it is admitted
    servers: int,
    routing: int,
    budget: int,
    most_running: int,
    in_flight: int,  # requests that a closed loop keeps
    closed: int,  # requests that come in a closed loop, the others in an open one
    from_request: int,
    to_request: int,
    to_the_end: bool,
) -> Any:
    """Start, first token and end of each request, how often it was preempted, its server, and what ``AREAS`` names.

    Times are in ms; a request that the run did not reach keeps ``inf``. Measured is from the arrival of request
    ``from_request`` to that of ``to_request``; unless ``to_the_end`` the run stops when those between have left.
    """
    count = len(arrive)
    layout = (page, window, full, sliding, constant)
    start, first, end = np.full(count, NEVER), np.full(count, NEVER), np.full(count, NEVER)
    preempted = np.zeros(count, np.int64)
    home = np.full(count, NOBODY, np.int64)
    context = np.zeros(count, np.int64)
    done = np.zeros(count, np.int64)
    take = np.zeros(count, np.int64)
    behind = np.full(count, NOBODY, np.int64)  # the queue, as links
    areas = np.zeros(AREAS)

    running = np.zeros((servers, most_running), np.int64)
    runs, waits = np.zeros(servers, np.int64), np.zeros(servers, np.int64)
    head, tail = np.full(servers, NOBODY, np.int64), np.full(servers, NOBODY, np.int64)
    used, used_before = np.zeros(servers), np.zeros(servers)
    began, ends = np.zeros(servers), np.full(servers, NEVER)
    steps, mixed = np.zeros(servers, np.int64), np.zeros(servers, np.int64)
    each, growth = np.zeros(servers), np.zeros(servers)

    arrivals = in_flight if closed else count
    upcoming, followers, left, counted, turn = 0, in_flight, 0, 0, 0
    looping = closed > 0
    now, since, measuring, opened = 0.0, 0.0, False, 0.0
    pending = 0  # requests that arrive at this moment because others left
    total_runs, total_waits = 0, 0

    while (left < count) if to_the_end else (counted < to_request - from_request):
        # the next event: an arrival, or the end of a server's stretch; arrivals first, they see the step that begins
        server, moment, busy = NOBODY, NEVER, 0
        for candidate in range(servers):
            if ends[candidate] < NEVER:
                busy += 1
            if ends[candidate] < moment:
                server, moment = candidate, ends[candidate]
        arriving = pending > 0
        if arriving:
            moment = now
        elif upcoming < arrivals and arrive[upcoming] <= moment:
            arriving, moment = True, arrive[upcoming]
        if moment == NEVER:
            break
        passed = moment - since
        areas[SYSTEM] += passed * (total_runs + total_waits)
        if measuring:
            areas[WAITING] += passed * total_waits
            areas[RUNNING] += passed * total_runs
            areas[BUSY] += passed * busy
            areas[SPAN] += passed
        since = now = moment

        if arriving:
            if pending:
                request = followers
                followers += 1
                pending -= 1
                arrive[request] = now
            else:
                request = upcoming
                upcoming += 1
            if looping and upcoming == in_flight and followers == closed:  # the last of the closed loop: now it opens
                looping, upcoming, arrivals = False, closed, count
                arrive[closed:] += now
            if request == from_request:
                measuring, opened = True, now
            if request == to_request:
                measuring = False
            if routing == ROUND_ROBIN:
                server = turn
            else:
                server = turn
                for offset in range(1, servers):
                    candidate = (turn + offset) % servers
                    if runs[candidate] + waits[candidate] < runs[server] + waits[server]:
                        server = candidate
            turn = (turn + 1) % servers
            home[request] = server
            if head[server] == NOBODY:
                head[server] = request
            else:
                behind[tail[server]] = request
            tail[server] = request
            waits[server] += 1
            total_waits += 1
            if ends[server] == NEVER:  # idle: a step begins when all that arrive now are there
                ends[server], began[server], steps[server] = now, now, 0
                used_before[server] = used[server]
            elif waits[server] == 1 and steps[server] > 1 and not mixed[server] and runs[server] < most_running:
                # the stretch ends with the step that is running
                low, high = 1, steps[server]
                while low < high:
                    middle = (low + high) // 2
                    if began[server] + stretch_time(middle, each[server], growth[server]) >= now:
                        high = middle
                    else:
                        low = middle + 1
                if low < steps[server]:
                    steps[server] = low
                    ends[server] = began[server] + stretch_time(low, each[server], growth[server])
            continue

        # a stretch has ended: hand out its tokens
        if steps[server] > 0:
            if mixed[server]:
                for place in range(runs[server]):
                    request = running[server, place]
                    context[request] += take[request]
                    if take[request] > 0 and context[request] == prompt[request] + done[request]:
                        done[request] += 1
            else:
                total = 0.0
                for place in range(runs[server]):
                    request = running[server, place]
                    context[request] += steps[server]
                    done[request] += steps[server]
                    total += held(context[request], *layout)
                if not reserving:
                    used[server] = total
        areas[PEAK] = max(areas[PEAK], used[server])
        span = now - max(began[server], opened)
        if measuring and steps[server] > 0 and span > 0:
            low_used, high_used = used_before[server], used[server]
            areas[USED] += span * (low_used + high_used) / 2
            if min(low_used, high_used) > watched:
                areas[OVER] += span
            elif high_used > watched:
                areas[OVER] += span * (high_used - watched) / (high_used - low_used)

        # let go of what is complete
        if steps[server] > 0:
            kept = 0
            for place in range(runs[server]):
                request = running[server, place]
                if done[request] > 0 and first[request] == NEVER:
                    first[request] = now
                if done[request] >= answer[request]:
                    end[request] = now
                    used[server] -= held(
                        prompt[request] + answer[request] - 1 if reserving else context[request], *layout
                    )
                    left += 1
                    if from_request <= request < to_request:
                        counted += 1
                    if followers + pending < closed:
                        pending += 1
                else:
                    running[server, kept] = request
                    kept += 1
            total_runs -= runs[server] - kept
            runs[server] = kept
            if pending:  # they arrive now, before the next step is put together
                ends[server], began[server], steps[server] = now, now, 0
                used_before[server] = used[server]
                continue

        # what the next step does
        began[server], used_before[server] = now, used[server]
        if runs[server] == 0 and head[server] == NOBODY:
            ends[server], steps[server] = NEVER, 0
            continue
        size = runs[server]
        decoding, shortest = size <= budget, 0
        context_sum = 0
        for place in range(size):
            request = running[server, place]
            if done[request] == 0 or context[request] + 1 != prompt[request] + done[request]:
                decoding = False
                break
            context_sum += context[request] + 1
            remaining = answer[request] - done[request]
            shortest = remaining if shortest == 0 else min(shortest, remaining)
        if decoding and size > 0 and head[server] != NOBODY and size < most_running and budget > size:
            candidate = head[server]
            wanted = min(prompt[candidate] + done[candidate] - cached[candidate], budget - size)
            if reserving:
                decoding = used[server] + held(prompt[candidate] + answer[candidate] - 1, *layout) > capacity
            else:
                more = held(cached[candidate] + wanted, *layout)
                decoding = used[server] + size * (full + sliding) * page + more > capacity  # each a new page, at most
                if decoding:
                    decoding = remembered(running[server], size, context, 1, layout) + more > capacity
        if decoding and size > 0:
            fit = shortest
            if not reserving:
                fit = steps_that_fit(running[server], size, context, used[server], shortest, capacity, layout)
            if fit > 0:
                steps[server], mixed[server] = fit, 0
                each[server] = step[size] + context_cost * (context_sum - size * context_mean)
                growth[server] = context_cost * size
                ends[server] = now + stretch_time(fit, each[server], growth[server])
                continue

        # one step of its own: chunks of prompts beside decodes, and who gives way when memory is short
        tokens, decodes, context_sum, prefill, preemptions = budget, 0, 0, 0.0, 0
        place = 0
        while place < runs[server]:
            request = running[server, place]
            need = prompt[request] + done[request] - context[request]
            wanted = min(need, tokens)
            take[request] = 0
            if wanted == 0:
                place += 1
                continue
            more = 0.0
            if not reserving:
                more = held(context[request] + wanted, *layout) - held(context[request], *layout)
            gone = False
            while used[server] + more > capacity:
                victim = running[server, runs[server] - 1]
                runs[server] -= 1
                used[server] -= held(context[victim], *layout)
                context[victim] = 0
                take[victim] = 0
                preempted[victim] += 1
                preemptions += 1
                total_runs -= 1
                total_waits += 1
                waits[server] += 1
                behind[victim] = head[server]
                if head[server] == NOBODY:
                    tail[server] = victim
                head[server] = victim
                if victim == request:
                    gone = True
                    break
            if gone:
                break
            used[server] += more
            take[request] = wanted
            tokens -= wanted
            if done[request] > 0 and need == 1:
                decodes += 1
                context_sum += context[request] + 1
            else:
                prefill += prefill_time(context[request] + wanted, linear, square) - prefill_time(
                    context[request], linear, square
                )
            place += 1
        if measuring:
            areas[PREEMPTIONS] += preemptions
        while preemptions == 0 and tokens > 0 and head[server] != NOBODY and runs[server] < most_running:
            request = head[server]
            wanted = min(prompt[request] + done[request] - cached[request], tokens)
            more = held(prompt[request] + answer[request] - 1 if reserving else cached[request] + wanted, *layout)
            if used[server] + more > capacity:
                break
            head[server] = behind[request]
            behind[request] = NOBODY
            waits[server] -= 1
            total_waits -= 1
            running[server, runs[server]] = request
            runs[server] += 1
            total_runs += 1
            start[request] = min(start[request], now)
            context[request] = cached[request]
            used[server] += more
            take[request] = wanted
            tokens -= wanted
            prefill += prefill_time(cached[request] + wanted, linear, square) - prefill_time(
                cached[request], linear, square
            )
        if decodes == 0:
            spent = max(prefill, least)
        else:
            spent = step[decodes] + context_cost * (context_sum - decodes * context_mean) + prefill * stall
        steps[server], mixed[server] = 1, 1
        ends[server] = now + spent
    return start, first, end, preempted, home, areas


FUNCTIONS = (held, prefill_time, stretch_time, remembered, steps_that_fit, simulate)
"""In the order in which they are compiled: each calls only what stands before it."""
