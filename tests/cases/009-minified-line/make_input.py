#!/usr/bin/env python3
"""Writes input.json: one Anthropic Messages transcript with a minified bundle on one line (about 400 kB)."""

import json, random, sys

r = random.Random(9)
names = [a + b for a in "abcdefghijkmnpqrstuvw" for b in "tnrse"]


def stmt():
    a, b, c = r.sample(names, 3)
    k = r.randrange(5)
    return (
        f"function {a}({b},{c}){{return {b}*{r.randrange(999)}+{c}.length}}",
        f"var {a}={b}?{c}[{r.randrange(64)}]:null;",
        f"{a}.{b}=e=>{{for(let i=0;i<{r.randrange(99)};i++){c}(i)}};",
        f'const {a}=["{b}","{c}",{r.random():.4f}];',
        f"if({a}!=={b}&&{c}>=0x{r.randrange(65536):x})throw new Error('{a}_{b}');",
    )[k]


js = ""
while len(js) < 400_000:
    js += stmt()
msgs = [
    {"role": "user", "content": "Find where the bundle throws bt_ar."},
    {
        "role": "assistant",
        "content": [
            {
                "type": "tool_use",
                "id": "toolu_b1",
                "name": "Bash",
                "input": {"command": "cat dist/app.min.js"},
            }
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_b1", "content": js}]},
    {
        "role": "assistant",
        "content": [
            {
                "type": "text",
                "text": "The bundle is one line of 400 kB; I will search it instead of reading it.",
            }
        ],
    },
    {"role": "user", "content": "Do that."},
]
json.dump(msgs, open(sys.argv[1] if len(sys.argv) > 1 else "input.json", "w", encoding="utf-8"))
