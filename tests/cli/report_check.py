"""report_check.py PAGE PLAN: is what the page of `tenon report` holds complete, and does it agree
with `tenon explain --json` of the same model? Ends with a message for what is wrong."""

import json
import re
import sys


def embedded(path):
    text = open(path, encoding="utf-8").read()
    place = r'<script type="application/json" id="data">\n(.*)\n</script>'
    found = re.findall(place, text)
    assert len(found) == 1, "there is not one document in the page"
    rest = text.replace(found[0], "")
    assert not re.search(r"(src|href)=|url\(|@import|https?://", rest), "it needs other files"
    assert not re.search(r"^@\S+@$", text, re.M), "a part of the page lacks"
    assert "<" not in found[0]
    return json.loads(found[0])


def check_graph(graph, n_steps):
    n = len(graph["values"])
    made, used = set(), set()
    for node in graph["nodes"]:
        assert node["op"]
        assert all(-1 <= v < n for v in node["in"] + node["out"])
        assert node.get("parent", 0) < len(graph["nodes"])
        made.update(node["out"])
        used.update(node["in"])
    for v in used - made - {-1}:
        name, _, flags = graph["values"][v]
        assert flags & 5, f"nothing makes value {v} '{name}', no input or constant"
    steps = [node["step"] for node in graph["nodes"] if "step" in node]
    assert sorted(steps) == list(range(n_steps)), "not each step has its node"


def check_memory(arena):
    blocks = [b for b in arena["blocks"] if b[5] == 0]
    for k, (offset, size, first, last, _, _) in enumerate(blocks):
        assert 0 <= first <= last < len(arena["steps"]) and offset + size <= arena["bytes"]
        for offset2, size2, first2, last2, _, _ in blocks[:k]:
            in_time = first < last2 and first2 < last  # one may take the place of another in place
            in_place = offset < offset2 + size2 and offset2 < offset + size
            assert not (in_time and in_place), "blocks overlap"


def check_times(report):
    steps, lanes = report["steps"], report["lanes"]
    assert [lane["name"] for lane in lanes[:2]] == ["steps", "thread 0, the caller"]
    assert len(lanes) >= 1 + report["machine"]["threads"]
    whole = {}
    for step, begin, end in lanes[0]["spans"]:
        assert 0 <= begin <= end and 0 <= step < len(steps)
        whole.setdefault(step, []).append((begin, end))
    leaders = {k for k, s in enumerate(steps) if "leader" not in s and "segment" not in s}
    firsts = {s["segment"]: k for k, s in reversed(list(enumerate(steps))) if "segment" in s}
    assert set(whole) == leaders | set(firsts.values()), "not each step or segment was timed"
    assert any(lane["spans"] for lane in lanes[1:]) or not steps
    for lane in lanes[1 : 1 + report["machine"]["threads"]]:
        for step, begin, end in lane["spans"]:
            inside = any(a <= begin <= end <= b for a, b in whole[step])
            assert inside, "a thread works outside its step"
    assert all(steps[k]["ns"] > 0 for k in leaders)
    assert all(report["machine"][k] > 0 for k in ("gflops", "cache_gbps", "memory_gbps"))
    assert 0 < report["ns"]["min"] <= report["ns"]["median"]


def check_plan(report, plan):
    assert len(report["steps"]) == plan["n_steps"]
    for mine, other in zip(report["steps"], plan["steps"]):
        for key, value in other.items():
            if key == "not_taken":
                assert report["not_taken"][mine[key]] == value
            elif key != "cost_ns":
                assert mine[key] == value, f"step {mine['step']}: {key} is {mine[key]}, not {value}"
    assert report["memory_bytes"] == plan["memory_bytes"]


def main(page, plan):
    document = embedded(page)
    report = document["report"]
    with open(plan, encoding="utf-8") as file:
        check_plan(report, json.load(file))
    n_before = len(report["before"]["nodes"])
    check_graph(report["after"], len(report["steps"]))
    check_graph(report["before"], 0)
    check_memory(report["arena"])
    check_times(report)
    compared = [r["model"] for r in document.get("compared", [])]
    print(f"{n_before} nodes, {len(report['steps'])} steps, compared with {compared}")


main(*sys.argv[1:])
