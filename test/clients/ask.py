"""Asks one question with the official SDK, as a call or a stream, and prints what came as JSON."""
import json
import sys

from openai import OpenAI

order = json.loads(sys.argv[1])
client = OpenAI(base_url=order["url"] + "/v1", api_key="any", max_retries=0)

for ask in order["asks"]:
    parameters = dict(
        model="sim",
        messages=[{"role": "user", "content": ask["question"]}],
        extra_headers={"x-session-id": ask["session"]},
        extra_body={"loopgate": ask["loopgate"]},
    )
    text, finish, usage, loopgate, events = "", None, None, None, []
    if ask["mode"] == "call":
        answer = client.chat.completions.create(**parameters)
        text, finish = answer.choices[0].message.content, answer.choices[0].finish_reason
        usage, loopgate = answer.usage, answer.model_extra.get("loopgate")
    else:
        stream = client.chat.completions.create(
            **parameters, stream=True, stream_options={"include_usage": True}
        )
        for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
            usage = chunk.usage or usage
            extra = (chunk.model_extra or {}).get("loopgate")
            if extra and "event" in extra:
                events.append(extra["event"]["type"])
            loopgate = extra or loopgate
    got = {"text": text, "finish": finish, "usage": usage.model_dump(), "loopgate": loopgate, "events": events}
    print(json.dumps(got), flush=True)
